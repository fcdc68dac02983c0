"""What drafts: approved by a person, held by stops, and never dearer together than people allowed."""

import pytest

from storage.contract.capability import Entry
from storage.contract.spec import Mandate, StepSpec
from storage.errors import NotAllowed
from storage.steps.budget import SPENT
from tests.support.fakes import (
    CONTRACTS,
    approve,
    contract,
    ok,
    plan_spec,
    propose,
    states,
    step,
    step_row,
    taker,
    tamper,
)
from tests.support.store import Store

PLACES = {name: Entry(binding=f"b-{name}", environment="production", usd=1.0) for name in "ab"}
DRAFT = contract("draft", changes=False, drafts=True, repeat="safe", target="", names={"service": PLACES})
TAKER = taker(DRAFT)


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONTRACTS, "draft", DRAFT)


def drafting(store: Store, *keys: str, usd: float) -> int:
    steps: list[StepSpec] = [step(key, DRAFT) for key in keys]
    plan_id = propose(store, plan_spec(*steps, mandate=Mandate(max_worker_usd=usd)))
    approve(store, plan_id)
    return plan_id


def test_what_drafts_is_never_approved_by_policy_alone(store: Store) -> None:
    with pytest.raises(NotAllowed, match="drafts something"):
        propose(store, plan_spec(step("s1", DRAFT), mandate=Mandate(max_worker_usd=9)), needed=0)


def test_what_drafts_is_refused_at_dispatch_if_nobody_was_asked(store: Store) -> None:
    plan_id = drafting(store, "s1", usd=9)
    tamper(store, "UPDATE revision SET needed = 0")
    assert store.turn([], TAKER, 5) == []
    assert "no person was asked" in str(step_row(store, plan_id, "s1").report)


def test_a_row_that_hides_that_it_drafts_does_not_start(store: Store) -> None:
    plan_id = drafting(store, "s1", usd=9)
    tamper(store, "UPDATE step SET drafts = false")
    assert store.turn([], TAKER, 5) == []
    assert states(store, plan_id) == {"s1": "failed"}


@pytest.mark.parametrize("scope", ["everything", "all changes", "changes in production"])
def test_a_stop_of_changes_holds_what_drafts(store: Store, scope: str) -> None:
    drafting(store, "s1", usd=9)
    store.stop(scope, reason="no agents now", user="ANN")
    assert store.turn([], TAKER, 5) == []
    store.resume(scope, user="ANN")
    assert len(store.turn([], TAKER, 5)) == 1


def test_no_more_run_at_once_than_the_money_lasts_for(store: Store) -> None:
    drafting(store, *"abcde", usd=2.5)
    claims = store.turn([], TAKER, 5)
    assert len(claims) == 2
    assert store.turn([], TAKER, 5) == []
    store.succeed(claims[0], ok(usd=0.25), actor="w1")
    assert len(store.turn([], TAKER, 5)) == 1


def test_a_step_that_money_can_never_pay_asks_a_person(store: Store) -> None:
    plan_id = drafting(store, "a", "b", usd=1.5)
    (claim,) = store.turn([], TAKER, 5)
    store.succeed(claim, ok(usd=0.75), actor="w1")
    assert store.turn([], TAKER, 5) == []
    assert SPENT in str(step_row(store, plan_id, "b").report)


def test_an_attempt_of_which_nobody_reported_counts_with_its_most(store: Store) -> None:
    plan_id = drafting(store, "a", "b", usd=1.5)
    assert len(store.turn([], TAKER, 1)) == 1
    tamper(store, "UPDATE attempt SET outcome = 'lose'")
    tamper(store, "UPDATE step SET state = 'succeeded' WHERE key = 'a'")
    assert store.turn([], TAKER, 5) == []
    assert SPENT in str(step_row(store, plan_id, "b").report)
