"""Statements of the hot path: compiled once, run on the driver's own cursor, at a twentieth of the cost."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, NamedTuple

import psycopg
from pydantic_core import to_json
from sqlalchemy import (
    ARRAY,
    BindParameter,
    Column,
    Connection,
    Dialect,
    Select,
    String,
    Table,
    bindparam,
    literal_column,
    select,
)
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.types import Boolean, TypeDecorator, TypeEngine
from sqlmodel import SQLModel
from typing_extensions import TypeVar

Convert = Callable[[Any], Any]
PLACE, NUMBER = re.compile(r"%\((\w+)\)s"), re.compile(r"\$(\d+)")
VALUES = " VALUES "
FEW = 12  # rows that are worth a parameter for each of their values
Values = Sequence[Mapping[str, Any]]
Ways = Mapping[str, "Way"]
NOTHING: Mapping[str, Any] = MappingProxyType({})


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


class Returned(NamedTuple):
    """What a write gives back, where only that counts: its first column."""

    value: Any


R = TypeVar("R", bound=tuple[Any, ...], default=Returned)


class Prepared(Generic[R]):
    """One statement; `all` reads rows of the type `row`, `run` writes, `many` for each set of values."""

    def __init__(self, statement: Select[Any] | UpdateBase, row: type[R] = Returned) -> None:  # type: ignore[assignment] # a write gives no row, or one that nobody reads
        self._statement, self._row = statement, row
        self._ways: dict[str, Way] = {}

    def all(self, c: Connection, **values: Any) -> list[R]:
        way = self.way(c)
        cursor = way.cursor(c)
        cursor.execute(way.sql, way.bind(values))
        return way.rows(cursor)

    def run(self, c: Connection, **values: Any) -> None:
        self.many(c, [values])

    def many(self, c: Connection, values: Values) -> None:
        way = self.way(c)
        if len(values) == 1:  # psycopg opens a pipeline for many, which one is not worth
            way.cursor(c).execute(way.sql, way.bind(values[0]))
        elif values:
            way.cursor(c).executemany(way.sql, [way.bind(one) for one in values])

    def way(self, c: Connection) -> "Way":
        name = c.dialect.name
        if name not in self._ways:
            self._ways[name] = Way(self._statement, c.dialect, self._row)
        return self._ways[name]


ONE: Prepared[Returned] = Prepared(select(literal_column("1").label("one")))


class Together:
    """Several writes, each for many sets of values; none touches a row that another one touches.

    PostgreSQL takes them as one statement, since what a statement costs there is its journey: a few with
    their values as parameters, and many with all the values in one JSON text. `last` is a question that
    is answered on the same journey, by the rows as they were before.
    """

    def __init__(self, *, last: Prepared[Any] | None = None, **parts: Prepared) -> None:
        self.parts, self.last = parts, last
        self._known: dict[tuple[tuple[str, int], ...], str] = {}

    def run(self, c: Connection, asked: Mapping[str, Any] = NOTHING, /, **values: Values) -> list[Any]:
        given = {name: values[name] for name in self.parts if values.get(name)}
        if c.dialect.name == "postgresql" and given:
            return self._at_once(c, given, asked)
        found = self.last.all(c, **asked) if self.last else []
        for name, rows in given.items():
            self.parts[name].many(c, rows)
        return found

    def _at_once(self, c: Connection, given: Mapping[str, Values], asked: Mapping[str, Any]) -> list[Any]:
        ways = {name: self.parts[name].way(c) for name in given}
        few = sum(map(len, given.values())) <= FEW
        shape = tuple((name, len(rows) if few else 0) for name, rows in given.items())
        bound = _cells(ways, given) if few else [to_json(given).decode()]
        last = (self.last or ONE).way(c)
        if shape not in self._known:
            parts = _repeated(ways, shape) if few else _spread(ways)
            self._known[shape] = _joined(parts, _shifted(last.sql, len(bound)))
        cursor = last.cursor(c)
        cursor.execute(self._known[shape], [*bound, *last.bind(asked)])
        return last.rows(cursor)


class Way:
    """A statement as one driver takes it."""

    def __init__(self, statement: Select[Any] | UpdateBase, dialect: Dialect, row: type[Any]) -> None:
        compiled = statement.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler)  # noqa: S101 # for the type checker: it is SQL
        binds = {name: bind for bind, name in compiled.bind_names.items()}
        fixed = {name: _plain(bind.value) for name, bind in binds.items() if not bind.required}
        self.binds = {name: bind.type.dialect_impl(dialect) for name, bind in binds.items()}
        self.order = compiled.positiontup or [name for name in binds if name not in fixed]
        self.sql = str(compiled) if compiled.positiontup else _numbered(str(compiled), self.order, fixed)
        convert = {name: type_.bind_processor(dialect) for name, type_ in self.binds.items()}
        self.places = [(name, convert[name], fixed.get(name)) for name in self.order]
        columns: list[Column[Any]] = [*getattr(statement, "exported_columns", ())]
        self.row = row
        _demand_same_columns(row, [column.key for column in columns])
        self.types = [column.type.dialect_impl(dialect) for column in columns]
        self.dialect = dialect
        self.results: list[tuple[int, Convert]] | None = None  # known once the driver has named its types

    def cursor(self, c: Connection) -> Any:
        """The driver's own, kept; for PostgreSQL one that does not read a statement for its parameters."""
        if "cursor" not in c.info:
            driver: Any = c.connection.driver_connection
            raw = isinstance(driver, psycopg.Connection)
            c.info["cursor"] = psycopg.RawCursor(driver) if raw else driver.cursor()
        return c.info["cursor"]

    def bind(self, values: Mapping[str, Any]) -> list[Any]:
        return [
            (convert(values.get(name, fixed)) if convert else values.get(name, fixed))
            for name, convert, fixed in self.places
        ]

    def repeated(self, count: int, after: int) -> list[str]:
        """The same statement for that many sets of parameters, whose numbers begin after one."""
        width = len(self.order)
        copies = [_shifted(self.sql, after + width * n) for n in range(count)]
        if not self.sql.startswith("INSERT"):
            return copies
        rows = (copy.partition(VALUES)[2] for copy in copies)  # in one statement: they keep their order
        return [self.sql.partition(VALUES)[0] + VALUES + ", ".join(rows)]

    def spread(self, name: str) -> str:
        """The same statement for every row of the list that stands under a name in a JSON text."""
        write = self.dialect.type_compiler_instance.process
        columns = ", ".join(f'"{bind}" {write(self.binds[bind])}' for bind in self.order)
        source = f"json_to_recordset($1::json -> '{name}') AS r({columns})"
        sql = NUMBER.sub(lambda found: f'r."{self.order[int(found[1]) - 1]}"', self.sql)
        if sql.startswith("INSERT"):
            into, _, cells = sql.partition(VALUES)
            return f"{into} SELECT {cells[1:-1]} FROM {source}"  # noqa: S608 # parts of a compiled statement
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
        return self.row._make(cells)


