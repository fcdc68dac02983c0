"""The circuit breaker: failures that pile up hold further changes, and everybody hears why."""

from typing import Any

from bot.cards.card import card
from bot.context import Bot
from bot.turns.circuit_breaker import guard
from storage.config import SignoffConfig
from tests.support.fakes import (
    CONTRACTS,
    DEPLOY,
    Everybody,
    approved,
    bad,
    claim,
    due,
    fail,
    messages,
    step,
    take,
    undo,
)
from tests.support.store import Store


def bot(store: Store, **policy: Any) -> Bot:
    config = SignoffConfig.model_validate(
        {"people": {"approvers": ["BOB", "CAROL"], "admins": ["CAROL"]}, "policy": policy}
    )
    return Bot(store, config, Everybody(), lambda trigger, view: None, [])


def failed(store: Store, count: int, **fields: Any) -> list[int]:
    plans = []
    for _ in range(count):
        plans.append(approved(store, step("s1", DEPLOY, failure_action="abort"), **fields))
        fail(store, plans[-1], "s1")
    return plans


def breaker(**fields: Any) -> dict[str, Any]:
    return {"breaker": {"failures": 3, "within_minutes": 10, "pause_minutes": 30} | fields}


def test_failures_that_pile_up_hold_further_changes_and_everybody_hears_it(lite):
    guarded = bot(lite, **breaker())
    failed(lite, 2)
    guard(guarded)
    assert lite.stops() == []
    failed(lite, 1)
    waiting, reading = approved(lite, step("s1", DEPLOY)), approved(lite, step("s1"))

    guard(guarded)
    guard(guarded)

    assert claim(lite, waiting, "s1") is None
    assert claim(lite, reading, "s1") is not None
    (stop,) = lite.stops()
    assert (stop.scope, stop.by) == ("changes in production", "breaker")
    (said,) = messages(lite, "stop")
    assert said.channel == "C1"
    assert "3 changes failed within 10 minutes; they go on Sun 15 Nov 23:30 UTC" in said.text
    assert "3 changes failed" in str(card(lite.view(waiting), lite.clock())[1])
    assert [event.actor for event in lite.events(0) if event.verb == "stop"] == ["breaker"]


def test_it_closes_by_itself_and_counts_anew(lite):
    guarded = bot(lite, **breaker(within_minutes=60))
    failed(lite, 3)
    guard(guarded)
    waiting = approved(lite, step("s1", DEPLOY, schedule={}))
    lite.clock.advance(minutes=30)

    guard(guarded)

    assert lite.stops() == []
    assert messages(lite, "resume")[0].user == "breaker"
    lite.clock.advance(minutes=1)
    guard(guarded)
    assert lite.stops() == []
    assert lite.view(waiting).step("s1").stopped == ""


def test_an_admin_closes_it_sooner(lite):
    guarded = bot(lite, **breaker(pause_minutes=0))
    failed(lite, 3)
    guard(guarded)
    lite.clock.advance(hours=5)
    guard(guarded)
    assert len(lite.stops()) == 1

    lite.resume("changes in production", user="CAROL")
    lite.clock.advance(seconds=1)
    guard(guarded)

    assert lite.stops() == []


def test_rollbacks_go_on_while_it_is_open(lite):
    guarded = bot(lite, **breaker(failures=1))
    plan_id = approved(lite, step("s1", DEPLOY, failure_action="rollback"), rollback=(undo("u1", "s1"),))
    lite.fail(take(lite, plan_id, "s1"), bad(), actor="w1")

    guard(guarded)

    assert len(lite.stops()) == 1
    assert claim(lite, plan_id, "u1") is not None


def test_what_never_started_and_what_only_read_is_no_failure_of_a_change(lite):
    guarded = bot(lite, **breaker(failures=1))
    lite.publish(CONTRACTS.values())
    plan_id = approved(lite, step("s1", failure_action="abort"))
    fail(lite, plan_id, "s1")

    guard(guarded)

    assert lite.stops() == []
    assert due(lite) == []


def test_a_breaker_of_zero_never_trips(lite):
    failed(lite, 8)

    guard(bot(lite, breaker={"failures": 0}))

    assert lite.stops() == []
