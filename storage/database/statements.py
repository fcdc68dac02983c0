"""Statements of the hot path: compiled once, run on the driver's own cursor, several writes sent as one.

Why. A step costs what its commits cost and what we add to them. A question that SQLite answers in memory
takes 18 microseconds by `connection.execute`, and 2.5 by `Prepared`. And to PostgreSQL each statement is a
journey: since those of a turn are sent as one, a chain of steps takes 2.7 times as long as its bare commits
instead of 7.1 times, and 5,000 steps that are due at once have all started after 2.9 s instead of 5.8 s.

How. SQLAlchemy writes the SQL; `Compiled` keeps it as a template, in which `%(name)s` stands for a parameter
and `%%` for a percent sign. All cutting and joining is done in templates, where no value stands yet: whatever
a value holds, nothing takes it for SQL. What `Together` makes of two updates and two new rows:

    few     WITH ends_0 AS (UPDATE ... $1 ...), ends_1 AS (UPDATE ... $3 ...),
                 events_0 AS (INSERT ... VALUES ($5, $6), ($7, $8)) SELECT ...
    many    WITH ends_0 AS (UPDATE ... FROM json_to_recordset($1::json -> 'ends') AS r(...) WHERE ...),
                 events_0 AS (INSERT ... SELECT r."seq", ... FROM json_to_recordset(...) AS r(...)) SELECT ...

What is asked of a statement, and refused with a sentence when it is first used:
- A list is passed by `Among`: the SQL of `in_` depends on its length.
- A write of `Together` is an INSERT of one row of VALUES and nothing behind it, or an UPDATE or DELETE of one
  table with a WHERE; its parameters have types.
- Every parameter gets its value under its name; more values may come than are asked for. A value that stands
  in the statement stays what it is, whatever comes under the same name.
- A transaction has begun: nothing here begins one.

What nobody checks:
- No two writes of `Together`, and no two rows of one write, touch the same row. PostgreSQL would do one of
  them, and not say which. And no two of its inserts are into one table: their ids would come in any order.
- The question that comes `last` sees the rows as they were before. It may lock rows that are written with it:
  PostgreSQL answers it first. Its manual does not promise that; the tests would tell.

What is otherwise than with `connection.execute`: errors are the driver's own and not SQLAlchemy's, and no
event, log or cache of the engine hears of the statement.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import Any, Generic, NamedTuple

from pydantic_core import PydanticSerializationError, to_json
from sqlalchemy import (
    ARRAY,
    JSON,
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
from sqlalchemy.types import Boolean, NullType, TypeDecorator, TypeEngine
from sqlmodel import SQLModel
from typing_extensions import TypeVar

from storage.database.packed import Document

Convert = Callable[[Any], Any]
PLACE = re.compile(r"%(?:%|\((\w+)\)s)")  # in one go: "%%(a)s" is a percent sign and no parameter
INSERT, VALUES, WHERE = "INSERT INTO ", " VALUES ", " WHERE "  # a subquery's WHERE begins a line
ONE_TABLE = re.compile(r"UPDATE (?:(?! FROM ).)+|DELETE FROM \S+", re.DOTALL)
FEW = 12  # rows up to which a parameter for each value takes the server less time than one JSON text
Values = Sequence[Mapping[str, Any]]
NOTHING: Mapping[str, Any] = MappingProxyType({})


def table(model: type[SQLModel]) -> Table:
    """The Core table behind a model: moves go round the ORM session, which costs 2-4 times as much."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


def binds(model: type[SQLModel]) -> dict[str, BindParameter[Any]]:
    """A parameter for every column but the id, which the database gives."""
    return {column.name: bindparam(column.name) for column in table(model).c if column.name != "id"}


