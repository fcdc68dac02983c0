"""What a person leaves out of a plan: the card says what its changes do without, and what is left of it."""

from typing import Any

from bot.cards.card import card
from bot.context import Bot
from bot.planner.edits.changes import placed, timed, without
from bot.planner.validate import Catalogue
from bot.plans.amend import amend
from bot.policy.authorize import terms
from storage.config import SignoffConfig
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState
from tests.support.fakes import (
    BACKUP,
    DEPLOY,
    READ,
    Everybody,
    ask,
    messages,
    plan_spec,
    states,
    step,
    succeed,
)
from tests.support.store import Store

STEPS = (
    step("test", READ),
    step("save", BACKUP, depends_on=("test",)),
    step("ship", DEPLOY, depends_on=("save",)),
    step("look", READ, parameters={"service": "b"}, depends_on=("ship",)),
)
LOST = "left out: back up a; deploy a relied on it"


def proposed(store: Store, *, policy: Any = None) -> tuple[Bot, int]:
    given = {"people": {"approvers": ["BOB", "CAROL"]}} | ({"policy": policy} if policy else {})
    config, plan_id, spec = SignoffConfig.model_validate(given), ask(store), plan_spec(*STEPS)
    found = terms(spec, Catalogue(store.contracts()), config, authors=("ANN",), now=store.clock())
    store.propose(plan_id, spec, found, author="planner")
    return Bot(store, config, Everybody(), lambda trigger, view: None), plan_id


def edit(bot: Bot, plan_id: int, new: PlanSpec) -> None:
    view = bot.store.view(plan_id)
    amend(bot, "ANN", view, view.spec, new)


def left_out(bot: Bot, plan_id: int, *keys: str) -> None:
    """One edit that leaves these out."""
    spec = bot.store.view(plan_id).spec
    for key in keys:
        spec = without(spec, key)
    edit(bot, plan_id, spec)


def drawn(store: Store, plan_id: int) -> str:
    return str(card(store.view(plan_id), store.clock())[1])


def test_without_the_backup_the_card_says_what_is_lost(lite):
    bot, plan_id = proposed(lite)
    left_out(bot, plan_id, "save")

    assert lite.view(plan_id).lost == (LOST,)
    assert "*Left out: back up a; deploy a relied on it*" in drawn(lite, plan_id)


def test_it_goes_on_saying_so_in_later_revisions_until_it_is_back(lite):
    bot, plan_id = proposed(lite)
    whole = lite.view(plan_id).spec
    left_out(bot, plan_id, "save")
    edit(bot, plan_id, timed(lite.view(plan_id).spec, ["test"], "in 2 hours"))

    assert "*Left out: back up a; deploy a relied on it*" in drawn(lite, plan_id)
    edit(bot, plan_id, whole)
    assert lite.view(plan_id).lost == ()


def test_a_backup_that_is_made_afterwards_is_lost_as_well(lite):
    bot, plan_id = proposed(lite)
    edit(bot, plan_id, placed(lite.view(plan_id).spec, ["test", "ship", "save", "look"]))

    assert lite.view(plan_id).lost == (LOST,)


def test_what_nothing_relied_on_is_no_loss(lite):
    bot, plan_id = proposed(lite)
    left_out(bot, plan_id, "look")

    assert lite.view(plan_id).lost == ()


def test_where_every_change_was_left_out_the_plan_says_so_and_starts(lite):
    bot, plan_id = proposed(lite)
    left_out(bot, plan_id, "save", "ship")

    view = lite.view(plan_id)
    assert view.spec.goal == "Deploy a: only what changes nothing"
    assert (view.state, view.needed, view.approved_by, view.lost) == (PlanState.approved, 0, (), ())
    shown = drawn(lite, plan_id)
    assert "*Every change was left out*: it changes nothing." in shown
    assert "no approval needed" in shown
    assert "'approve'" not in shown
    assert states(lite, plan_id) == {"test": "pending", "look": "pending"}
    succeed(lite, plan_id, "test")
    succeed(lite, plan_id, "look")
    assert lite.view(plan_id).outcome == "succeeded"
    assert [said.kind for said in messages(lite, "summary")] == ["summary"]


def test_where_a_rule_asks_for_somebody_all_the_same_it_waits_and_a_change_takes_the_words_back(lite):
    reads = {"name": "reads", "reason": "we look twice", "require": {"approvals": 1}}
    bot, plan_id = proposed(lite, policy={"rules": [reads]})
    whole = lite.view(plan_id).spec
    left_out(bot, plan_id, "save", "ship")
    assert lite.view(plan_id).state == PlanState.proposed
    left_out(bot, plan_id, "look")
    assert lite.view(plan_id).spec.goal == "Deploy a: only what changes nothing"

    edit(bot, plan_id, whole.model_copy(update={"goal": lite.view(plan_id).spec.goal}))

    assert lite.view(plan_id).spec.goal == "Deploy a"
