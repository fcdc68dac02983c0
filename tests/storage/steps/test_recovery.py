"""An interrupted attempt: run again if that is safe, else a probe or a person decides. No timer does."""

import pytest

from storage.contract.states import PlanState, StepState
from storage.errors import Conflict
from storage.journal.chain import broken_link
from storage.journal.words import report_hash
from storage.steps.claims import Claim
from tests.support.fakes import (
    DEPLOY,
    LEASE,
    RESTORE,
    approved,
    attempts,
    bad,
    claim,
    due,
    keeps,
    messages,
    ok,
    permitted,
    states,
    step,
    step_row,
    succeed,
    take,
    targets,
    undo,
    verbs,
)
from tests.support.store import Store


def running(store: Store, *, safe: bool = False) -> tuple[int, Claim]:
    plan_id = approved(store, step("s1") if safe else step("s1", DEPLOY))
    return plan_id, take(store, plan_id, "s1")


def lose(store: Store, plan_id: int, *, probe: bool = False) -> None:
    store.lose(step_row(store, plan_id, "s1"), actor="w2", probe=probe)


def look(store: Store, plan_id: int, owner: str = "w2") -> Claim:
    found = store.look(step_row(store, plan_id, "s1").id or 0, owner=owner, lease=LEASE)
    assert found is not None
    return found


def to_look_at(store: Store) -> list[int]:
    return store.to_look_at(owner="w2", alone=False)


# who is gone


def test_a_lease_that_is_kept_does_not_lapse(store, clock):
    _, taken = running(store)
    clock.advance(15)
    assert keeps(store, taken)
    clock.advance(15)

    assert store.lapsed(owner="w2", alone=False) == []


def test_a_lease_that_is_not_kept_lapses(store, clock):
    running(store)
    clock.advance(16)

    assert [found.key for found in store.lapsed(owner="w2", alone=False)] == ["s1"]


def test_the_only_process_need_not_wait_for_the_lease_of_its_predecessor(store):
    running(store)

    assert store.lapsed(owner="w2", alone=False) == []
    assert [found.key for found in store.lapsed(owner="w2", alone=True)] == ["s1"]
    assert store.lapsed(owner="w1", alone=True) == []


# safe to repeat


def test_a_lost_step_that_is_safe_to_repeat_waits_again(store):
    plan_id, _ = running(store, safe=True)
    lose(store, plan_id)

    assert states(store, plan_id) == {"s1": "pending"}
    assert attempts(store)[0].outcome == "lost"
    assert messages(store, "question") == []
    assert take(store, plan_id, "s1", owner="w2").attempt == 2


def test_a_step_that_ends_its_process_each_time_is_given_up(store):
    plan_id, _ = running(store, safe=True)
    for _ in range(4):
        lose(store, plan_id)
        take(store, plan_id, "s1")
    lose(store, plan_id)

    assert store.view(plan_id).state == PlanState.stalled
    assert "5 times" in step_row(store, plan_id, "s1").report["summary"]


def test_a_step_is_lost_once(store):
    plan_id, _ = running(store, safe=True)
    row = step_row(store, plan_id, "s1")
    store.lose(row, actor="w2", probe=False)

    with pytest.raises(Conflict):
        store.lose(row, actor="w3", probe=False)


# unsafe, nobody can tell


def test_a_lost_step_that_is_unsafe_is_unknown_and_asks(store):
    plan_id, _ = running(store)
    lose(store, plan_id)
    (question,) = messages(store, "question")

    assert states(store, plan_id) == {"s1": "unknown"}
    assert store.event(question.plan_id, question.seq).data["step"] == "s1"
    assert targets(store) == ["service:a"]
    assert to_look_at(store) == []


def test_no_timer_runs_an_unsafe_step_again(store, clock):
    plan_id, _ = running(store)
    lose(store, plan_id)
    clock.advance(days=30)
    store.miss()

    assert due(store) == []
    assert store.lapsed(owner="w2", alone=True) == []
    assert claim(store, plan_id, "s1") is None
    assert store.unpermitted() == []
    assert states(store, plan_id) == {"s1": "unknown"}


