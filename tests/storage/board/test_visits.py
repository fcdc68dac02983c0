"""Who comes to the board: once by a link, until the end of a session, and never with what rows alone tell."""

from datetime import timedelta

import pytest

from bot.tickets import Tickets, kept_key, split_ticket
from storage.board import visits
from storage.board.visits import IDLE, LONGEST, TICKET, TOKEN
from storage.database.tables import Event
from tests.support.fakes import FakeClock, propose
from tests.support.store import Store

pytestmark = pytest.mark.board


def invited(store: Store, **more: str) -> str:
    return store.invite_visit(team="T1", user="BOB", **more)


def told(store: Store) -> list[tuple[str, str]]:
    return [(event.verb, event.actor) for event in store.events(0)]


def test_a_link_lets_somebody_in_once(store: Store):
    visit = invited(store)
    session = visits.enter(store, visit)
    found = visits.guest(store, session)

    assert found
    assert (found.user, found.team) == ("BOB", "T1")
    assert visits.enter(store, visit) == ""


def test_a_link_grows_old(store: Store, clock: FakeClock):
    visit = invited(store)
    clock.advance(seconds=TICKET.total_seconds())

    assert visits.enter(store, visit) == ""


@pytest.mark.parametrize(
    ("idle", "times", "good"), [(IDLE, 1, False), (IDLE * 0.9, 2, True), (LONGEST / 10, 11, False)]
)
def test_a_session_ends_without_a_look_and_at_last(
    store: Store, clock: FakeClock, idle: timedelta, times: int, good: bool
):
    visit = invited(store)
    session = visits.enter(store, visit)
    for _ in range(times):
        clock.advance(seconds=idle.total_seconds())
        if visits.guest(store, session):
            visits.seen(store, visit)

    assert bool(visits.guest(store, session)) == good


def test_who_left_is_gone_and_stays_so(store: Store):
    visit = invited(store)
    session = visits.enter(store, visit)
    visits.leave(store, visit, "left")
    visits.seen(store, visit)

    assert visits.guest(store, session) is None


def test_no_session_stands_in_the_rows(store: Store):
    session = visits.enter(store, invited(store))
    with store.read() as t:
        rows = [row.model_dump_json() for row in t.rows(visits.Visit)]

    assert not any(session in row for row in rows)


def test_the_journal_tells_who_came_was_refused_and_left_once(store: Store):
    visit = invited(store)
    visits.enter(store, visit)
    visits.enter(store, visit)
    visits.leave(store, visit, "left")
    store.note_visits()
    store.note_visits()

    assert sorted(told(store)) == [("admit", "BOB"), ("leave", "BOB"), ("refuse", "BOB")]


def test_a_token_is_named_ends_and_is_no_link(store: Store, clock: FakeClock):
    visit = invited(store, token="nightly")
    known = visits.bearer(store, visit)

    assert known
    assert known.user == "BOB"
    assert visits.enter(store, visit) == ""
    assert [one.name for one in store.visit_tokens("BOB")] == ["nightly"]
    clock.advance(seconds=TOKEN.total_seconds())
    assert visits.bearer(store, visit) is None


def test_a_ticket_needs_the_key_and_its_own_visit(store: Store):
    ours, theirs = Tickets("http://b", "key"), Tickets("http://b", "other")
    one, two = (store.find_visit(invited(store)) for _ in range(2))
    assert one
    assert two

    assert ours.good(ours.ticket(one), one)
    assert split_ticket(ours.ticket(one)) == one.id
    assert not ours.good(theirs.ticket(one), one)
    assert not ours.good(ours.ticket(one), two)
    assert not ours.good(f"{one.id}.", one)
    assert not Tickets("http://b", "").good(Tickets("http://b", "").ticket(one), one)
    assert not ours.good(ours.ticket(one), None)


def test_a_key_is_made_once_and_for_us_alone(tmp_path):
    first = kept_key(tmp_path / "state")

    assert kept_key(tmp_path / "state") == first
    assert len(first) == 64
    assert [(file.name, oct(file.stat().st_mode & 0o777)) for file in (tmp_path / "state").iterdir()] == [
        ("board.key", "0o600")
    ]


def test_what_was_opened_is_kept_once(store: Store):
    plan_id = propose(store)
    for _ in range(2):
        store.opened(plan_id, 1, "BOB")
    with store.read() as t:
        assert [(row.plan_id, row.user) for row in t.rows(visits.Opened)] == [(plan_id, "BOB")]
        assert not [event for event in t.rows(Event) if event.verb == "opened"]
