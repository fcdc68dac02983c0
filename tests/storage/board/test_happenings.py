"""The journal as pages: what is sought is found, and with it only what must be read is read."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, update
from sqlalchemy.event import listen
from sqlmodel import col

from storage.board.happenings import Sought, events
from storage.database.tables import Event
from storage.journal.places import ASTRAY, first_after, first_from
from tests.support.fakes import FakeClock, lasting, plan_spec
from tests.support.store import Store


def lived(store: Store, clock: FakeClock, hours: int) -> list[int]:
    """A plan an hour."""
    made = []
    for number in range(hours):
        made.append(store.request(f"wish {number}", team="T1", user="ANN", channel="C1"))
        store.propose(made[-1], plan_spec(), lasting(), author="planner")
        clock.advance(3600)
    return made


@pytest.mark.parametrize("hours", [0, 1, 7, 60])
def test_a_period_holds_what_happened_in_it_and_nothing_else(
    store: Store, clock: FakeClock, hours: int
) -> None:
    began = clock()
    lived(store, clock, hours)
    since, until = began + timedelta(hours=2), began + timedelta(hours=5)
    everything = events(store, Sought(), limit=1000)
    found = events(store, Sought(since=since, until=until), limit=1000)
    assert found == [one for one in everything if since <= one.at < until]
    assert bool(found) == (hours > 2)


def test_a_clock_that_was_put_back_for_hours_hides_nothing(store: Store, clock: FakeClock) -> None:
    began = clock()
    wrong = lived(store, clock, 40)[3]
    astray = began + ASTRAY - timedelta(hours=1)
    with store.write() as t:  # written when the clock was wrong
        t.execute(update(Event).where(col(Event.plan_id) == wrong).values(at=astray))
    found = events(store, Sought(since=astray, until=astray + timedelta(seconds=1)), limit=1000)
    assert {one.plan for one in found} >= {wrong}


def test_places_are_near_their_times_where_numbers_are_missing(store: Store, clock: FakeClock) -> None:
    began = clock()
    made = lived(store, clock, 60)
    with store.write() as t:
        t.execute(delete(Event).where(col(Event.plan_id).in_(made[20:40])))
    with store.read() as t:
        rows = t.rows(Event, order=col(Event.id))
        low = first_from(t.connection, began + timedelta(hours=45))
        high = first_after(t.connection, began + timedelta(hours=10))
    assert [row for row in rows if row.id >= low] == [r for r in rows if r.at >= began + timedelta(hours=21)]
    assert [row for row in rows if row.id < high] == [r for r in rows if r.at < began + timedelta(hours=34)]


@pytest.mark.parametrize(("verb", "used"), [("propose", True), ("claim", False)])
def test_rare_events_are_found_by_their_index_and_usual_ones_among_the_newest(
    store: Store, verb: str, *, used: bool
) -> None:
    said: list[tuple[str, Any]] = []
    listen(store.engine, "before_cursor_execute", lambda *given: said.append((given[2], given[3])))
    events(store, Sought(verb=verb))
    statement, values = said[-1]
    assert ("verb NOT IN" in statement) is used
    if store.engine.dialect.name == "postgresql":
        return  # whose planner looks at how many rows there are
    with store.engine.connect() as c:
        plan = c.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
    assert ("ix_event_of_verb" in str(plan)) is used
