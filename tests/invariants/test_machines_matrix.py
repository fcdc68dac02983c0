"""Machines by every verb by every state: they ask, look at their own and cancel it, and nothing else."""

from dataclasses import replace

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.machines.asking import cancel, status
from bot.machines.principal import Machine
from bot.policy.authorize import ROLES, Allowed, authorize
from storage.database.tables import Plan
from storage.errors import SignoffError
from tests.proof.parts.matrix import CONFIG, STATES, TAKES
from tests.proof.parts.matrix_stage import Stage
from tests.support.store import Store

pytestmark = [pytest.mark.machines, pytest.mark.authorize]
# Whoever is behind it: nobody's rights become the machine's, be they approver, admin, glass breaker, author.
OWNERS = ("UANN", "UBOB", "UABE", "UADA", "UOLGA", "UEVE", "UEDITOR", "UGRETA")


def owned(stage: Stage, plan_id: int, machine: str) -> None:
    with stage.store.write() as t:
        t.execute(update(Plan).where(col(Plan.id) == plan_id).values(machine=machine))


@pytest.mark.parametrize("state", STATES)
def test_a_machine_decides_nothing_in_any_state(lite: Store, state: str) -> None:
    stage = Stage(lite)
    plan_id, wrong, tried = stage.plan(state), [], 0
    for machine in ("token:ci", "hook:alerts", ""):
        owned(stage, plan_id, machine)
        view = lite.view(plan_id)
        for owner in OWNERS:
            for asking in ("token:ci", "hook:alerts"):
                actor = replace(stage.bot.machine(asking, owner), machine=asking)
                for verb in ROLES:
                    tried += 1
                    may = verb == "request" or (machine == asking and verb in {"look", "cancel"})
                    if (authorize(actor, verb, view, CONFIG) == Allowed()) is not may:
                        wrong.append((state, machine, owner, asking, verb))

    assert wrong == []
    assert tried == 3 * len(OWNERS) * 2 * len(ROLES)


@pytest.mark.parametrize("state", STATES)
def test_its_doors_look_and_cancel_only_its_own(lite: Store, state: str) -> None:
    stage = Stage(lite)
    plan_id = stage.plan(state)
    machine = Machine("token:ci", "T1", "UBOB", ("C1",), ("propose", "look", "cancel"))
    for act in (
        lambda: status(stage.bot, machine, plan_id),
        lambda: cancel(stage.bot, machine, plan_id, "", "api"),
    ):
        before = lite.view(plan_id).state
        with pytest.raises(SignoffError, match="There is no plan"):
            act()
        assert lite.view(plan_id).state == before
    owned(stage, plan_id, "token:ci")
    assert status(stage.bot, machine, plan_id).plan == plan_id
    before = lite.view(plan_id).state
    try:
        cancel(stage.bot, machine, plan_id, "x", "api")
    except SignoffError:
        assert state == "unknown"
    ended = lite.view(plan_id)
    assert (ended.state == "cancelled" or bool(ended.cancelled_by)) is (
        state in TAKES["cancel"] or before == "cancelled"
    )