def test_an_unknown_step_holds_the_rest_of_the_plan(store):
    plan_id = approved(store, step("s1", DEPLOY), step("s2"))
    take(store, plan_id, "s1")
    lose(store, plan_id)

    assert claim(store, plan_id, "s2") is None


def test_a_late_report_of_a_lost_attempt_is_kept_as_evidence_and_decides_nothing(store):
    plan_id, taken = running(store)
    lose(store, plan_id)

    assert store.succeed(taken, ok(), actor="w1") is False
    assert states(store, plan_id) == {"s1": "unknown"}
    assert attempts(store)[0].late["summary"] == "it is done"
    assert len(targets(store)) == 1


def test_a_worker_that_broke_inside_an_unsafe_step_leaves_it_unknown(store):
    plan_id, taken = running(store)
    store.doubt(taken, actor="w1", reason="KeyError")
    (question,) = messages(store, "question")

    assert states(store, plan_id) == {"s1": "unknown"}
    assert store.event(question.plan_id, question.seq).data["reason"] == "KeyError"


def test_a_doubt_of_an_older_attempt_changes_nothing(store):
    plan_id, taken = running(store)
    lose(store, plan_id, probe=True)
    look(store, plan_id)
    before = verbs(store, plan_id)
    store.doubt(taken, actor="w1", reason="KeyError")

    assert verbs(store, plan_id) == before


def test_a_doubt_about_a_step_that_is_unknown_already_changes_nothing(store):
    plan_id, taken = running(store)
    lose(store, plan_id)
    store.doubt(taken, actor="w1", reason="KeyError")

    assert states(store, plan_id) == {"s1": "unknown"}
    assert len(messages(store, "question")) == 1


# a probe


def test_with_a_probe_nobody_is_asked_yet(store):
    plan_id, _ = running(store)
    lose(store, plan_id, probe=True)

    assert states(store, plan_id) == {"s1": "unknown"}
    assert store.view(plan_id).step("s1").probing
    assert messages(store, "question") == []
    assert to_look_at(store) == [step_row(store, plan_id, "s1").id]


def test_who_looks_fences_the_old_attempt_out(store):
    plan_id, old = running(store)
    lose(store, plan_id, probe=True)
    new = look(store, plan_id)

    assert (new.attempt, new.token) == (2, old.token)
    assert store.succeed(old, ok(), actor="w1") is False
    assert not keeps(store, old)
    assert attempts(store)[0].late["summary"] == "it is done"
    assert store.succeed(new, ok(), actor="w2") is True


def test_one_looks_at_a_time_until_the_lease_lapses(store, clock):
    plan_id, _ = running(store)
    lose(store, plan_id, probe=True)
    look(store, plan_id)

    assert to_look_at(store) == []
    clock.advance(16)
    assert len(to_look_at(store)) == 1


def test_a_step_that_needs_no_look_is_not_looked_at(store):
    plan_id, _ = running(store)
    lose(store, plan_id)

    assert store.look(step_row(store, plan_id, "s1").id or 0, owner="w2", lease=LEASE) is None


def test_a_probe_that_says_it_did_not_run_lets_it_run(store):
    plan_id, _ = running(store)
    lose(store, plan_id, probe=True)
    store.retry(look(store, plan_id), bad("it did not run"), actor="w2", wait=0)

    assert states(store, plan_id) == {"s1": "pending"}
    assert targets(store) == []
    assert take(store, plan_id, "s1").attempt == 3


def test_a_probe_that_cannot_tell_asks_a_person(store):
    plan_id, _ = running(store)
    lose(store, plan_id, probe=True)
    store.cannot_tell(look(store, plan_id), actor="w2", reason="the cluster does not answer")
    (question,) = messages(store, "question")

    assert states(store, plan_id) == {"s1": "unknown"}
    assert not store.view(plan_id).step("s1").probing
    assert store.event(question.plan_id, question.seq).data["reason"] == "the cluster does not answer"
    assert to_look_at(store) == []
    assert targets(store) == ["service:a"]


