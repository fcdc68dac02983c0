"""What was verified is compared and not linked again; whatever is done to its rows since is found."""

import pytest

from storage.journal import verified as module
from storage.journal.verified import MOST, Journal, verified
from storage.reading.words import keep
from tests.support.fakes import tamper
from tests.support.samples.plans import busy_plan

CHANGED = [
    "UPDATE event SET actor = 'MALLORY' WHERE seq = {}",
    "UPDATE event SET verb = 'look' WHERE seq = {}",
    "UPDATE event SET data = '{{}}' WHERE seq = {}",
    "UPDATE event SET at = '2001-01-01 00:00:00' WHERE seq = {}",
    "UPDATE event SET prev = 'x' WHERE seq = {}",
    "UPDATE event SET hash = 'x' WHERE seq = {}",
    "UPDATE event SET seq = 1000 WHERE seq = {}",
    "DELETE FROM event WHERE seq = {}",
]


def look(store, plan_id, known=Journal()):  # noqa: B008 # frozen
    with store.read() as t:
        return verified(t.connection, plan_id, known)


def linked(monkeypatch):
    """The numbers of the events that are linked from now on."""
    found = []
    link = module.broken_link

    def broken_link(events, seq, prev):
        found.extend(event.seq for event in events)
        return link(events, seq, prev)

    monkeypatch.setattr(module, "broken_link", broken_link)
    return found


def test_only_what_is_new_is_linked(store, monkeypatch):
    plan_id = busy_plan(store)
    known = look(store, plan_id)
    store.refuse(plan_id, "approve", user="DAVE", reason="too late")
    found = linked(monkeypatch)
    later = look(store, plan_id, known)

    assert found == [known.events + 1]
    assert later == look(store, plan_id)
    assert (later.events, later.head) == store.head(plan_id)


def test_with_nothing_new_it_is_the_same(store, monkeypatch):
    plan_id = busy_plan(store)
    known = look(store, plan_id)
    found = linked(monkeypatch)

    assert look(store, plan_id, known) == known
    assert found == []


@pytest.mark.hostile
@pytest.mark.parametrize("statement", CHANGED)
def test_whatever_is_done_to_a_verified_event_is_found(store, statement):
    plan_id = busy_plan(store)
    known = look(store, plan_id)
    tamper(store, statement.format(3))

    assert look(store, plan_id, known) is None


@pytest.mark.hostile
@pytest.mark.parametrize("statement", CHANGED)
def test_whatever_is_done_to_an_event_behind_those_is_found(store, statement):
    plan_id = busy_plan(store)
    known = look(store, plan_id)
    store.refuse(plan_id, "approve", user="DAVE", reason="too late")
    store.refuse(plan_id, "approve", user="ERIN", reason="too late")
    tamper(store, statement.format(known.events + 1))

    assert look(store, plan_id, known) is None


@pytest.mark.hostile
def test_a_journal_that_was_cut_back_is_not_what_was_verified(store):
    """What is left follows; that it is not all is told by the plan's row."""
    plan_id = busy_plan(store)
    known = look(store, plan_id)
    tamper(store, "DELETE FROM event WHERE seq = :last", last=known.events)
    found = look(store, plan_id, known)

    assert found.events == known.events - 1
    assert "its journal" in store.tampered(plan_id)


def test_only_so_many_are_kept_those_that_were_looked_at_lately():
    kept = {}
    for number in range(MOST):
        keep(kept, number, Journal())
    keep(kept, 0, Journal())
    keep(kept, MOST, Journal())

    assert len(kept) == MOST
    assert {0, MOST} <= kept.keys()
    assert 1 not in kept
