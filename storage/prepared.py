"""Statements of the hot path: compiled once, run on the driver's own cursor, at a twentieth of the cost."""

import json
import re
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, BindParameter, Column, Connection, Dialect, Select, String, Table, bindparam
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.types import Boolean, TypeDecorator, TypeEngine
from sqlmodel import SQLModel

Convert = Callable[[Any], Any]
PLACE = re.compile(r"%\((\w+)\)s")


def table(model: type[SQLModel]) -> Table:
    """The Core table behind a model: moves go round the ORM session, which costs 2-4 times as much."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


def binds(model: type[SQLModel]) -> dict[str, BindParameter[Any]]:
    """A parameter for every column but the id, which the database gives."""
    return {column.name: bindparam(column.name) for column in table(model).c if column.name != "id"}


class Many(TypeDecorator[list[Any]]):
    """A list as one parameter: an array, or JSON text where there are no arrays."""

    impl = String
    cache_ok = True

    def __init__(self, of: TypeEngine[Any]) -> None:
        super().__init__()
        self.of = of

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(ARRAY(self.of) if dialect.name == "postgresql" else String())

    def process_bind_param(self, value: list[Any] | None, dialect: Dialect) -> Any:
        return value if dialect.name == "postgresql" else json.dumps(value)


class Among(ColumnElement[bool]):
    """Whether a value is in the list passed under a name; the statement is the same for any length."""

    inherit_cache = True
    type = Boolean()

    def __init__(self, value: ColumnElement[Any], name: str) -> None:
        self.value = value
        self.names: BindParameter[Any] = bindparam(name, type_=Many(value.type))

    def self_group(self, against: Any = None) -> "Among":
        """As it is: `… = 1`, which SQLite gets otherwise, would keep it from using an index."""
        return self


@compiles(Among, "sqlite")
def _in_json(element: Among, compiler: SQLCompiler, **options: Any) -> str:
    value, names = (compiler.process(part, **options) for part in (element.value, element.names))
    return f"{value} IN (SELECT value FROM json_each({names}))"  # noqa: S608 # parts of a compiled statement


@compiles(Among, "postgresql")
def _in_array(element: Among, compiler: SQLCompiler, **options: Any) -> str:
    value, names = (compiler.process(part, **options) for part in (element.value, element.names))
    return f"{value} = ANY({names})"


class Prepared:
    """One statement; `all` reads rows, `run` writes, `many` writes for each set of values."""

    def __init__(self, statement: Select[Any] | UpdateBase) -> None:
        self._statement = statement
        self._ways: dict[str, Way] = {}

    def all(self, c: Connection, **values: Any) -> list[Any]:
        way, cursor = self.way(c), c.connection.cursor()
        cursor.execute(way.sql, way.bind(values))
        return way.rows(cursor)

    def run(self, c: Connection, **values: Any) -> None:
        self.many(c, [values])

    def many(self, c: Connection, values: Sequence[Mapping[str, Any]]) -> None:
        way, cursor = self.way(c), c.connection.cursor()
        if len(values) == 1:  # psycopg opens a pipeline for many, which one is not worth
            cursor.execute(way.sql, way.bind(values[0]))
        elif values:
            cursor.executemany(way.sql, [way.bind(one) for one in values])

    def way(self, c: Connection) -> "Way":
        name = c.dialect.name
        if name not in self._ways:
            self._ways[name] = Way(self._statement, c.dialect)
        return self._ways[name]


class Together:
    """Several writes, each for many sets of values; none touches a row that another one touches.

    PostgreSQL takes them as one statement, with all the values in one JSON text: what a statement costs
    there is its journey.
    """

    def __init__(self, **parts: Prepared) -> None:
        self.parts = parts
        self._whole = ""

    def run(self, c: Connection, **values: Sequence[Mapping[str, Any]]) -> None:
        if c.dialect.name == "postgresql":
            self._at_once(c, values)
        else:
            for name, part in self.parts.items():
                part.many(c, values.get(name, ()))

    def _at_once(self, c: Connection, values: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        ways = {name: part.way(c) for name, part in self.parts.items()}
        if not self._whole:
            parts = ", ".join(f"{name} AS ({way.spread(name)})" for name, way in ways.items())
            self._whole = f"WITH {parts} SELECT 1"
        if any(values.values()):
            given = {name: [{**ways[name].fixed, **row} for row in rows] for name, rows in values.items()}
            text = json.dumps(given, default=str)
            c.connection.cursor().execute(self._whole, {"given": text})


class Way:
    """A statement as one driver takes it."""

    def __init__(self, statement: Select[Any] | UpdateBase, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler)  # noqa: S101 # for the type checker: it is SQL
        self.sql = str(compiled)
        self.order = compiled.positiontup
        self.fixed = {name: _plain(value) for name, value in compiled.params.items() if value is not None}
        binds = {name: bind.type.dialect_impl(dialect) for bind, name in compiled.bind_names.items()}
        self.binds = binds
        convert = {name: type_.bind_processor(dialect) for name, type_ in binds.items()}
        self.names = [*convert]
        self.places = [(name, convert[name], self.fixed.get(name)) for name in self.order or convert]
        columns: list[Column[Any]] = [*getattr(statement, "exported_columns", ())]
        self.shape: Any = namedtuple("Row", [column.key for column in columns])  # type: ignore[misc] # made at run time
        self.types = [column.type.dialect_impl(dialect) for column in columns]
        self.dialect = dialect
        self.results: list[tuple[int, Convert]] | None = None  # known once the driver has named its types

    def bind(self, values: Mapping[str, Any]) -> Any:
        bound = [
            (convert(values.get(name, fixed)) if convert else values.get(name, fixed))
            for name, convert, fixed in self.places
        ]
        return bound if self.order else dict(zip(self.names, bound, strict=True))

    def spread(self, name: str) -> str:
        """The same statement for every row of the list that stands under a name in a JSON text."""
        write = self.dialect.type_compiler_instance.process
        columns = ", ".join(f'"{bind}" {write(type_)}' for bind, type_ in self.binds.items())
        source = f"json_to_recordset(%(given)s::json -> '{name}') AS r({columns})"
        sql = PLACE.sub(r'r."\1"', self.sql)
        if sql.startswith("INSERT"):
            into, _, cells = sql.partition(" VALUES (")
            return f"{into} SELECT {cells[:-1]} FROM {source}"  # noqa: S608 # parts of a compiled statement
        what, _, where = sql.rpartition(" WHERE ")
        return f"{what} {'USING' if sql.startswith('DELETE') else 'FROM'} {source} WHERE {where}"

    def rows(self, cursor: DBAPICursor) -> list[Any]:
        found = cursor.fetchall()
        if self.results is None:
            codes = [column[1] for column in cursor.description or ()]
            made = (t.result_processor(self.dialect, code) for t, code in zip(self.types, codes, strict=True))
            self.results = [(place, convert) for place, convert in enumerate(made) if convert]
        return [self._row(cells, self.results) for cells in found]

    def _row(self, found: Sequence[Any], results: list[tuple[int, Convert]]) -> Any:
        cells = list(found)
        for place, convert in results:
            cells[place] = convert(cells[place])
        return self.shape._make(cells)


def _plain(value: Any) -> Any:
    """A member of a StrEnum as the text that it is: drivers ask for the exact type."""
    return str(value) if isinstance(value, str) else value
