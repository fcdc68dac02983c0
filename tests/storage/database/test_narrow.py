"""The board's connections: one writes nothing, the other nothing but visits; on both databases."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from storage.board import visits
from storage.board.happenings import Sought
from storage.database.narrow import open_for_visits, open_to_watch
from storage.looking import Looking, Visits
from tests.support.fakes import FakeClock, propose
from tests.support.samples.board import role
from tests.support.store import Store

pytestmark = [pytest.mark.board, pytest.mark.hostile]

READING = {
    "change a plan": "UPDATE plan SET state = 'approved'",
    "use a visit": "UPDATE visit SET used_at = NULL",
    "forget the journal": "DELETE FROM event",
    "make a table": "CREATE TABLE mine (a INTEGER)",
}
WRITING = READING | {
    "let somebody else in": "UPDATE visit SET \"user\" = 'MALLORY'",
    "let in for longer": "UPDATE visit SET until = made_at",
    "make a visit": "INSERT INTO visit SELECT * FROM visit",
    "forget a visit": "DELETE FROM visit",
    "read a second factor": "SELECT sealed FROM factor",
    "approve": "INSERT INTO approval SELECT * FROM approval",
    "read what Slack delivered": "SELECT body FROM delivery",
    "read what one person was told": "SELECT text FROM message",
    "change what is on record": "UPDATE event SET actor = 'x'",
    "change who opened what": "UPDATE opened SET first_at = NULL",
}
DIFFERENT = {"use a visit"}  # which the second connection may


@pytest.fixture
def place(store: Store) -> str:
    propose(store)
    store.invite_visit(team="T1", user="BOB")
    return role(store.engine) if store.engine.dialect.name == "postgresql" else str(store.engine.url)


def tries(engine: Engine, statement: str) -> None:
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(text(statement))


@pytest.mark.parametrize("what", READING)
def test_who_watches_writes_nothing(place: str, what: str):
    engine = open_to_watch(place)
    with pytest.raises(DBAPIError):
        tries(engine, READING[what])
    engine.dispose()


@pytest.mark.parametrize("what", [name for name in WRITING if name not in DIFFERENT])
def test_who_keeps_visits_writes_nothing_else(place: str, what: str):
    engine = open_for_visits(place)
    with pytest.raises(DBAPIError):
        tries(engine, WRITING[what])
    engine.dispose()


def test_a_visit_is_used_seen_and_ended_with_these_rights(store: Store, place: str, clock: FakeClock):
    kept, looking = Visits(open_for_visits(place), clock), Looking(open_to_watch(place), clock)
    visit = store.invite_visit(team="T1", user="BOB")
    session = kept.enter(visit)
    clock.advance(minutes=5)
    kept.seen(visit)
    plan = store.recent(1)[0].id
    kept.opened(plan, 1, "BOB")
    found = kept.guest(session)
    kept.leave(visit, "left")

    assert found
    assert found.user == "BOB"
    assert kept.guest(session) is None
    assert looking.view(plan).id == plan
    assert [one.verb for one in looking.events(Sought(plan=plan))] == ["propose", "request"]
    for memory in (kept, looking):
        memory.engine.dispose()


@pytest.mark.postgres
def test_the_role_reads_no_second_factor_nor_what_was_delivered(postgres_engine: Engine):
    engine = open_to_watch(role(postgres_engine))
    for statement in (
        "SELECT sealed FROM factor",
        "SELECT * FROM factor",
        "SELECT body FROM delivery",
        "SELECT text FROM message",
    ):
        with pytest.raises(DBAPIError, match="permission denied"):
            tries(engine, statement)
    engine.dispose()


def test_a_session_is_never_kept_as_it_is():
    assert visits.hashed("a") != "a"
