"""python -m tests.bench.growth: time per step with 100,000 finished plans in the database / with none."""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from sqlalchemy import text

from storage.database.statements import table
from storage.database.tables import Attempt, Event, Message, Plan, Revision, Step
from tests.bench.engine import Engine, say
from tests.support.postgres import fresh_database, postgres_server

SERIES = {
    "sqlite": "WITH RECURSIVE series(n) AS "
    "(SELECT {first} UNION ALL SELECT n + 1 FROM series WHERE n < {last})",
    "postgresql": "WITH series AS (SELECT generate_series({first}, {last}) AS n)",
}
EACH = 100_000  # plans that are made in one commit: a file's log would grow by all of them
# How the copy of a row differs from its model: row 1 of each table, and n of the copy.
KEYS = {
    Plan: {"id": "n + 1"},
    Revision: {"plan_id": "n + 1"},
    Step: {"id": "n + 1", "plan_id": "n + 1"},
    Attempt: {"step_id": "n + 1"},
    Event: {"id": None, "plan_id": "n + 1"},
    Message: {"id": None, "plan_id": "n + 1", "key": "{key} || '-' || n"},
}


def grow(engine: Engine, count: int) -> None:
    """That many copies of one finished plan with everything that belongs to it, made by the database."""
    engine.done(engine.plan(engine.steps(1, "nothing", chained=False)))
    dialect = engine.store.engine.dialect.name
    with engine.store.write() as t:
        t.execute(text("UPDATE message SET shown = wanted"))
    for first in range(1, count + 1, EACH):
        copy(engine, SERIES[dialect].format(first=first, last=min(first + EACH - 1, count)))
    if dialect == "postgresql":
        with engine.store.write() as t:
            for name in ("plan", "step"):
                t.execute(text(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), {count + 1})"))
    if dialect == "postgresql":  # which does so by itself before long; nobody does it on SQLite
        with engine.store.engine.begin() as c:
            c.execute(text("ANALYZE"))


def copy(engine: Engine, series: str) -> None:
    """The first plan as often as the series says, in one commit."""
    with engine.store.write() as t:
        for model, keys in KEYS.items():
            columns = [column.name for column in table(model).c if keys.get(column.name, "") is not None]
            copies = [(keys.get(name) or "{key}").format(key=f'm."{name}"') for name in columns]
            names = ", ".join(f'"{name}"' for name in columns)
            rows = f"SELECT {', '.join(copies)} FROM {model.__tablename__} AS m, series"  # noqa: S608 # our own names
            one = "m.plan_id = 1" if "plan_id" in columns else f"m.{key_of(columns)} = 1"
            t.execute(text(f"INSERT INTO {model.__tablename__} ({names}) {series} {rows} WHERE {one}"))


def key_of(columns: list[str]) -> str:
    """By what the first row is known, in a table that names no plan."""
    return "step_id" if "step_id" in columns else "id"


def growth(places: list[str], home: Path, count: int, rounds: int) -> float:
    """Turn about, so that both see the same machine."""
    engines = [Engine(url, home) for url in places]
    with engines[0].running(), engines[1].running():
        grow(engines[1], count)
        ratios = []
        for _ in range(rounds):
            spans = []
            for engine in engines:
                plan_id = engine.plan(engine.steps(100, "nothing", chained=True))
                engine.done(plan_id)
                spans.append(engine.span(plan_id))
            ratios.append(spans[1] / spans[0])
    return median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="signoff-bench-"))
    with postgres_server(durable=True) as postgres:
        places: dict[str, Callable[[], str]] = {
            "sqlite": lambda: f"sqlite:///{home / f'{time.monotonic_ns()}.db'}",
            "postgres": lambda: fresh_database(postgres),
        }
        for name, place in places.items():
            found = growth([place(), place()], home, given.plans, given.rounds)
            say(f"growth_{given.plans}_{name}_ratio", found, 1.2)
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
