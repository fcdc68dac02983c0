"""A checkpoint inside a plan: nothing after it starts until somebody who may approve says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.cards.thread import message
from bot.context import Bot
from bot.inbox.clicks import on_click
from storage.config import People as ConfigPeople
from storage.contract.states import PlanState
from storage.errors import Conflict, NotAllowed
from tests.support.fakes import (
    NOW,
    Everybody,
    approve,
    demo_config,
    messages,
    plan_spec,
    states,
    step,
    terms,
    work,
)
from tests.support.store import Store
from workers.builtin.control.approval_gate import ApprovalGate
from workers.builtin.http.wait import Wait
from workers.engine.attempt import Attempts
from workers.registry import Registry

QUESTION = "Does the canary look well?"


@pytest.fixture
def attempts(lite: Store, tmp_path: Path) -> Attempts:
    registry = Registry([ApprovalGate({}), Wait({})])
    lite.publish(registry.contracts())
    return Attempts(lite, registry, "w1", tmp_path)


def stopped(attempts: Attempts) -> int:
    """A plan that has come to its checkpoint."""
    gate, wait = (attempts.registry.contract(*o) for o in (("approval-gate", "confirm"), ("wait", "seconds")))
    steps = (
        step("gate", gate, parameters={"question": QUESTION}),
        step("after", wait, parameters={"seconds": 1}, depends_on=("gate",)),
    )
    plan_id = attempts.store.request("go on later", team="T1", user="ANN", channel="C1")
    attempts.store.propose(plan_id, plan_spec(*steps), terms(), author="planner")
    approve(attempts.store, plan_id)
    work(attempts)
    return plan_id


def says(store: Store, plan_id: int, user: str, choice: str) -> None:
    config = demo_config().model_copy(update={"people": ConfigPeople(approvers=("BOB", "CAROL"))})
    bot = Bot(store, config, Everybody(), lambda trigger, view: None)
    value = json.dumps({"p": plan_id, "r": 1, "d": "x", "s": "gate"})
    on_click(bot, {"action": f"answer_{choice}", "user": user, "channel": "C1", "value": value})


def asked(store: Store, plan_id: int) -> tuple[str, str]:
    (found,) = messages(store, "outcome")
    text, blocks = message("outcome", store.view(plan_id), store.event(plan_id, found.seq), NOW)
    return text, str(blocks)


def test_the_plan_waits_and_the_thread_asks_the_question(attempts: Attempts) -> None:
    plan_id = stopped(attempts)
    text, blocks = asked(attempts.store, plan_id)

    assert attempts.store.view(plan_id).state == PlanState.stalled
    assert states(attempts.store, plan_id) == {"gate": "failed", "after": "pending"}
    assert QUESTION in text
    assert "failed" not in text
    assert "answer_confirm" in blocks
    assert "answer_retry" not in blocks


def test_it_goes_on_when_somebody_who_may_approve_says_so(attempts: Attempts) -> None:
    plan_id = stopped(attempts)
    with pytest.raises(NotAllowed):
        says(attempts.store, plan_id, "ANN", "confirm")
    says(attempts.store, plan_id, "BOB", "confirm")
    found: Any = attempts.store.view(plan_id).step("gate").report

    assert states(attempts.store, plan_id) == {"gate": "succeeded", "after": "pending"}
    assert found.summary == "confirmed"


def test_a_no_to_one_of_two_questions_leaves_out_only_what_waits_for_it(attempts: Attempts) -> None:
    gate, asked = attempts.registry.contract("approval-gate", "confirm"), {"question": QUESTION}
    steps = [step(key, gate, parameters=asked) for key in ("gate", "other")]
    steps += [step(f"after-{key}", gate, parameters=asked, depends_on=(key,)) for key in ("gate", "other")]
    plan_id = attempts.store.request("two questions", team="T1", user="ANN", channel="C1")
    attempts.store.propose(plan_id, plan_spec(*steps), terms(), author="planner")
    approve(attempts.store, plan_id)
    work(attempts)
    assert attempts.store.view(plan_id).step("gate").choices == ("confirm", "decline", "abort")

    says(attempts.store, plan_id, "ANN", "decline")
    assert attempts.store.view(plan_id).step("gate").choices == ()
    attempts.store.answer(plan_id, "other", "confirm", user="BOB")
    work(attempts)
    found = states(attempts.store, plan_id)
    assert (found["after-gate"], found["after-other"]) == ("skipped", "failed")  # it asks in its turn

    attempts.store.answer(plan_id, "after-other", "confirm", user="BOB")
    assert attempts.store.view(plan_id).outcome == "incomplete"


def test_a_no_where_nothing_is_left_is_the_end(attempts: Attempts) -> None:
    plan_id = stopped(attempts)
    assert attempts.store.view(plan_id).step("gate").choices == ("confirm", "abort")


def test_it_ends_when_somebody_says_no(attempts: Attempts) -> None:
    plan_id = stopped(attempts)
    says(attempts.store, plan_id, "ANN", "abort")

    assert attempts.store.view(plan_id).outcome == "failed"
    assert states(attempts.store, plan_id)["after"] == "skipped"


def test_a_failure_cannot_be_confirmed_away(attempts: Attempts) -> None:
    plan_id = stopped(attempts)
    with attempts.store.write() as t:
        t.connection.exec_driver_sql("UPDATE step SET report = NULL")

    with pytest.raises(Conflict, match="not an answer"):
        attempts.store.answer(plan_id, "gate", "confirm", user="BOB")
