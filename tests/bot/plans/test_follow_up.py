"""Wishes that lean on what was before, planned without a model: by a look, or from an earlier plan."""

from typing import Any

import pytest

from storage.contract.report import AnyReport
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import PlanState
from tests.support.fakes import TEAM, messages, permitted, real_contracts, step_row, taker, terms
from tests.support.room import Room, think


@pytest.fixture
def room(lite: Any) -> Room:
    lite.publish(real_contracts())
    return Room(lite)


def asked(room: Room, text: str, channel: str = "C1") -> int:
    plan_id = room.store.request(text, team=TEAM, user="ANN", channel=channel)
    think(room.bot)
    return plan_id


def found(room: Room, data: dict[str, Any] | None) -> None:
    """A worker has looked."""
    (asked_,) = room.store.inquiries({("k8s-deployer", "rollout_status")})
    room.store.report_back(asked_, "auth-service stands so", data, actor="w1", failed=data is None)
    think(room.bot)


def deployed(room: Room, version: str = "v2.1.4", was: str = "v2.1.3", channel: str = "C1") -> int:
    """A plan that has put a version there."""
    contract = next(c for c in real_contracts() if c.action == "deploy_service")
    given = {"service": "auth-service", "version": version, "environment": "production"}
    step = StepSpec(
        id="deploy", worker=contract.worker, action=contract.action, parameters=given,
        contract=contract.hash(), binding=contract.binding(given),
    )  # fmt: skip
    spec = PlanSpec(goal=f"Deploy auth-service {version}", steps=(step,))
    plan_id = room.store.request(f"deploy auth-service {version}", team=TEAM, user="ANN", channel=channel)
    room.store.propose(plan_id, spec, terms(0), author="planner")
    permitted(room.store, plan_id)
    claim = room.store.claim(step_row(room.store, plan_id, "deploy").id, taker(contract))
    assert claim
    room.store.start(claim, {"version": was})
    room.store.succeed(claim, AnyReport.ok("done", {}), actor="w1")
    return plan_id


def calls(room: Room, plan_id: int) -> list[tuple[str, Any]]:
    spec = room.store.view(plan_id).spec
    return [(s.action, dict(s.parameters)) for s in spec.steps] if spec else []


def test_two_more_replicas_are_counted_from_what_runs(room):
    plan_id = asked(room, "add 2 replicas to auth-service")
    assert room.store.view(plan_id).state == PlanState.planning, "it waits for a look"
    found(room, {"replicas": 3, "version": "v2.1.3"})

    assert calls(room, plan_id) == [
        ("scale", {"service": "auth-service", "environment": "production", "replicas": 5})
    ]
    notes = room.store.view(plan_id).notes
    assert notes[0].startswith("I looked (Look at auth-service on production)")
    assert "3 run now, so “scale auth-service to 5 replicas in production”." in notes


def test_where_nobody_can_look_the_number_is_asked_for(room):
    plan_id = asked(room, "add 2 replicas to auth-service")
    found(room, None)

    assert room.store.view(plan_id).state == PlanState.cancelled
    assert "Please say how many it shall be" in messages(room.store, "whisper")[0].text


def test_the_last_deploy_is_taken_back_if_it_is_what_runs(room):
    deployed(room)
    plan_id = asked(room, "undo the last deploy")
    found(room, {"version": "v2.1.4", "replicas": 2})

    [(action, given)] = calls(room, plan_id)
    assert (action, given["version"]) == ("deploy_service", "v2.1.3")


def test_what_somebody_has_changed_since_is_not_taken_back_blindly(room):
    deployed(room)
    plan_id = asked(room, "undo the last deploy")
    found(room, {"version": "v2.1.9", "replicas": 2})

    assert room.store.view(plan_id).state == PlanState.cancelled
    assert "v2.1.9 runs now" in messages(room.store, "whisper")[0].text


def test_a_deploy_in_a_private_channel_is_not_told_of_elsewhere(room):
    deployed(room, channel="G1")
    asked(room, "undo the last deploy")

    assert "I see no deployment here" in messages(room.store, "whisper")[0].text


def test_again_is_the_last_plan_here(room):
    deployed(room)
    plan_id = asked(room, "again")

    assert calls(room, plan_id) == [
        ("deploy_service", calls(room, plan_id)[0][1] | {"version": "v2.1.4", "service": "auth-service"})
    ]
    assert room.store.view(plan_id).needed == 1, "and people approve it anew"


def test_without_an_earlier_plan_it_says_so(room):
    asked(room, "now the same for auth-service")

    assert "there is no earlier plan here" in messages(room.store, "whisper")[0].text
