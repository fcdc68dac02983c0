"""Whether somebody read what they approved is on record, and a rule may demand it."""

import pytest

from storage.contract.demands import Demands
from storage.errors import NotAllowed
from tests.support.fakes import approve, plan_spec, propose, step, terms


def facts(store, plan_id):
    (found,) = [event for event in store.events(plan_id) if event.verb == "approve"]
    return found.data["seconds"], found.data["opened"]


def test_a_quick_yes_and_a_considered_one_can_be_told_apart(store, clock):
    quick, considered = propose(store, plan_spec(step("s1"))), propose(store, plan_spec(step("s1")))
    clock.advance(40)
    approve(store, quick)
    store.opened(considered, 1, "BOB")
    clock.advance(20)
    approve(store, considered)

    assert facts(store, quick) == (40.0, False)
    assert facts(store, considered) == (60.0, True)


def test_what_was_read_of_an_earlier_revision_does_not_count(store):
    plan_id = propose(store, plan_spec(step("s1")))
    store.opened(plan_id, 7, "BOB")
    approve(store, plan_id)

    assert facts(store, plan_id)[1] is False


def test_a_rule_that_demands_it_refuses_who_has_not_opened_it(store):
    plan_id = propose(store, plan_spec(step("s1")), demands=Demands(read=True))
    store.opened(plan_id, 1, "CAROL")
    with pytest.raises(NotAllowed, match="open Details first"):
        approve(store, plan_id)
    store.opened(plan_id, 1, "BOB")

    assert approve(store, plan_id)


def test_a_demand_that_nobody_makes_leaves_no_trace():
    assert "read" not in Demands().model_dump_json()
    assert terms(1)
