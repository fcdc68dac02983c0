"""Who could not read a plan's channel does not see the plan, unless they have a part in it."""

from dataclasses import replace

import pytest

from bot.policy.authorize import Actor
from bot.policy.visibility import visible
from storage.config import SignoffConfig
from storage.contract.demands import Demands
from storage.contract.states import PlanState
from tests.support.fakes import TEAM
from tests.support.samples.cards import plan_view

CONFIG = SignoffConfig.model_validate({"people": {"approvers": ["BOB", "SAPP"], "admins": ["ADA"]}})
PLAN = replace(
    plan_view(), team=TEAM, requester="ANN", authors=("ANN", "EDITH"), channel="G1", approved_by=(),
    approvers=("BOB", "SAPP"), needed=1, demands=Demands(), state=PlanState.proposed,
)  # fmt: skip


def sees(user: str, *, reads: bool = False, plan=PLAN, **more) -> bool:
    return visible(Actor(TEAM, user, **more), plan, CONFIG, lambda channel: reads)


def test_whoever_could_read_the_channel_sees_the_plan_and_nobody_else():
    assert sees("EVE", reads=True)
    assert not sees("EVE")
    assert not sees("ADA")  # to stop everything takes no look at it


@pytest.mark.parametrize("user", ["ANN", "EDITH", "BOB"])
def test_who_asked_who_changed_it_and_whom_it_asks_see_it_wherever_it_was_asked_for(user):
    assert sees(user)
    assert sees("GRETA", groups=frozenset({"SAPP"}))


def test_approvers_whom_a_plan_does_not_ask_do_not_see_it():
    asks_nobody = replace(PLAN, needed=0, state=PlanState.approved)

    assert not sees("BOB", plan=asks_nobody)
    assert sees("BOB", plan=replace(asks_nobody, state=PlanState.stalled))  # now it asks them
    assert sees("BOB", plan=replace(asks_nobody, approved_by=("BOB",)))


def test_who_is_an_approver_no_more_does_not_see_it():
    assert not sees("OLD", plan=replace(PLAN, approvers=("OLD",)))


def test_who_is_barred_or_of_another_workspace_sees_nothing():
    assert not sees("ANN", reads=True, barred="Guests may not.")
    assert not visible(Actor("T2", "ANN"), PLAN, CONFIG, lambda channel: True)


def test_the_operator_on_the_server_sees_all():
    assert visible(Actor("", "terminal:root", terminal=True), PLAN, CONFIG, lambda channel: False)


def test_slack_is_not_asked_about_a_channel_where_nothing_hangs_on_it():
    def asked(channel: str) -> bool:
        raise AssertionError("Slack was asked")

    assert visible(Actor(TEAM, "ANN"), PLAN, CONFIG, asked)
    assert not visible(Actor(TEAM, "ANN", "barred"), PLAN, CONFIG, asked)