def _demand_same_columns(row: type[Any], columns: list[str]) -> None:
    """A row type is made by position: with other columns it would lie."""
    if columns and row is not Returned and [*row._fields] != columns:
        raise TypeError(f"{row.__name__} has {row._fields}, its statement gives {columns}")


def _numbered(sql: str, order: list[str], fixed: Mapping[str, Any]) -> str:
    """With PostgreSQL's own parameters, and what is always the same written out."""
    places = {name: f"${number}" for number, name in enumerate(order, start=1)}
    places |= {name: psycopg.sql.Literal(value).as_string() for name, value in fixed.items()}
    return PLACE.sub(lambda found: places[found[1]], sql.replace("%%", "%"))


def _shifted(sql: str, by: int) -> str:
    return NUMBER.sub(lambda found: f"${int(found[1]) + by}", sql)


def _repeated(ways: Ways, shape: Iterable[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    after = 0
    for name, count in shape:
        for place, sql in enumerate(ways[name].repeated(count, after)):
            yield f"{name}_{place}", sql
        after += count * len(ways[name].order)


def _spread(ways: Ways) -> Iterator[tuple[str, str]]:
    return ((name, way.spread(name)) for name, way in ways.items())


def _cells(ways: Ways, given: Mapping[str, Values]) -> list[Any]:
    return [cell for name, rows in given.items() for row in rows for cell in ways[name].bind(row)]


def _joined(parts: Iterable[tuple[str, str]], last: str) -> str:
    """Statements as one."""
    return f"WITH {', '.join(f'{name} AS ({sql})' for name, sql in parts)} {last}"


def _plain(value: Any) -> Any:
    """A member of a StrEnum as the text that it is: drivers ask for the exact type."""
    return str(value) if isinstance(value, str) else value