def test_a_probe_that_lost_its_lease_changes_nothing(store, clock):
    plan_id, _ = running(store)
    lose(store, plan_id, probe=True)
    slow = look(store, plan_id)
    clock.advance(16)
    look(store, plan_id, owner="w3")
    store.cannot_tell(slow, actor="w2", reason="no idea")

    assert messages(store, "question") == []
    assert [found.outcome for found in attempts(store)][2] == ""


# what is on record


def told(store: Store, plan_id: int) -> tuple[str, str, dict[str, object]]:
    """The newest event of the plan that tells of the step: verb, actor, and what it says."""
    event = [found for found in store.events(plan_id) if found.data.get("step") == "s1"][-1]
    return event.verb, event.actor, event.data


def test_the_journal_says_whose_process_ended_and_which_attempt_it_was(store):
    plan_id, _ = running(store, safe=True)
    lose(store, plan_id)
    assert told(store, plan_id) == (
        "retry",
        "w2",
        {"step": "s1", "attempt": 1, "reason": "its process ended"},
    )
    unsafe, _ = running(store)
    lose(store, unsafe)

    assert told(store, unsafe) == ("lose", "w2", {"step": "s1", "attempt": 1})


def test_what_is_given_up_frees_its_target_and_says_why_and_when(store, clock):
    plan_id = approved(store, step("s1", RESTORE))
    for _ in range(5):
        permitted(store, plan_id)
        take(store, plan_id, "s1")
        assert targets(store) == ["service:a"]
        lose(store, plan_id)
        assert targets(store) == []

    row, why = step_row(store, plan_id, "s1"), "its process ended in the middle of it 5 times"
    assert (row.owner, row.ended_at, row.report["summary"]) == ("", clock(), why)
    said = {"step": "s1", "attempt": 5, "summary": why, "report": report_hash(row.report)}
    assert told(store, plan_id) == ("fail", "rules", said)


def test_a_doubt_closes_the_attempt_and_asks_with_its_reason(store):
    plan_id, taken = running(store)
    store.doubt(taken, actor="w1", reason="it broke")

    assert attempts(store)[0].outcome == "lost"
    assert told(store, plan_id) == ("lose", "w1", {"step": "s1", "attempt": 1, "reason": "it broke"})
    assert not store.view(plan_id).step("s1").probing
    assert to_look_at(store) == []


def test_a_doubt_holds_the_rest_of_the_plan(store):
    plan_id = approved(store, step("s1", DEPLOY), step("s2"))
    taken = take(store, plan_id, "s1")
    assert len(due(store)) == 1
    store.doubt(taken, actor="w1", reason="it broke")

    assert due(store) == []


def test_a_look_is_on_record_as_an_attempt_of_its_own(store):
    plan_id, _ = running(store)
    lose(store, plan_id, probe=True)
    taken = look(store, plan_id)
    assert told(store, plan_id) == ("look", "w2", {"step": "s1", "attempt": 2})
    store.cannot_tell(taken, actor="w2", reason="no idea")

    assert [found.outcome for found in attempts(store)] == ["lost", "unknown"]
    assert told(store, plan_id) == ("lose", "w2", {"step": "s1", "attempt": 2, "reason": "no idea"})


def test_the_only_process_looks_at_once_at_what_its_predecessor_was_looking_at(store, clock):
    plan_id, _ = running(store)
    lose(store, plan_id, probe=True)
    look(store, plan_id, owner="w1")
    mine = [step_row(store, plan_id, "s1").id]

    assert store.to_look_at(owner="w2", alone=True) == mine
    assert store.to_look_at(owner="w1", alone=True) == []
    assert store.to_look_at(owner="w2", alone=False) == []
    clock.advance(LEASE.total_seconds())
    assert store.to_look_at(owner="w2", alone=False) == []
    clock.advance(1)
    assert store.to_look_at(owner="w2", alone=False) == mine


