"""The journal is one chain: what was edited or taken out is found."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from storage.journal.chain import broken_link
from tests.support.fakes import NOW, tamper
from tests.support.samples.plans import busy_plan


def test_the_journal_is_one_chain_and_the_plan_knows_its_head(store):
    plan_id = busy_plan(store)
    events = store.events(plan_id)
    with store.read() as t:
        plan = t.plan(plan_id)

    assert broken_link(events) is None
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert (plan.head, plan.events) == (events[-1].hash, len(events))


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("field", "forged"),
    [
        ("verb", "forged"),
        ("actor", "forged"),
        ("data", {"forged": True}),
        ("prev", "forged"),
        ("hash", "forged"),
        ("at", NOW - timedelta(microseconds=1)),
        ("seq", 1000),
        ("plan_id", 1000),
    ],
)
def test_an_edited_event_is_found_wherever_it_stands(lite, field, forged):
    events = [SimpleNamespace(**row.model_dump()) for row in lite.events(busy_plan(lite))]
    for event in events:
        honest = getattr(event, field)
        setattr(event, field, forged)
        found = broken_link(events)
        setattr(event, field, honest)

        assert found == event.seq

    assert broken_link(events) is None


@pytest.mark.hostile
def test_an_event_edited_in_the_database_is_found(store):
    plan_id = busy_plan(store)
    tamper(store, "UPDATE event SET actor = 'MALLORY' WHERE verb = 'approve'")

    assert broken_link(store.events(plan_id)) == 3


@pytest.mark.hostile
def test_an_event_taken_out_of_the_middle_is_found(store):
    plan_id = busy_plan(store)
    tamper(store, "DELETE FROM event WHERE seq = 4")

    assert broken_link(store.events(plan_id)) == 4