class ListParameter(TypeDecorator[list[Any]]):
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
        self.names: BindParameter[Any] = bindparam(name, type_=ListParameter(value.type))

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
        self._compiled: dict[str, Compiled] = {}

    def all(self, c: Connection, **values: Any) -> list[R]:
        compiled, cursor = self.compiled(c), _cursor(c)
        cursor.execute(compiled.sql, compiled.bind(values))
        return compiled.rows(cursor)

    def run(self, c: Connection, **values: Any) -> None:
        self.many(c, [values])

    def many(self, c: Connection, values: Values) -> None:
        compiled, cursor = self.compiled(c), _cursor(c)
        if len(values) == 1:  # psycopg opens a pipeline for many, which one is not worth
            cursor.execute(compiled.sql, compiled.bind(values[0]))
        elif values:
            cursor.executemany(compiled.sql, [compiled.bind(one) for one in values])

    def compiled(self, c: Connection) -> "Compiled":
        name = c.dialect.name
        if name not in self._compiled:
            self._compiled[name] = Compiled(self._statement, c.dialect, self._row)
        return self._compiled[name]


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
        parts = {name: self.parts[name].compiled(c) for name in given}
        few = sum(map(len, given.values())) <= FEW
        last = (self.last or ONE).compiled(c)
        shape = tuple((name, len(rows) if few else 0) for name, rows in given.items())  # 0: any number
        cells = _cells(parts, given) if few else [_json_text(parts, given)]
        if shape not in self._known:
            writes = _for_few(parts, shape) if few else _for_many(parts)
            self._known[shape] = _joined(writes, last.numbered(last.template, after=len(cells)))
        cursor = _cursor(c)
        cursor.execute(self._known[shape], [*cells, *last.bind(asked)])
        return last.rows(cursor) if self.last else []


