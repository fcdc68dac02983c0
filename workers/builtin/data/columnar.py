"""DuckDB, shut in: no file, no network, no extension, a bounded memory, and it stops when it is told to."""

import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from workers.base import Permanent, Transient, missing
from workers.builtin.data.rows import Row, columns_of
from workers.builtin.data.tables import as_text

if TYPE_CHECKING:
    import duckdb

Kind = Literal["integer", "number", "flag", "text", "empty"]
Columns = dict[str, Kind]  # by name, in order; the engine knows them as c0, c1, …

MEMORY = "256MB"
MOST_ROWS = 500_000
MOST_COLUMNS = 200
BATCH = 5_000
TYPES = {"integer": "BIGINT", "number": "DOUBLE", "flag": "BOOLEAN", "text": "VARCHAR", "empty": "VARCHAR"}
SHUT = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # a table's name never means a Python variable
    "temp_directory": "",
    "memory_limit": MEMORY,
    "threads": "1",
}


class Engine:
    """One database in memory for one attempt. No text of a plan ever stands in a statement."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        self._connection = connection
        self._made = 0

    def load(self, rows: list[Row]) -> tuple[str, Columns]:
        """Rows as a table: its name and its columns."""
        columns, table = kinds(rows), self._name()
        types = {f"c{n}": TYPES[kind] for n, kind in enumerate(columns.values())}
        fields = ", ".join(f"{name} {kind}" for name, kind in types.items())
        self._run(f"CREATE TABLE {table} ({fields or 'nothing BOOLEAN'})")
        insert = f"INSERT INTO {table} SELECT unnest(from_json(?, ?), recursive := true)"
        for start in range(0, len(rows) if columns else 0, BATCH):
            batch = [_numbered(row, columns) for row in rows[start : start + BATCH]]
            self._run(insert, [json.dumps(batch), json.dumps([types])])
        return table, columns

    def make(self, select: str, values: list[Any]) -> str:
        """The result of a statement as a table; too many rows are refused, not cut."""
        table = self._name()
        self._run(f"CREATE TABLE {table} AS {select}", values)
        if self.count(table) > MOST_ROWS:
            raise Permanent(f"This makes more than {MOST_ROWS:,} rows. Filter or aggregate first.")
        return table

    def count(self, table: str) -> int:
        (found,) = self.first(f"SELECT count(*) FROM {table}") or (0,)  # noqa: S608 # our name
        return int(found)

    def first(self, select: str) -> tuple[Any, ...] | None:
        return self._run(select).fetchone()

    def rows(self, table: str, columns: Columns) -> list[Row]:
        found = self._run(f"SELECT * FROM {table}").fetchall()  # noqa: S608 # our name
        return [dict(zip(columns, map(_finite, row), strict=True)) for row in found]

    def _name(self) -> str:
        self._made += 1
        return f"t{self._made}"

    def _run(self, statement: str, values: list[Any] | None = None) -> "duckdb.DuckDBPyConnection":
        import duckdb

        try:
            return self._connection.execute(statement, values or [])
        except duckdb.OutOfMemoryException:
            raise Permanent(f"This needs more than {MEMORY} of memory. Filter or aggregate first.") from None
        except duckdb.InterruptException:
            raise Transient("The processing was stopped.") from None
        except duckdb.Error as error:
            said = str(error).partition("\n")[0][:200]
            raise Permanent(f"The rows cannot be processed this way: {said}") from None


@contextmanager
def engine(cancelled: Callable[[], bool]) -> Iterator[Engine]:
    """An engine that is interrupted once `cancelled` says so."""
    if said := missing("duckdb"):
        raise Permanent(said)
    import duckdb

    over = threading.Event()
    with duckdb.connect(":memory:", config=dict(SHUT)) as connection:
        connection.execute("SET lock_configuration = true")
        watch = threading.Thread(target=_watch, args=(connection, cancelled, over), daemon=True)
        watch.start()
        try:
            yield Engine(connection)
        finally:
            over.set()
            watch.join()


def kinds(rows: list[Row]) -> Columns:
    """The columns of these rows; a column of mixed values is text."""
    names = columns_of(rows)
    if len(names) > MOST_COLUMNS or len(rows) > MOST_ROWS:
        raise Permanent(
            f"{len(rows):,} rows with {len(names):,} columns are too many; at most {MOST_ROWS:,} with "
            f"{MOST_COLUMNS} can be processed."
        )
    return {name: _kind({_of(row.get(name)) for row in rows}) for name in names}


def _kind(found: set[Kind | None]) -> Kind:
    real = found - {None}
    if real == {"integer", "number"}:
        return "number"
    if not real:
        return "empty"
    return "text" if len(real) > 1 else next(kind for kind in real if kind)


def _of(value: Any) -> Kind | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int):
        return "integer" if abs(value) < 2**63 else "text"
    return "number" if isinstance(value, float) else "text"


def _numbered(row: Row, columns: Columns) -> Row:
    cells = ((row.get(name), kind) for name, kind in columns.items())
    return {
        f"c{n}": as_text(value) if kind == "text" and value is not None else value
        for n, (value, kind) in enumerate(cells)
    }


def _finite(value: Any) -> Any:
    """JSON has no infinity; a value that overflowed is no value."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _watch(
    connection: "duckdb.DuckDBPyConnection", cancelled: Callable[[], bool], over: threading.Event
) -> None:
    while not over.wait(0.1):
        if cancelled():
            connection.interrupt()
