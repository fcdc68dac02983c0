"""What follows by itself from the steps of a plan, and what the tables of moves promise. Pure."""

import time
from typing import Any

import pytest

from storage.contract.spec import PlanSpec
from storage.contract.states import (
    DECLINED,
    ENDED,
    OPEN,
    PLAN_MOVES,
    RECURRING_MOVES,
    STEP_MOVES,
    PlanState,
    Settlement,
    StepFact,
    StepState,
    can_decline,
    can_skip,
    dependents,
    settle,
    startable,
    undo_order,
    unseen,
    waits,
)
from tests.support.fakes import DEPLOY, READ, chain, plan_spec, step, undo

S = StepState


def test_every_end_is_an_end():
    ends = set(PlanState) - OPEN

    assert not any(before & ends for before, _ in PLAN_MOVES.values())


def test_a_step_that_ended_moves_only_by_the_answer_of_a_person():
    ways = {verb for verb, (before, _) in STEP_MOVES.items() if before & ENDED}
    left = frozenset[StepState]().union(*(before for before, _ in STEP_MOVES.values()))

    assert ways == {"retry", "skip", "confirm"}
    assert set(StepState) - left | {S.failed} == ENDED


def test_what_recurs_is_paused_and_goes_on_and_once_removed_stays_so():
    def ways(state: str) -> dict[str, str]:
        return {verb: after for verb, (before, after) in RECURRING_MOVES.items() if state in before}

    assert ways("active") == {"pause": "paused", "retire": "removed"}
    assert ways("paused") == {"unpause": "active", "retire": "removed"}
    assert ways("removed") == {}


def facts(*, choice: str = "", undo: bool = False, **steps: str) -> dict[str, StepFact]:
    return {
        key: StepFact(
            key, S(state), started=state not in {"pending", "skipped"}, undo=undo,
            choice=choice if state == "failed" else "",
        )
        for key, state in steps.items()
    }  # fmt: skip


def branches(failure_action: str, **fields: Any) -> PlanSpec:
    """a → b, and beside them c."""
    first = step("a", failure_action=failure_action)
    return plan_spec(first, step("b", depends_on=("a",)), step("c"), **fields)


def verb_of(found: Settlement | None) -> tuple[str, str] | None:
    return (found.verb, found.outcome) if found else None


def test_a_chain_goes_on_while_something_may_still_start():
    spec = plan_spec(*chain("a", "b"))

    assert settle(spec, facts(a="pending", b="pending")) is None
    assert settle(spec, facts(a="succeeded", b="pending")) is None


def test_a_chain_of_which_every_step_succeeded_is_done():
    spec = plan_spec(*chain("a", "b"))

    assert verb_of(settle(spec, facts(a="succeeded", b="succeeded"))) == ("finish", "succeeded")


@pytest.mark.parametrize("state", ["running", "unknown"])
@pytest.mark.parametrize("way", ["ask", "abort", "rollback", "continue"])
def test_nothing_settles_while_a_sibling_runs_or_is_unknown(state, way):
    assert settle(branches(way), facts(a="failed", b="pending", c=state)) is None


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("ask", ("stall", "")),
        ("abort", ("finish", "failed")),
        ("rollback", ("rollback", "")),
        ("continue", ("skip", "")),
    ],
)
def test_one_failed_branch_is_answered_as_approved(way, expected):
    spec = branches(way, rollback=(undo("u", "a"),))

    assert verb_of(settle(spec, facts(a="failed", b="pending", c="succeeded"))) == expected


@pytest.mark.parametrize("way", ["ask", "abort", "rollback"])
def test_after_a_failure_no_sibling_starts(way):
    assert "c" not in startable(branches(way), facts(a="failed", b="pending", c="pending"))


def test_on_continue_independent_steps_go_on_and_dependents_are_skipped():
    spec, now = branches("continue"), facts(a="failed", b="pending", c="pending")

    assert "c" in startable(spec, now)
    assert "b" not in startable(spec, now)
    assert settle(spec, now) == Settlement("skip", "a step it depends on did not succeed", keys=("b",))


def test_on_continue_the_outcome_is_incomplete():
    found = settle(branches("continue"), facts(a="failed", b="skipped", c="succeeded"))

    assert verb_of(found) == ("finish", "incomplete")


def test_a_whole_chain_behind_a_failure_is_skipped():
    first, *rest = chain("a", "b", "c", "d")
    spec = plan_spec(first.model_copy(update={"failure_action": "continue"}), *rest)
    found = settle(spec, facts(a="failed", b="pending", c="pending", d="pending"))

    assert found is not None
    assert found.keys == ("b", "c", "d")


