"""The way back: of what was on record, the last first, and never twice."""

from typing import Any

import pytest

from bot.planner.edits.way_back import inverse, way_back
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import StepView
from tests.support.fakes import READ, contract, plan_spec, step, undo
from tests.support.samples.cards import plan_view

VERSIONED = {"service": {"type": "string"}, "version": {"type": "string"}, "to_version": {"type": "string"}}
SHAPE = {"type": "object", "properties": VERSIONED, "additionalProperties": False}
SHIP, BACK = contract("ship", parameters=SHAPE), contract("back", repeat="safe", parameters=SHAPE)
SHIPPED = {"service": "a", "version": "v2"}


def shipped(was: dict[str, Any], **fields: Any) -> StepView:
    state = {"state": StepState.succeeded, "changes": True, "previous": was}
    return StepView(step("go", SHIP, parameters=SHIPPED), **state | fields)


def spec(**fields: Any) -> Any:
    to = {"service": "a", "to_version": "previous"}
    made = fields.pop("rollback", (undo("u", "go", BACK, parameters=to),))
    return plan_spec(step("go", SHIP, parameters=SHIPPED), rollback=made, **fields)


@pytest.mark.parametrize(
    ("rollback", "was", "expected"),
    [
        (True, {"version": "v1", "image": "x:v1"}, ("back", {"service": "a", "to_version": "v1"})),
        (False, {"version": "v1"}, ("ship", {"service": "a", "version": "v1"})),
        (True, {"version": "v1", "service": "b"}, ("ship", {"service": "b", "version": "v1"})),
        (True, {"version": None}, None),
        (True, {}, None),
        (False, {"version": "v2"}, None),
    ],
    ids=["undo", "no undo entry", "undo says too little", "nothing before", "no record", "was the same"],
)
def test_the_way_back_is_what_was_on_record(rollback, was, expected):
    plan = spec() if rollback else spec(rollback=())
    found = inverse(plan, shipped(was))

    assert (found and (found.action, found.parameters)) == expected


def test_the_last_is_taken_back_first_and_reads_are_not():
    steps = [
        StepView(step("look", READ), state=StepState.succeeded),
        shipped({"version": "v1"}),
        StepView(step("two", SHIP, parameters=SHIPPED), state=StepState.succeeded, changes=True,
                 previous={"version": "v0"}),
        StepView(step("bad", SHIP, parameters=SHIPPED), state=StepState.failed, changes=True,
                 previous={"version": "v1"}),
    ]  # fmt: skip
    found = way_back(plan_view(*steps, state=PlanState.done))

    assert [(s.id, s.parameters["version"], s.depends_on) for s in found.steps] == [
        ("two", "v0", ()),
        ("go", "v1", ("two",)),
    ]


def test_what_was_rolled_back_is_not_rolled_back_twice():
    steps = [shipped({"version": "v1"}), StepView(undo("u", "go"), undo=True)]

    assert way_back(plan_view(*steps, state=PlanState.done)) is None
