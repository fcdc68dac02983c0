"""Old plans are forgotten as policy says: their rows go, their journal stays and can still be verified."""

from datetime import timedelta
from pathlib import Path

from sqlalchemy import func, select

from storage.audit.export import checkpoint, journal
from storage.audit.retention import FORGOTTEN, forget
from storage.audit.verify import check
from storage.database.statements import table
from storage.database.tables import Approval, Attempt, Message, Plan, Preview, Revision, Step
from tests.support.fakes import FakeClock, approved, propose, step, succeed
from tests.support.store import Store

ROWS = (Attempt, Step, Preview, Approval, Revision, Message)


def counts(store: Store) -> list[int]:
    with store.read() as t:
        return [t.execute(select(func.count()).select_from(table(one))).scalar_one() for one in ROWS]


def test_a_plan_that_ended_long_ago_leaves_its_journal_and_no_row(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    anchor = tmp_path / "checkpoints.jsonl"
    old = approved(store, step("look"))
    succeed(store, old, "look")
    told = [event.verb for event in store.events(old)]
    checkpoint(store.engine, anchor, clock())
    clock.advance(hours=2)
    recent, waits = approved(store, step("look")), propose(store)
    succeed(store, recent, "look")
    kept = counts(store)

    gone = forget(store, clock() - timedelta(hours=1), actor="bot")
    left = counts(store)
    after = checkpoint(store.engine, anchor, clock())
    verdict = check(journal(store.engine), after.heads)

    assert (gone, forget(store, clock() - timedelta(hours=1), actor="bot")) == (1, 0)
    assert all(now < before for now, before in zip(left, kept, strict=True) if before)
    assert (store.view(old).state, store.view(old).outcome, store.view(old).text) == (
        "done",
        "succeeded",
        FORGOTTEN,
    )
    assert [event.verb for event in store.events(old)] == told
    assert verdict.problems == []
    assert store.view(recent).spec is not None
    assert store.view(waits).state == "proposed"


def test_nothing_is_left_of_a_plan_but_its_row(store: Store, clock: FakeClock) -> None:
    old = approved(store, step("look"))
    succeed(store, old, "look")
    clock.advance(days=30)
    forget(store, clock(), actor="bot")
    with store.read() as t:
        plans = t.execute(select(func.count()).select_from(table(Plan))).scalar_one()

    assert (counts(store), plans) == ([0] * len(ROWS), 1)
    assert [view.id for view in store.recent()] == [old]


def test_what_is_open_is_never_forgotten_however_old(store: Store, clock: FakeClock) -> None:
    open_plans = [propose(store), approved(store, step("look"))]
    clock.advance(days=4000)

    assert forget(store, clock(), actor="bot") == 0
    assert all(store.view(plan).spec for plan in open_plans)