def test_a_rollback_wins_over_an_abort_and_an_abort_over_a_question():
    spec = plan_spec(
        step("a", failure_action="ask"),
        step("b", failure_action="abort"),
        step("c", failure_action="rollback"),
        rollback=(undo("u", "c"),),
    )

    found = settle(spec, facts(a="failed", b="failed", c="failed"))

    assert found == Settlement("rollback", "step c failed", keys=("c",))
    assert verb_of(settle(spec, facts(a="failed", b="failed", c="succeeded"))) == ("finish", "failed")


def test_an_unknown_step_lets_nothing_start():
    assert "c" not in startable(branches("ask"), facts(a="unknown", b="pending", c="pending"))


def test_a_step_waits_for_all_it_depends_on():
    spec = plan_spec(step("a"), step("b"), step("c", depends_on=("a", "b")))

    assert "c" not in startable(spec, facts(a="succeeded", b="running", c="pending"))
    assert "c" in startable(spec, facts(a="succeeded", b="succeeded", c="pending"))


@pytest.mark.parametrize(("choice", "free"), [("skip", True), ("", False)])
def test_only_what_a_person_skipped_counts_as_satisfied(choice, free):
    spec = plan_spec(*chain("a", "b"))
    now = {"a": StepFact("a", S.skipped, choice=choice), "b": StepFact("b", S.pending)}

    assert ("b" in startable(spec, now)) is free
    assert verb_of(settle(spec, now)) == (None if free else ("skip", ""))


def test_the_rollback_runs_backwards_and_only_over_steps_that_started():
    spec = plan_spec(
        *chain("a", "b", "c", "d"), rollback=tuple(undo(f"u{key}", key) for key in ("c", "a", "d", "b"))
    )
    found = undo_order(spec, facts(a="succeeded", b="succeeded", c="failed", d="pending"))

    assert [entry.id for entry in found] == ["uc", "ub", "ua"]


def test_a_rollback_with_nothing_to_undo_is_a_failure():
    spec = plan_spec(step("a", failure_action="rollback"), step("b"), rollback=(undo("u", "b"),))

    assert verb_of(settle(spec, facts(a="failed", b="pending"))) == ("finish", "failed")


def test_an_undo_waits_for_the_undos_before_it():
    spec = plan_spec(*chain("a", "b"), rollback=(undo("ua", "a"), undo("ub", "b")))
    before = facts(a="succeeded", b="failed")

    assert "ub" in startable(spec, before | facts(undo=True, ub="pending", ua="pending"))
    assert "ua" not in startable(spec, before | facts(undo=True, ub="pending", ua="pending"))
    assert "ua" in startable(spec, before | facts(undo=True, ub="succeeded", ua="pending"))
    assert startable(spec, before | facts(undo=True, ub="succeeded")) == set()


@pytest.mark.parametrize(
    ("states", "choice", "expected"),
    [
        ({"ub": "succeeded", "ua": "pending"}, "", None),
        ({"ub": "succeeded", "ua": "succeeded"}, "", ("finish", "rolled_back")),
        ({"ub": "failed", "ua": "pending"}, "", ("stall", "")),
        ({"ub": "failed", "ua": "pending"}, "abort", ("finish", "failed")),
        ({"ub": "unknown", "ua": "pending"}, "", None),
    ],
)
def test_a_rollback_settles_when_all_is_undone_or_one_undo_failed(states, choice, expected):
    spec = plan_spec(*chain("a", "b"), rollback=(undo("ua", "a"), undo("ub", "b")))
    now = facts(a="succeeded", b="failed") | facts(undo=True, choice=choice, **states)

    assert verb_of(settle(spec, now)) == expected


def test_a_plan_that_continues_waits_for_the_planner():
    spec = plan_spec(step("a"), continues=True)
    found = settle(spec, facts(a="succeeded"))

    assert found is not None
    assert (found.verb, found.looks) == ("stall", True)


@pytest.mark.parametrize(
    ("choices", "looks"), [(("", ""), True), (("ask", ""), False), (("ask", "ask"), False)]
)
def test_where_the_word_of_a_person_is_asked_for_no_planner_looks(choices, looks):
    spec = plan_spec(step("a"), step("b"))
    found = settle(spec, {k: StepFact(k, S.failed, choice=c) for k, c in zip("ab", choices, strict=True)})

    assert found == Settlement("stall", "step a failed", keys=("a", "b"), looks=looks)