class Compiled:
    """A statement as one driver takes it. Parameters have numbers in psycopg's, and an order in SQLite's."""

    def __init__(self, statement: Select[Any] | UpdateBase, dialect: Dialect, row: type[Any]) -> None:
        compiled = statement.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler)  # noqa: S101 # for the type checker: it is SQL
        if compiled.post_compile_params:
            raise TypeError(f"A list is passed by Among, whatever its length: {compiled}")
        binds = {name: bind for bind, name in compiled.bind_names.items()}
        self.dialect, self.template = dialect, str(compiled)
        self.binds = {name: bind.type.dialect_impl(dialect) for name, bind in binds.items()}
        self.convert = {name: type_.bind_processor(dialect) for name, type_ in self.binds.items()}
        self.fixed = {name: self._cell(name, bind.value) for name, bind in binds.items() if not bind.required}
        self._number(compiled)
        columns: list[Column[Any]] = [*getattr(statement, "exported_columns", ())]
        # A row type is made by position: with other columns it would lie.
        if columns and row is not Returned and [*row._fields] != (names := [one.key for one in columns]):
            raise TypeError(f"{row.__name__} has {row._fields}, its statement gives {names}")
        self.row = row
        self.types = [column.type.dialect_impl(dialect) for column in columns]
        self.results: list[tuple[int, Convert]] | None = None  # known once the driver has named its types

    def _number(self, compiled: SQLCompiler) -> None:
        """What is fixed is written out for PostgreSQL, which plans once for all values that may come."""
        given = [name for name in self.binds if name not in self.fixed]
        self.order = compiled.positiontup or [] if compiled.positional else given
        self.places = [(name, self.convert[name]) for name in self.order]
        self.documents = {name for name in self.order if isinstance(self.binds[name], JSON | Document)}
        self.named_places = [
            (name, _document if name in self.documents else convert) for name, convert in self.places
        ]
        self.literals = {} if compiled.positional else {n: _literal(v) for n, v in self.fixed.items()}
        self.sql = self.template if compiled.positional else self.numbered(self.template)

    def _cell(self, name: str, value: Any) -> Any:
        # A member of a StrEnum as the text that it is: drivers ask for the exact type.
        plain = str(value) if isinstance(value, str) else value
        convert = self.convert[name]
        return convert(plain) if convert else plain

    def bind(self, values: Mapping[str, Any]) -> list[Any]:
        """The cells of one set of values, in the order of the parameters."""
        fixed = self.fixed
        return [
            (fixed[name] if name in fixed else (convert(values[name]) if convert else values[name]))
            for name, convert in self.places
        ]

    def named(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The same for a JSON text. JSON is text in it again, whose letters PostgreSQL leaves alone."""
        return {
            name: (convert(values[name]) if convert else values[name]) for name, convert in self.named_places
        }

    def numbered(self, template: str, after: int = 0) -> str:
        """It, or a part of it, with PostgreSQL's own parameters: the first has the number after that one."""
        numbers = {name: f"${number}" for number, name in enumerate(self.order, start=after + 1)}
        return _filled(template, self.literals | numbers)

    def for_few(self, count: int, after: int) -> list[str]:
        """It for that many sets of parameters. New rows stay one statement: they get their ids in order."""
        before, behind = self.halves
        starts = [after + len(self.order) * n for n in range(count)]
        if not self.template.startswith(INSERT):
            return [self.numbered(self.template, start) for start in starts]
        rows = ", ".join(self.numbered(behind, start) for start in starts)
        return [f"{self.numbered(before)}{VALUES}{rows}"]

    def for_many(self, name: str) -> str:
        """It for every row of the list that stands under a name in a JSON text."""
        write = self.dialect.type_compiler_instance.process
        types = {bind: "TEXT" if bind in self.documents else write(self.binds[bind]) for bind in self.order}
        columns = ", ".join(f'"{bind}" {type_}' for bind, type_ in types.items())
        source = f"json_to_recordset($1::json -> '{name}') AS r({columns})"
        cells = self.literals | {bind: f'r."{bind}"' for bind in self.order}
        before, behind = (_filled(half, cells) for half in self.halves)
        if self.template.startswith(INSERT):
            return f"{before} SELECT {behind[1:-1]} FROM {source}"  # noqa: S608 # parts of a compiled statement
        word = "FROM" if self.template.startswith("UPDATE ") else "USING"
        return f"{before} {word} {source}{WHERE}{behind}"

    @cached_property
    def halves(self) -> tuple[str, str]:
        """Its template before and behind the place where other rows can come in; there must be just one."""
        word = VALUES if self.template.startswith(INSERT) else WHERE
        before, _, behind = self.template.partition(word)
        whole = _is_one_group(behind) if word == VALUES else ONE_TABLE.fullmatch(before)
        if self.template.count(word) != 1 or not whole:
            raise TypeError(f"This cannot be written together with others: {self.template}")
        if untyped := [name for name in self.order if isinstance(self.binds[name], NullType)]:
            raise TypeError(f"These parameters need a type: {', '.join(untyped)}, in {self.template}")
        return before, behind

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


def _cursor(c: Connection) -> Any:
    """The driver's own, kept with its connection; for PostgreSQL one that reads no statement for its `%s`.

    It can be kept because whoever asks fetches all rows at once.
    """
    if not c.in_transaction():
        raise RuntimeError("Begin a transaction first: the driver's cursor does not.")
    if "cursor" not in c.info:
        driver: Any = c.connection.driver_connection
        c.info["cursor"] = driver.cursor() if c.dialect.name == "sqlite" else _raw_cursor(driver)
    return c.info["cursor"]


def _raw_cursor(driver: Any) -> Any:
    from psycopg import RawCursor

    return RawCursor(driver)


def _filled(template: str, places: Mapping[str, str]) -> str:
    """What has been put in is not looked at again, whatever it looks like."""
    return PLACE.sub(lambda found: places[found[1]] if found[1] else "%", template)


def _literal(value: Any) -> str:
    from psycopg import sql

    return f"({sql.Literal(value).as_string()})"  # -1::INTEGER would be -(1::INTEGER)


def _is_one_group(sql: str) -> bool:
    """Whether its first bracket closes at its end: one row of VALUES, and no ON CONFLICT behind it."""
    depths = [*accumulate((letter == "(") - (letter == ")") for letter in sql)]
    return 0 in depths and depths.index(0) == len(sql) - 1


def _for_few(parts: Mapping[str, Compiled], shape: Iterable[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    after = 0
    for name, count in shape:
        for place, sql in enumerate(parts[name].for_few(count, after)):
            yield f"{name}_{place}", sql
        after += count * len(parts[name].order)


def _for_many(parts: Mapping[str, Compiled]) -> Iterator[tuple[str, str]]:
    return ((f"{name}_0", part.for_many(name)) for name, part in parts.items())


def _cells(parts: Mapping[str, Compiled], given: Mapping[str, Values]) -> list[Any]:
    """All of them in the order of their numbers."""
    return [cell for name, rows in given.items() for row in rows for cell in parts[name].bind(row)]


def _json_text(parts: Mapping[str, Compiled], given: Mapping[str, Values]) -> str:
    named = {name: [parts[name].named(row) for row in rows] for name, rows in given.items()}
    return to_json(named, inf_nan_mode="strings").decode()


def _document(value: Any) -> str:
    try:
        return to_json(value).decode()
    except PydanticSerializationError:  # half a character, which json escapes; it takes six times as long
        return json.dumps(value)


def _joined(writes: Iterable[tuple[str, str]], last: str) -> str:
    """Statements as one. The names end in a number, so that none is a word of SQL or a table."""
    return f"WITH {', '.join(f'{name} AS ({sql})' for name, sql in writes)} {last}"
