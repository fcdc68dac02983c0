"""Who is there, and what workers can do, as they say it themselves; how long it usually takes."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from statistics import median
from typing import NamedTuple

from sqlalchemy import Text, cast, select
from sqlalchemy.dialects.postgresql import insert  # SQLite knows its ON CONFLICT, too
from sqlmodel import col

from storage.contract.capability import Contract
from storage.contract.states import StepState
from storage.database.statements import Prepared, table
from storage.database.tables import Capability, Process, Step
from storage.memory import Memory

HISTORY = 300  # steps that went well, of which durations are learnt
WENT_WELL = (
    col(Step.state) == StepState.succeeded,
    col(Step.started_at).is_not(None),
    col(Step.ended_at).is_not(None),
)


def publish(memory: Memory, contracts: Iterable[Contract]) -> None:
    """Say what this workers process can do. An action it no longer offers grows stale by itself."""
    with memory.write() as t:
        # Always in this order: two processes that start together wait for each other's rows.
        for contract in sorted(contracts, key=lambda one: (one.worker, one.action)):
            key = {"worker": contract.worker, "action": contract.action}
            body = contract.model_dump(mode="json")
            values = {"contract": body, "hash": contract.hash(), "seen_at": memory.clock()}
            row = insert(table(Capability)).values(**key, **values)
            t.execute(row.on_conflict_do_update(index_elements=[*key], set_=values))


class Published(NamedTuple):
    """A contract, as it was written."""

    contract: str


class Took(NamedTuple):
    """A step that went well, by what is learnt from it."""

    worker: str
    action: str
    target: str
    started_at: datetime
    ended_at: datetime


C, S = table(Capability).c, table(Step).c
PUBLISHED = Prepared(select(cast(C.contract, Text).label("contract")).order_by(C.worker, C.action), Published)
LATELY = Prepared(
    select(*(S[name] for name in Took._fields)).where(*WENT_WELL).order_by(S.id.desc()).limit(HISTORY), Took
)


def contracts(memory: Memory) -> list[Contract]:
    """Everything any worker has published; how long it takes, by what it took lately."""
    with memory.read() as t:
        found = [_read(row.contract) for row in PUBLISHED.all(t.connection)]
        lately = LATELY.all(t.connection) if found else []
    took: dict[tuple[str, str], dict[str, list[float]]] = {}
    for step in lately:
        seconds = (step.ended_at - step.started_at).total_seconds()
        here = took.setdefault((step.worker, step.action), {})
        for where in {"", step.target}:
            here.setdefault(where, []).append(seconds)
    return [_usual(contract, took.get((contract.worker, contract.action), {})) for contract in found]


@lru_cache(maxsize=512)
def _read(text: str) -> Contract:
    """The same text is the same contract: every plan that is looked at asks for all of them."""
    return Contract.model_validate(json.loads(text))


def _usual(contract: Contract, took: Mapping[str, list[float]]) -> Contract:
    """The contract with what its action took, anywhere and by target, once it ran three times there."""
    usual = {where: median(seconds) for where, seconds in took.items() if len(seconds) > 2}
    return contract.model_copy(update={"typical": usual[""], "usual": usual}) if usual else contract


FRESH = timedelta(seconds=30)  # a process that has not been seen for longer counts as gone


def alive(memory: Memory, name: str, kind: str, release: str) -> None:
    """A sign of life of one process."""
    now = memory.clock()
    with memory.write() as t:
        values = {"kind": kind, "release": release, "seen_at": now}
        row = insert(table(Process)).values(name=name, started_at=now, **values)
        t.execute(row.on_conflict_do_update(index_elements=["name"], set_=values))


def processes(memory: Memory, kind: str) -> list[Process]:
    """The processes of that kind that were seen lately."""
    with memory.read() as t:
        lately = col(Process.seen_at) > memory.clock() - FRESH
        return t.rows(Process, col(Process.kind) == kind, lately)


def everybody(memory: Memory) -> list[Process]:
    """Every process that was ever seen, the latest sign of life first."""
    with memory.read() as t:
        return t.rows(Process, order=col(Process.seen_at).desc(), limit=100)
