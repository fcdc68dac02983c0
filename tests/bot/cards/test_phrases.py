"""The words of a card: how a plan stands, how long, when, and what an edit changed."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.cards.phrases import cost, differences, lasting, standing, timing
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import StepView
from tests.support.fakes import NOW, plan_spec, step, undo
from tests.support.samples.cards import plan_view

NEXT = StepView(step("s2"))
LATER = StepView(step("s3", depends_on=("s2",)), not_before=NOW + timedelta(hours=1))


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((StepView(step("s1")),), "approved"),
        ((StepView(step("s1")), StepView(step("s2"), state=StepState.running)), "running step 2 of 2"),
        ((StepView(step("s1"), state=StepState.unknown),), "needs an answer"),
        ((StepView(step("s1"), state=StepState.unknown, probing=True),), "finding out what happened"),
        ((StepView(step("s1"), state=StepState.running, undo=True),), "rolling back"),
        (
            (StepView(step("s1"), not_before=NOW + timedelta(hours=1)),),
            "waits until Mon 16 Nov 00:00 UTC",
        ),
        ((StepView(step("s1"), state=StepState.succeeded, attempt=1), NEXT, LATER), "under way"),
        ((NEXT, LATER), "approved"),
        ((StepView(step("s1")), replace(NEXT, held_by=7), LATER), "approved"),
        ((replace(NEXT, state=StepState.succeeded, attempt=1), LATER), "waits until Mon 16 Nov 00:00 UTC"),
    ],
)
def test_an_approved_plan_says_what_it_is_doing(steps, words):
    assert standing(plan_view(*steps, state=PlanState.approved), NOW) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0 s"), (9.96, "10 s"), (42, "42 s"), (60, "1 min"), (61, "1 min 1 s"), (3600, "1 h"),
     (5400, "1 h 30 min")],
)  # fmt: skip
def test_a_duration_is_said_as_people_say_it(seconds, words):
    assert lasting(seconds) == words


def test_a_time_is_said_with_its_end():
    found = step("s1", schedule={"not_before": NOW, "not_after": NOW + timedelta(hours=2)})

    assert timing(found) == "Sun 15 Nov 23:00 UTC, until Mon 16 Nov 01:00 UTC"


def test_a_step_without_a_time_says_what_it_waits_for():
    assert timing(step("s2", depends_on=("s0", "s1"))) == "after s0, s1"
    assert timing(step("s1")) == "on approval"


def changed(**fields: Any) -> list[str]:
    spec = plan_spec(step("s1"), step("s2"))
    first = type(spec.steps[0]).model_validate(spec.steps[0].model_dump() | fields)
    return differences(spec, spec.model_copy(update={"steps": (first, spec.steps[1])}))


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"parameters": {"service": "b"}}, "s1: service a → b"),
        ({"parameters": {}}, "s1: service a → None"),
        ({"schedule": {"not_before": NOW}}, "s1: at once → Sun 15 Nov 23:00 UTC"),
        ({"failure_action": "abort"}, "s1: if it fails: asks a person → nothing else runs"),
        ({"depends_on": ["s2"]}, "s1: waits for s2"),
        ({"retries": {"attempts": 1}}, "s1: how often it is tried changed"),
        ({"success_criteria": ["x"]}, "s1: what counts as success changed"),
        ({"worker": "x"}, "s1: who does it changed"),
        ({"action": "x"}, "s1: what is done changed"),
        ({"id": "s9"}, "s1: removed"),
    ],
)
def test_a_difference_is_said(fields, line):
    assert line in changed(**fields)


def test_added_removed_and_reordered_steps_are_said():
    one, two, three = (step(f"s{number}") for number in (1, 2, 3))

    assert differences(plan_spec(one, two), plan_spec(two, one)) == ["the order of the steps changed"]
    assert differences(plan_spec(one, two), plan_spec(two, three)) == [
        "s1: removed",
        "s3: added (ops: check, service: a)",
    ]


@pytest.mark.parametrize(
    "new",
    [
        plan_spec(step("s1"), rollback=(undo("u", "s1"),)),
        plan_spec(step("s1"), continues=True),
        plan_spec(step("s1"), mandate={"max_added_steps": 50}),
        plan_spec(step("s1"), done_when=({"field": "s1.failed", "op": "eq", "value": 0},)),
        plan_spec(step("s1", contract="other")),
        plan_spec(step("s1", binding="other")),
        plan_spec(step("s1", schedule={"not_after": NOW})),
    ],
    ids=["rollback", "continues", "mandate", "done_when", "contract", "binding", "not_after"],
)
def test_every_change_of_the_digest_is_said(new):
    old = plan_spec(step("s1"))

    assert new.digest() != old.digest()
    assert any("at once → at once" not in line for line in differences(old, new))


def test_the_card_can_say_what_thinking_cost():
    assert (cost(0), cost(0.004), cost(0.0831)) == (
        "", "thinking cost less than 0.01 USD", "thinking cost 0.08 USD",
    )  # fmt: skip
