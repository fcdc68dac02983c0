"""Previews: what people see before they approve is what happens, or they are asked again."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from bot.cards.card import card
from storage.contract.states import PlanState
from storage.errors import Conflict
from tests.support.fakes import (
    NOW,
    approve,
    permitted,
    plan_spec,
    show_previews,
    states,
    step,
    terms,
    verbs,
    work,
)
from tests.support.store import Store
from workers.base import Context, Params, Permanent, Preview, Report, Worker, action
from workers.engine.attempt import Attempts
from workers.engine.turn import Crew, take_turn
from workers.registry import Registry


class Empty(Params):
    """Nothing to say."""


class Data(BaseModel):
    """Nothing to tell."""


class Cluster(Worker):
    """A cluster in which somebody else may be at work."""

    name = "ops"
    image = "v1"
    deployed = 0
    broken = ""

    @action(changes=True, repeat="safe", target="service:a", says="*Deploy* [{was} → ]*v2*")
    def deploy(self, params: Empty, ctx: Context) -> Report[Data]:
        self.deployed += 1
        ctx.progress("1/2 ready")
        return Report.ok("deployed", Data())

    @deploy.preview
    def would(self, params: Empty, ctx: Context) -> Preview:
        if self.broken:
            raise Permanent(self.broken)
        text, found = f"image {self.image} → v2", ("1 pod changes",)
        return Preview(text, {"image": self.image}, found, self.image)


@pytest.fixture
def attempts(store: Store, tmp_path: Path) -> Attempts:
    registry = Registry([Cluster({})])
    store.publish(registry.contracts())
    return Attempts(store, registry, "w1", tmp_path)


def worker(attempts: Attempts) -> Any:
    return attempts.registry.action("ops", "deploy")[0]


def proposed(attempts: Attempts, needed: int = 1) -> int:
    store = attempts.store
    plan_id = store.request("deploy", team="T1", user="ANN", channel="C1")
    made = step("s1", attempts.registry.contract("ops", "deploy"), parameters={})
    store.propose(plan_id, plan_spec(made), terms(needed), author="planner")
    return plan_id


def previewed(attempts: Attempts) -> int:
    plan_id = proposed(attempts)
    show_previews(attempts)
    return plan_id


def shown(store: Store, plan_id: int) -> str:
    return str(card(store.view(plan_id), NOW)[1])


def test_nobody_approves_what_they_have_not_seen(attempts):
    plan_id = proposed(attempts)

    assert "*Checking* what it would do" in shown(attempts.store, plan_id)
    assert "'approve'" not in shown(attempts.store, plan_id)
    with pytest.raises(Conflict, match="not on the card yet"):
        approve(attempts.store, plan_id)


def test_a_preview_stands_on_the_card_and_is_part_of_what_was_approved(attempts):
    plan_id = previewed(attempts)

    assert "*Checked:* 1 pod changes" in shown(attempts.store, plan_id)
    assert "v1 → *v2*" in shown(attempts.store, plan_id)
    assert "'approve'" in shown(attempts.store, plan_id)
    assert approve(attempts.store, plan_id)
    assert "preview" in verbs(attempts.store, plan_id)


def test_a_preview_that_fails_says_so_and_people_decide(attempts):
    worker(attempts).broken = "the cluster does not answer"
    plan_id = previewed(attempts)

    assert "*not checked: the cluster does not answer*" in shown(attempts.store, plan_id)
    assert approve(attempts.store, plan_id)


def test_what_was_shown_happens(attempts):
    plan_id = previewed(attempts)
    approve(attempts.store, plan_id)
    work(attempts)

    assert attempts.store.view(plan_id).outcome == "succeeded"


def test_when_the_cluster_has_moved_people_are_asked_again_and_nothing_is_done(attempts):
    plan_id = previewed(attempts)
    approve(attempts.store, plan_id)
    worker(attempts).image = "v1.5"
    work(attempts)

    view = attempts.store.view(plan_id)
    assert (view.state, worker(attempts).deployed) == (PlanState.stalled, 0)
    assert "image v1.5 → v2" in view.step("s1").report.summary

    attempts.store.answer(plan_id, "s1", "retry", user="BOB")
    work(attempts)

    assert (attempts.store.view(plan_id).outcome, worker(attempts).deployed) == ("succeeded", 1)


def test_a_second_move_asks_a_second_time(attempts):
    plan_id = previewed(attempts)
    approve(attempts.store, plan_id)
    for image in ("v1.5", "v1.6"):
        worker(attempts).image = image
        work(attempts)
        attempts.store.answer(plan_id, "s1", "retry", user="BOB")

    assert (worker(attempts).deployed, states(attempts.store, plan_id)) == (0, {"s1": "pending"})


def test_a_plan_that_needs_no_approval_waits_for_no_preview(attempts):
    plan_id = proposed(attempts, needed=0)
    permitted(attempts.store, plan_id)
    work(attempts)

    assert attempts.store.view(plan_id).outcome == "succeeded"


def test_how_far_a_step_is_stands_on_the_card(attempts):
    plan_id = previewed(attempts)
    approve(attempts.store, plan_id)
    (running,) = take_turn(attempts, Crew(2), alone=False)
    attempts.run(running)

    assert "1/2 ready" in shown(attempts.store, plan_id)


def test_what_an_earlier_step_of_the_plan_moves_is_no_surprise(attempts):
    contract = attempts.registry.contract("ops", "deploy")
    plan_id = attempts.store.request("deploy twice", team="T1", user="ANN", channel="C1")
    steps = (step("s1", contract, parameters={}), step("s2", contract, parameters={}, depends_on=("s1",)))
    attempts.store.propose(plan_id, plan_spec(*steps), terms(), author="planner")
    show_previews(attempts)
    approve(attempts.store, plan_id)
    work(attempts)
    worker(attempts).image = "v2"
    work(attempts)

    assert attempts.store.view(plan_id).outcome == "succeeded"
