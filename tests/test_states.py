"""Every verb in every state: it moves along the table, or changes nothing. And what follows by itself."""

from typing import Any

import pytest
from sqlalchemy import select

from storage.errors import Conflict
from storage.prepared import table
from storage.spec import PlanSpec
from storage.states import (
    ENDED,
    OPEN,
    PLAN_MOVES,
    STEP_MOVES,
    PlanState,
    Settlement,
    StepFact,
    StepState,
    can_skip,
    dependents,
    settle,
    startable,
    undo_order,
)
from storage.store import Store
from storage.tables import Approval, Attempt, Event, Message, Plan, Revision, Step, Target
from tests.fakes import (
    DEPLOY,
    READ,
    approved,
    bad,
    chain,
    claim,
    fail,
    ok,
    plan_spec,
    propose,
    step,
    step_row,
    take,
    tamper,
    terms,
    undo,
)

S = StepState


def everything(store: Store) -> list[Any]:
    """All rows that a verb could change; `version` is a counter, not a fact."""
    with store._read() as c:
        found = []
        for model in (Plan, Revision, Approval, Step, Attempt, Target, Event, Message):
            rows = [dict(row._mapping) for row in c.execute(select(table(model)))]
            found.append([{k: v for k, v in row.items() if k != "version"} for row in rows])
        return found


def plan_in(store: Store, state: PlanState) -> int:
    plan_id = propose(store)
    tamper(store, "UPDATE plan SET state = :state", state=state)
    return plan_id


def moves(store: Store, plan_id: int) -> dict[str, Any]:
    """Each verb of a plan, as its caller says it."""
    spec, digest = plan_spec(), plan_spec().digest()
    return {
        "propose": lambda: store.propose(plan_id, spec, terms(), author="planner"),
        "amend": lambda: store.amend(plan_id, spec, terms(), author="ANN", after=1, changes=["x"]),
        "approve": lambda: store.approve(plan_id, 1, digest, team="T1", user="BOB", policy="p"),
        "reject": lambda: store.reject(plan_id, 1, user="BOB", reason="no"),
        "stall": lambda: store.stall(plan_id, actor="planner", reason="no idea"),
        "cancel": lambda: store.cancel(plan_id, user="ANN", reason="no more"),
    }


@pytest.mark.parametrize("state", PlanState)
@pytest.mark.parametrize("verb", PLAN_MOVES)
def test_a_plan_moves_only_along_its_table(lite, state, verb):
    plan_id = plan_in(lite, state)
    before, after = PLAN_MOVES[verb]
    was = everything(lite)

    if state in before:
        with lite._write() as c:
            moved = lite._move(c, plan_id, verb, actor="test")

        assert moved.state == after
        assert lite.view(plan_id).state == after
        assert lite.events(plan_id)[-1].verb == verb
    else:
        with pytest.raises(Conflict, match=f"is {state}"), lite._write() as c:
            lite._move(c, plan_id, verb, actor="test")

        assert everything(lite) == was


@pytest.mark.parametrize("state", PlanState)
@pytest.mark.parametrize("verb", ["propose", "amend", "approve", "reject", "stall", "cancel"])
def test_a_verb_of_the_store_obeys_the_table(lite, state, verb):
    plan_id = plan_in(lite, state)
    before, after = PLAN_MOVES[verb]
    was = everything(lite)

    if state in before:
        moves(lite, plan_id)[verb]()

        assert lite.view(plan_id).state == after
    else:
        with pytest.raises(Conflict):
            moves(lite, plan_id)[verb]()

        assert everything(lite) == was


@pytest.mark.parametrize("state", PlanState)
def test_only_a_proposed_plan_expires(lite, clock, state):
    plan_id = plan_in(lite, state)
    clock.advance(hours=25)

    assert lite.expire() == ([plan_id] if state == PlanState.proposed else [])


@pytest.mark.parametrize("state", PlanState)
@pytest.mark.parametrize("choice", ["retry", "skip", "abort", "rollback"])
def test_only_a_stalled_plan_takes_an_answer(lite, state, choice):
    plan_id = approved(lite, step("s1"))
    fail(lite, plan_id, "s1")
    tamper(lite, "UPDATE plan SET state = :state", state=state)
    was = everything(lite)

    if state == PlanState.stalled:
        lite.answer(plan_id, "s1", choice, user="ANN")

        assert lite.view(plan_id).state in {PlanState.approved, PlanState.done}
    else:
        with pytest.raises(Conflict):
            lite.answer(plan_id, "s1", choice, user="ANN")

        assert everything(lite) == was


@pytest.mark.parametrize("state", StepState)
@pytest.mark.parametrize("verb", STEP_MOVES)
def test_a_step_moves_only_along_its_table(lite, state, verb):
    plan_id = approved(lite, step("s1"))
    tamper(lite, "UPDATE step SET state = :state", state=state)
    before, after = STEP_MOVES[verb]
    row, was = step_row(lite, plan_id, "s1"), everything(lite)

    if state in before:
        with lite._write() as c:
            assert lite._move_step(c, row, verb).state == after
    else:
        with pytest.raises(Conflict, match="moved on"), lite._write() as c:
            lite._move_step(c, row, verb)

        assert everything(lite) == was


