"""How fast Slack was spoken to, as rows that all bots see. What a row says is for the bot's pace to know."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy.dialects.postgresql import insert
from sqlmodel import col

from storage.database.answering import answering
from storage.database.statements import table
from storage.database.tables import Pace
from storage.memory import Memory

PAUSE = "pause:"  # begins the name of a pause after a refusal
Facts = Mapping[str, Any]


def paces(memory: Memory, names: Iterable[str]) -> dict[str, tuple[int, Facts]]:
    """(version, facts) of each of these that is there."""
    with memory.read() as t:
        rows = t.rows(Pace, col(Pace.name).in_([*names]))
    return {row.name: (row.version, json.loads(row.facts)) for row in rows}


def pauses(memory: Memory) -> dict[str, Facts]:
    """The pauses after refusals, by what was refused."""
    with memory.read() as t:
        rows = t.rows(Pace, col(Pace.name).startswith(PAUSE))
    return {row.name.removeprefix(PAUSE): json.loads(row.facts) for row in rows}


def note_pace(memory: Memory, name: str, seen: int | None, facts: Facts) -> bool:
    """Put these in place of the version that was seen (0: none); False where another bot was faster.

    None: whatever was there. One statement, so that who stands still holds up nobody; and nobody is woken.
    """
    row = insert(table(Pace)).values(name=name, version=1, facts=json.dumps(facts))
    values = {"version": col(Pace.version) + 1, "facts": row.excluded.facts}
    same = None if seen is None else col(Pace.version) == seen
    noted = row.on_conflict_do_update(index_elements=["name"], set_=values, where=same)
    with answering(), memory.engine.connect() as connection:
        alone = connection.execution_options(isolation_level="AUTOCOMMIT")
        return alone.execute(noted.returning(col(Pace.version))).first() is not None
