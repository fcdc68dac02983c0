"""A plan that was put away takes less room, and to everybody who reads it nothing has changed."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, text
from sqlmodel import col, update

from storage.audit.export import checkpoint, journal
from storage.audit.putting_away import AROUND, put_away
from storage.audit.retention import forget, prune
from storage.audit.verify import check
from storage.board import happenings
from storage.board.happenings import Sought
from storage.database.packed import armoured, pack
from storage.database.tables import Message, Plan, Process
from storage.journal.verified import Journal, verified
from storage.reading.words import borne_out
from tests.support.fakes import NOW, FakeClock, propose, tamper
from tests.support.samples.journal import EDITS, busy, finished, judged
from tests.support.samples.plans import busy_plan
from tests.support.store import Store

DAY = timedelta(days=1)


def told(store: Store) -> None:
    with store.write() as t:
        t.execute(update(Message).values(shown=col(Message.wanted)))


def away(store: Store, clock: FakeClock) -> int:
    told(store)
    clock.advance(days=2)
    return put_away(store, clock() - DAY)


def marks(store: Store) -> list[int]:
    with store.read() as t:
        return [plan.away for plan in t.rows(Plan, order=col(Plan.id))]


def seen(store: Store, plan_id: int) -> list[Any]:
    """What people, boards and auditors read of it."""
    found = happenings.events(store, Sought(plan=plan_id))
    tries = happenings.attempts(store, plan_id)
    return [
        store.view(plan_id), [event.data for event in store.events(plan_id)],
        [asdict(one) for one in found], {key: [t.model_dump() for t in tries[key]] for key in tries},
        [row.model_dump() for row in happenings.revisions(store, plan_id)],
        happenings.verdict(store, plan_id), [*journal(store.engine)],
    ]  # fmt: skip


def lies(store: Store, column: str, table: str) -> list[Any]:
    with store.engine.connect() as c:
        return [*c.execute(text(f"SELECT {column} FROM {table}")).scalars()]  # noqa: S608 # our own names


def test_it_reads_the_same(store: Store, clock: FakeClock) -> None:
    plan_id = finished(store)
    told(store)
    clock.advance(days=2)
    before = seen(store, plan_id)
    specs, events = lies(store, "spec", "revision"), lies(store, "prev", "event")
    reports = lies(store, "report", "attempt")

    assert put_away(store, clock() - DAY) == 1
    assert seen(store, plan_id) == before
    assert lies(store, "spec", "revision") != specs
    assert reports[0]
    assert lies(store, "report", "attempt") == [None]
    assert sum(map(len, map(str, lies(store, "prev", "event")))) < sum(map(len, events))
    assert put_away(store, clock() - DAY) == 0


def test_a_checkpoint_from_before_knows_it(store: Store, clock: FakeClock, tmp_path: Any) -> None:
    busy(store)
    checkpoint(store.engine, tmp_path / "anchor", NOW)
    count = away(store, clock)

    assert (count, marks(store)) == (2, [1, 1, 0])
    assert judged(store, tmp_path / "anchor").problems == []
    assert (
        checkpoint(store.engine, tmp_path / "anchor", clock()).at
        == checkpoint(store.engine, tmp_path / "anchor", NOW).at
    )


@pytest.mark.hostile
@pytest.mark.parametrize("statement", EDITS.values(), ids=EDITS)
def test_what_somebody_did_to_it_is_seen(
    store: Store, clock: FakeClock, tmp_path: Any, statement: str
) -> None:
    busy(store)
    checkpoint(store.engine, tmp_path / "anchor", NOW)
    away(store, clock)
    tamper(store, statement)

    assert judged(store, tmp_path / "anchor").problems


@pytest.mark.hostile
def test_other_words_packed_as_well_are_seen(store: Store, clock: FakeClock, tmp_path: Any) -> None:
    plan_id = finished(store)
    checkpoint(store.engine, tmp_path / "anchor", NOW)
    away(store, clock)
    forged: Any = pack('{"step": "s1", "attempt": 1, "digest": "forged", "target": "forged for the test"}')
    forged = f"x'{forged.hex()}'" if store.engine.dialect.name == "sqlite" else f"'\"{armoured(forged)}\"'"
    tamper(store, f"UPDATE event SET data = {forged} WHERE verb = 'claim'")  # noqa: S608 # our own

    assert len(judged(store, tmp_path / "anchor").problems) == 1
    assert "does not follow" in happenings.verdict(store, plan_id)[1]


@pytest.mark.hostile
def test_another_report_in_its_place_is_seen(store: Store, clock: FakeClock) -> None:
    plan_id = finished(store)
    away(store, clock)
    before = borne_out(store, plan_id)[0]
    tamper(store, """UPDATE step SET report = '{"status": "succeeded", "summary": "another"}'""")

    assert (before, borne_out(store, plan_id)[0]) == ("", "a report in it was changed behind the bot's back")


@pytest.mark.hostile
def test_what_was_tampered_with_before_stays_as_it_was_found(store: Store, clock: FakeClock) -> None:
    plan_id = finished(store)
    tamper(store, "UPDATE event SET actor = 'MALLORY' WHERE plan_id = :plan AND seq = 3", plan=plan_id)
    exported, rows = [*journal(store.engine)], lies(store, "prev", "event")
    away(store, clock)

    assert marks(store) == [-1]
    assert ([*journal(store.engine)], lies(store, "prev", "event")) == (exported, rows)


def test_only_what_has_ended_and_was_told_a_day_ago_is_put_away(store: Store, clock: FakeClock) -> None:
    finished(store)
    propose(store)
    clock.advance(days=2)
    untold = put_away(store, clock() - DAY)
    told(store)
    early = put_away(store, clock() - 3 * DAY)

    assert (untold, early, put_away(store, clock() - DAY)) == (0, 0, 1)
    assert marks(store) == [1, 0]


def test_nothing_is_put_away_while_an_older_release_is_at_work(store: Store, clock: FakeClock) -> None:
    finished(store)
    told(store)
    clock.advance(days=2)
    with store.write() as t:
        old = {"name": "bot-1", "kind": "bot", "release": "0.1.0", "started_at": NOW, "seen_at": clock()}
        t.execute(insert(Process).values(**old))
    during = put_away(store, clock() - DAY)
    clock.advance(AROUND.total_seconds() + 1)

    assert (during, put_away(store, clock() - DAY)) == (0, 1)


def test_the_board_finds_words_in_it(store: Store, clock: FakeClock) -> None:
    plan_id = finished(store)
    finished(store)
    said = next(event.data["summary"] for event in store.events(plan_id) if event.verb == "succeed")
    before = [happenings.events(store, Sought(words=words)) for words in (said.upper(), "no such words")]
    away(store, clock)

    assert before == [
        happenings.events(store, Sought(words=words)) for words in (said.upper(), "no such words")
    ]
    assert len(before[0]) == 2
    assert [one.id for one in happenings.events(store, Sought(words=said), 1)] == [before[0][0].id]


def test_what_was_verified_before_holds_after(store: Store, clock: FakeClock) -> None:
    plan_id = finished(store)
    with store.read() as t:
        known = verified(t.connection, plan_id, Journal())
    away(store, clock)
    with store.read() as t:
        after = verified(t.connection, plan_id, known or Journal())

    assert known
    assert after
    assert (after.events, after.head, after.told) == (known.events, known.head, known.told)


def test_retention_goes_on_with_what_was_put_away(store: Store, clock: FakeClock, tmp_path: Any) -> None:
    finished(store)
    busy_plan(store)
    away(store, clock)
    clock.advance(days=500)
    gone = forget(store, clock() - 400 * DAY, actor="bot")
    known = checkpoint(store.engine, tmp_path / "anchor", clock())
    (tmp_path / "export").write_bytes(b"".join(journal(store.engine)))
    forgotten = check(journal(store.engine), known.heads).problems
    pruned = prune(
        store, clock() - 400 * DAY, export=tmp_path / "export", anchored=tmp_path / "anchor", actor="ann"
    )
    last = checkpoint(store.engine, tmp_path / "anchor", clock())

    assert (gone, forgotten) == (1, [])
    assert pruned > 0
    assert check(journal(store.engine), last.heads).problems == []