# a person


def test_it_ran(store):
    plan_id, _ = running(store)
    lose(store, plan_id)
    store.resolve(plan_id, "s1", "ran", user="BOB")
    view = store.view(plan_id)

    assert (view.state, view.outcome) == (PlanState.done, "succeeded")
    assert view.step("s1").report.summary == "somebody looked, and says that it ran"
    assert targets(store) == []


def test_it_did_not_run(store):
    plan_id, old = running(store)
    lose(store, plan_id)
    store.resolve(plan_id, "s1", "did_not", user="BOB")

    assert states(store, plan_id) == {"s1": "pending"}
    assert targets(store) == []
    assert store.succeed(old, ok(), actor="w1") is False
    assert take(store, plan_id, "s1").attempt == 2


def test_it_did_not_run_and_now_it_needs_a_permit(store, clock):
    plan_id, _ = running(store)
    lose(store, plan_id)
    clock.advance(61)
    store.resolve(plan_id, "s1", "did_not", user="BOB")

    assert claim(store, plan_id, "s1") is None
    assert [found.key for found in store.unpermitted()] == ["s1"]


def test_look_again(store):
    plan_id, _ = running(store)
    lose(store, plan_id)
    store.resolve(plan_id, "s1", "look", user="BOB")

    assert states(store, plan_id) == {"s1": "unknown"}
    assert len(to_look_at(store)) == 1


def test_the_question_is_shown_anew_once_it_was_answered(store):
    plan_id, _ = running(store)
    lose(store, plan_id)
    (question,) = messages(store, "question")
    store.note_shown(question, "1.0", next_at=store.clock())
    store.resolve(plan_id, "s1", "ran", user="BOB")
    (after,) = messages(store, "question")

    assert after.wanted > after.shown


@pytest.mark.parametrize(("key", "answer"), [("s1", "maybe"), ("s2", "ran"), ("nothing", "ran")])
def test_an_answer_that_is_none_is_refused(store, key, answer):
    plan_id = approved(store, step("s1", DEPLOY), step("s2", depends_on=("s1",)))
    take(store, plan_id, "s1")
    lose(store, plan_id)

    with pytest.raises(Conflict):
        store.resolve(plan_id, key, answer, user="BOB")
    assert states(store, plan_id) == {"s1": "unknown", "s2": "pending"}


def test_a_question_is_answered_once(store):
    plan_id, _ = running(store)
    lose(store, plan_id)
    store.resolve(plan_id, "s1", "ran", user="BOB")

    with pytest.raises(Conflict, match="nothing to resolve"):
        store.resolve(plan_id, "s1", "did_not", user="CAROL")


def test_a_rollback_waits_for_the_unknown_sibling_and_then_undoes_it_too(store):
    one = step("one", DEPLOY, failure_action="rollback")
    two = step("two", DEPLOY, parameters={"service": "b"})
    plan_id = approved(store, one, two, rollback=(undo("u1", "one"), undo("u2", "two")))
    first, _ = take(store, plan_id, "one"), take(store, plan_id, "two")
    store.lose(step_row(store, plan_id, "two"), actor="w2", probe=False)
    store.fail(first, bad(), actor="w1")

    assert "u1" not in states(store, plan_id)
    store.resolve(plan_id, "two", "ran", user="BOB")
    assert [found.spec.id for found in store.view(plan_id).steps if found.undo] == ["u2", "u1"]


def test_the_journal_holds_through_every_recovery(store):
    plan_id, _ = running(store)
    lose(store, plan_id, probe=True)
    store.cannot_tell(look(store, plan_id), actor="w2", reason="no idea")
    store.resolve(plan_id, "s1", "look", user="BOB")
    store.retry(look(store, plan_id), bad(), actor="w2", wait=0)
    succeed(store, plan_id, "s1")

    assert broken_link(store.events(plan_id)) is None
    assert store.view(plan_id).step("s1").state == StepState.succeeded
