"""Planning reads: what may be looked at before there is a plan, by whom, and what is never asked for."""

from dataclasses import replace
from typing import Any

import pytest

from bot.plans.thought.looking import PER_PLAN, judged, look, notes
from storage.config import PolicyConfig
from storage.contract.spec import StepSpec
from storage.plans.planning_reads import PATIENCE
from tests.support.fakes import TEAM, real_contracts, verbs
from tests.support.room import Room

STATUS = {"service": "auth-service", "environment": "production"}


@pytest.fixture
def room(lite: Any) -> Room:
    lite.publish(real_contracts())
    return Room(lite)


def wish(room: Room, text: str = "add 2 replicas to auth-service") -> Any:
    return room.store.view(room.store.request(text, team=TEAM, user="ANN", channel="C1"))


def call(worker: str, action: str, **parameters: Any) -> StepSpec:
    return StepSpec(id="look", worker=worker, action=action, parameters=parameters)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (call("k8s-deployer", "rollout_status", **STATUS), ""),
        (call("db-backup", "list_backups", database="auth_prod"), ""),
        (call("http-check", "check_http", endpoint="auth-prod"), ""),
        (call("http-check", "check_http", endpoint="auth-prod", path="/?q=secret"), "path is neither"),
        (call("http-check", "check_http", endpoint="auth-prod", contains="token"), "contains is neither"),
        (call("k8s-deployer", "rollout_status", **STATUS | {"environment": "eve"}), "environment is neither"),
        (call("k8s-deployer", "rollout_status", service="payroll"), "not in the inventory"),
        (call("k8s-deployer", "restart", **STATUS), "not for looking"),
        (call("data-retrieval", "fetch", source="metrics", path="/errors"), "not for looking"),
        (call("command", "read_command", command="disk-usage"), "not for looking"),
        (call("ops", "anything"), "not for looking"),
    ],
)  # fmt: skip
def test_only_marked_reads_with_names_of_the_inventory_may_be_made(room, step, why):
    _, said = judged(room.bot, wish(room), step)

    assert (said == "") if not why else (why in said)


@pytest.mark.parametrize(
    "rule",
    [
        {"name": "ask", "when": {"action": "rollout_status"}, "require": {"approvals": 1}},
        {"name": "no", "when": {"requester": "ANN"}, "deny": True},
    ],
)
def test_only_what_policy_lets_this_requester_run_unasked(room, rule):
    policy = PolicyConfig.model_validate({"rules": [rule | {"reason": "because"}]})
    bot = replace(room.bot, config=room.config.model_copy(update={"policy": policy}))
    _, said = judged(bot, wish(room), call("k8s-deployer", "rollout_status", **STATUS))

    assert "unasked" in said


def test_nothing_is_looked_at_where_everything_is_stopped(room):
    room.store.stop("everything", reason="fire", user="CAROL")

    assert (
        judged(room.bot, wish(room), call("k8s-deployer", "rollout_status", **STATUS))[1] == "it is stopped"
    )


def test_a_wish_waits_for_what_is_looked_at_and_no_longer(room, clock):
    view = wish(room)
    assert look(room.bot, view, [call("k8s-deployer", "rollout_status", **STATUS)])
    assert room.store.to_plan() == []

    clock.now += PATIENCE
    room.store.give_up_looking()

    assert room.store.to_plan() == [view.id]
    (found,) = room.store.looked(view.id)
    assert (found.state, found.summary) == ("failed", "no worker has answered in time")


def test_what_was_found_is_on_record_and_on_the_card(room):
    view = wish(room)
    look(room.bot, view, [call("k8s-deployer", "rollout_status", **STATUS)])
    (asked,) = room.store.inquiries({("k8s-deployer", "rollout_status")})
    room.store.report_back(asked, "auth-service v2.1.3, 2 of 2 ready", {"replicas": 2}, actor="w1")
    room.store.report_back(asked, "something else", {"replicas": 9}, actor="w1")

    assert notes(room.bot, view) == (
        "I looked (Look at auth-service on production): auth-service v2.1.3, 2 of 2 ready",
    )
    assert verbs(room.store, view.id) == ["request", "inquire", "found"]
    assert room.store.to_plan() == [view.id]


def test_the_same_is_not_looked_at_twice_and_there_is_an_end(room):
    view = wish(room)
    status = call("k8s-deployer", "rollout_status", **STATUS)
    assert look(room.bot, view, [status, status])
    assert len(room.store.looked(view.id)) == 1
    assert not look(room.bot, view, [status])

    bad = [call("k8s-deployer", f"no-{n}") for n in range(PER_PLAN)]
    assert look(room.bot, view, bad)
    assert len(room.store.looked(view.id)) == PER_PLAN
    assert not look(room.bot, view, [call("db-backup", "list_backups", database="auth_prod")])


def test_what_may_not_be_looked_at_is_told_to_the_planner_and_to_no_worker(room):
    view = wish(room)
    look(room.bot, view, [call("http-check", "check_http", endpoint="auth-prod", path="/?q=secret")])

    assert room.store.inquiries({("http-check", "check_http")}) == []
    (found,) = room.store.looked(view.id)
    assert found.state == "failed"