@pytest.mark.parametrize("verb", STEP_MOVES)
def test_a_step_does_not_move_for_an_older_attempt(lite, verb):
    plan_id = approved(lite, step("s1"))
    row = step_row(lite, plan_id, "s1")
    tamper(lite, "UPDATE step SET attempt = 7, state = :state", state=next(iter(STEP_MOVES[verb][0])))

    with pytest.raises(Conflict, match="moved on"), lite._write() as c:
        lite._move_step(c, row, verb)


@pytest.mark.parametrize("state", StepState)
def test_only_a_pending_step_is_claimed(lite, state):
    plan_id = approved(lite, step("s1"))
    tamper(lite, "UPDATE step SET state = :state", state=state)

    assert bool(claim(lite, plan_id, "s1")) is (state == S.pending)
    assert step_row(lite, plan_id, "s1").state == (S.running if state == S.pending else state)


@pytest.mark.parametrize("state", StepState)
@pytest.mark.parametrize("verb", ["succeed", "fail", "retry"])
def test_a_report_counts_only_while_its_attempt_is_open(lite, state, verb):
    plan_id = approved(lite, step("s1"))
    taken = take(lite, plan_id, "s1")
    tamper(lite, "UPDATE step SET state = :state", state=state)
    say = {
        "succeed": lambda: lite.succeed(taken, ok(), actor="w1"),
        "fail": lambda: lite.fail(taken, bad(), actor="w1"),
        "retry": lambda: lite.retry(taken, bad(), actor="w1", wait=1),
    }
    open_ = state in {S.running, S.unknown}

    assert say[verb]() is open_
    assert step_row(lite, plan_id, "s1").state == (STEP_MOVES[verb][1] if open_ else state)


@pytest.mark.parametrize("state", StepState)
@pytest.mark.parametrize("verb", ["lose", "ran", "did_not", "look"])
def test_only_a_running_step_is_lost_and_only_an_unknown_one_resolved(lite, state, verb):
    plan_id = approved(lite, step("s1", DEPLOY))
    take(lite, plan_id, "s1")
    tamper(lite, "UPDATE step SET state = :state", state=state)
    row, was = step_row(lite, plan_id, "s1"), everything(lite)

    def act() -> None:
        if verb == "lose":
            lite.lose(row, actor="w2", probe=False)
        else:
            lite.resolve(plan_id, "s1", verb, user="BOB")

    if state == (S.running if verb == "lose" else S.unknown):
        act()

        assert everything(lite) != was
    else:
        with pytest.raises(Conflict):
            act()

        assert everything(lite) == was


def test_every_end_is_an_end():
    ends = set(PlanState) - OPEN

    assert not any(before & ends for before, _ in PLAN_MOVES.values())


def test_a_step_that_ended_moves_only_by_the_answer_of_a_person():
    ways = {verb for verb, (before, _) in STEP_MOVES.items() if before & ENDED}

    assert ways == {"retry", "skip", "confirm"}


# settle: what follows from the steps


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

    assert verb_of(settle(spec, facts(a="failed", b="failed", c="failed"))) == ("rollback", "")
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

    assert verb_of(settle(spec, facts(a="succeeded"))) == ("stall", "")


@pytest.mark.parametrize(("failed", "outcome"), [(0, "succeeded"), (1, "incomplete"), (None, "incomplete")])
def test_the_goals_own_checks_decide_whether_it_was_reached(failed, outcome):
    spec = plan_spec(step("a"), done_when=({"field": "a.failed", "op": "eq", "value": 0},))
    data = {} if failed is None else {"failed": failed}

    assert verb_of(settle(spec, {"a": StepFact("a", S.succeeded, data=data)})) == ("finish", outcome)


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
    found = settle(plan_spec(*chain("a", "b")), facts(a="cancelled", b="skipped"))

    assert verb_of(found) == ("finish", "incomplete")


def test_dependents_are_found_through_others():
    spec = plan_spec(*chain("a", "b", "c"), step("d"))

    assert dependents(spec, {"a"}) == {"b", "c"}
    assert dependents(spec, {"d"}) == set()


@pytest.mark.parametrize(("key", "possible"), [("a", False), ("b", False), ("c", True)])
def test_a_step_that_a_later_change_relies_on_cannot_be_skipped(key, possible):
    spec = plan_spec(step("a", READ), *chain("b"), step("c", DEPLOY, depends_on=("b",)))
    spec = spec.model_copy(update={"steps": (spec.steps[0], step("b", depends_on=("a",)), spec.steps[2])})

    assert can_skip(spec, {"c"}, key) is possible