@pytest.mark.parametrize(("failed", "outcome"), [(0, "succeeded"), (1, "incomplete"), (None, "incomplete")])
def test_the_goals_own_checks_decide_whether_it_was_reached(failed, outcome):
    spec = plan_spec(step("a"), done_when=({"field": "a.failed", "op": "eq", "value": 0},))
    data = {} if failed is None else {"failed": failed}
    found = settle(spec, {"a": StepFact("a", S.succeeded, data=data)})
    reason = "every step succeeded" if failed == 0 else "the goal's own checks do not hold"

    assert found == Settlement("finish", reason, outcome=outcome)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("abort", ("finish", "failed")), ("rollback", ("rollback", "")), ("continue", ("skip", ""))],
)
def test_what_a_person_chose_wins_over_what_was_approved(choice, expected):
    spec = branches("ask", rollback=(undo("u", "a"),))

    assert verb_of(settle(spec, facts(choice=choice, a="failed", b="pending", c="succeeded"))) == expected


def test_a_step_that_was_skipped_by_a_person_leaves_the_plan_incomplete():
    now = {"a": StepFact("a", S.skipped, choice="skip"), "b": StepFact("b", S.succeeded)}

    assert verb_of(settle(plan_spec(*chain("a", "b")), now)) == ("finish", "incomplete")


def test_a_cancelled_step_leaves_the_plan_incomplete():
    spec = plan_spec(*chain("a", "b"))

    assert verb_of(settle(spec, facts(a="cancelled", b="pending"))) == ("skip", "")
    assert settle(spec, facts(a="cancelled", b="skipped")) == Settlement(
        "finish", "not every step succeeded", outcome="incomplete"
    )


def test_dependents_are_found_through_others():
    spec = plan_spec(*chain("a", "b", "c"), step("d"))

    assert dependents(spec, {"a"}) == {"b", "c"}
    assert dependents(spec, {"d"}) == set()


def test_dependents_of_a_long_chain_are_found_in_the_time_that_a_click_has():
    names = [f"s{n}" for n in range(3000)]
    spec = plan_spec(*chain(*names))
    began = time.process_time()

    assert dependents(spec, {"s0"}) == {*names[1:]}
    assert time.process_time() - began < 1


@pytest.mark.parametrize(("key", "possible"), [("a", False), ("b", False), ("c", True)])
def test_a_step_that_a_later_change_relies_on_cannot_be_skipped(key, possible):
    spec = plan_spec(step("a", READ), *chain("b"), step("c", DEPLOY, depends_on=("b",)))
    spec = spec.model_copy(update={"steps": (spec.steps[0], step("b", depends_on=("a",)), spec.steps[2])})

    assert can_skip(spec, {"c"}, key) is possible


def test_with_a_review_of_everything_nothing_starts_before_the_planner_has_looked():
    spec = plan_spec(*chain("a", "b"), review="always")
    reported = facts(a="succeeded", b="pending")
    seen = reported | {"a": StepFact("a", S.succeeded, choice="seen")}  # as rows have it
    half = facts(a="succeeded", b="succeeded") | {"a": seen["a"]}
    stalled = settle(spec, reported)

    assert startable(spec, reported) == set()
    assert stalled is not None
    assert (stalled.verb, stalled.looks) == ("stall", True)
    assert unseen(spec, half)
    assert startable(spec, seen) == {"b"}
    assert settle(spec, seen) is None
    assert not unseen(plan_spec(*chain("a", "b")), reported)


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize("choice", ["", "retry", DECLINED])
def test_a_failed_step_waits_for_an_answer_until_somebody_said_no(state, choice):
    assert waits(state, choice) is (state == S.failed and choice in {"", "retry"})


def test_no_is_an_answer_that_a_step_knows():
    """It is what `continue` does, and is stored as that."""
    assert DECLINED == "continue"


@pytest.mark.parametrize(
    ("open_", "more", "left"),
    [
        ((), {}, False),
        (("a",), {}, False),
        (("a", "b", "c"), {}, False),
        (("a", "b", "d"), {}, True),
        (("d",), {}, True),
        ((), {"continues": True}, True),
        (("a", "b"), {"continues": True}, True),
    ],
)
def test_a_question_is_answered_with_no_where_something_is_left_then(open_, more, left):
    spec = plan_spec(*chain("a", "b", "c"), step("d"), **more)

    assert can_decline(spec, "a", open_) is left
