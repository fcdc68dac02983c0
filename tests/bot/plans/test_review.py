"""The review in the bot's turn: what it decides becomes rows once, and never more than was approved."""

import json
from typing import Any

import pytest

from bot.cards.card import card
from bot.cards.details import facts
from bot.cards.thread import message
from bot.planner.decision import Decision, Progress, progress
from bot.plans.review import give_guidance
from storage.contract.capability import Check
from storage.contract.report import AnyReport
from storage.contract.spec import PlanSpec, StepSpec
from storage.contract.states import PlanState
from storage.errors import Conflict, NotAllowed
from tests.support.fakes import (
    BACKUP,
    CONTRACTS,
    DEPLOY,
    READ,
    approve,
    approved,
    contract,
    messages,
    ok,
    plan_spec,
    states,
    step,
    step_row,
    succeed,
    take,
    taker,
    tamper,
    terms,
    verbs,
)
from tests.support.room import think
from tests.support.samples.review import advice, bot, broke
from tests.support.store import Store

MIRROR = contract("check", worker="mirror", changes=False, repeat="safe")


def decided(store: Store, plan_id: int) -> list[str]:
    return [str(event.data["verb"]) for event in store.events(plan_id) if event.verb == "decide"]


LOOK = step("look", READ)


# the rungs


def test_what_may_pass_by_itself_is_tried_again_with_backoff_and_then_a_person_is_asked(lite):
    plan_id, waits = approved(lite, LOOK), []
    for _ in range(3):
        lite.clock.advance(minutes=10)
        broke(lite, plan_id, "look")
        think(bot(lite))
        waits.append((step_row(lite, plan_id, "look").not_before or lite.clock()) - lite.clock())

    assert decided(lite, plan_id) == ["retry", "retry", "ask"]
    assert [wait.total_seconds() for wait in waits[:2]] == [5.0, 20.0]
    view = lite.view(plan_id)
    assert view.state == PlanState.stalled
    assert view.reason == "it broke. Tried again 2 times."
    assert {"retry", "skip", "abort"} <= {*view.step("look").choices}


def test_a_person_is_asked_once_for_each_failure_that_nothing_was_tried_for(lite):
    plan_id = approved(lite, LOOK)
    for _ in range(2):
        broke(lite, plan_id, "look", kind="permanent")
        think(bot(lite))
        lite.answer(plan_id, "look", "retry", user="ANN")

    assert decided(lite, plan_id) == ["ask", "ask"]
    assert messages(lite, "review") == []


def test_a_retry_that_works_is_no_persons_matter(lite):
    plan_id = approved(lite, LOOK)
    broke(lite, plan_id, "look")
    think(bot(lite))
    lite.clock.advance(minutes=1)
    succeed(lite, plan_id, "look")

    assert lite.view(plan_id).outcome == "succeeded"
    assert "tried again in 5 s (1 of 2): it broke" in shown(lite, plan_id, "review")
    assert "On its own, the planner tried again 1×" in facts(lite.view(plan_id))


def test_another_worker_that_offers_the_same_is_taken_under_the_mandate(lite):
    plan_id = approved(lite, LOOK, step("deploy", DEPLOY))
    lite.publish([*CONTRACTS.values(), MIRROR])
    broke(lite, plan_id, "look", "permanent")
    think(bot(lite))

    view = lite.view(plan_id)
    assert (view.state, view.revision, view.approved_by) == (PlanState.approved, 2, ("BOB",))
    assert states(lite, plan_id) == {"deploy": "pending", "look-2": "pending"}
    claimed = lite.claim(step_row(lite, plan_id, "look-2").id or 0, taker(MIRROR))
    assert claimed is not None
    lite.succeed(claimed, ok(), actor="w1")
    lite.clock.advance(minutes=5)
    lite.permit(step_row(lite, plan_id, "deploy").id or 0, actor="bot")
    succeed(lite, plan_id, "deploy")
    assert lite.view(plan_id).outcome == "succeeded"
    assert lite.view(plan_id).spec.find("look-2").worker == "mirror"


def shown(store: Store, plan_id: int, kind: str) -> str:
    (row,) = messages(store, kind)
    return json.dumps(message(kind, store.view(plan_id), store.event(plan_id, row.seq), store.clock())[1])


def test_what_changes_something_is_put_before_people_as_a_difference(lite):
    plan_id = approved(lite, step("save", BACKUP), LOOK.model_copy(update={"depends_on": ("save",)}))
    succeed(lite, plan_id, "save")
    broke(lite, plan_id, "look", "permanent")
    think(bot(lite, advice("alternative", step("mend", DEPLOY), drop="look")))

    view = lite.view(plan_id)
    assert (view.state, view.revision, view.approved_by) == (PlanState.proposed, 2, ())
    assert view.changes == ("mend: added; it changes something, and the mandate does not name it",)
    assert states(lite, plan_id) == {"save": "succeeded", "mend": "pending"}, "what ran shows as done"
    assert "goes beyond what was approved" in shown(lite, plan_id, "review")
    assert "step 2 *added*; it changes something, and the mandate does not name it" in shown(
        lite, plan_id, "review"
    )
    assert "The planner may add up to 5 look-ups." in card(view, lite.clock(), planner=True)[0]
    approve(lite, plan_id)
    assert states(lite, plan_id) == {"save": "succeeded", "mend": "pending"}, "what ran does not run again"
    succeed(lite, plan_id, "mend")
    assert lite.view(plan_id).outcome == "succeeded"
    assert step_row(lite, plan_id, "save").attempt == 1


def test_a_plan_that_no_person_approved_changes_nothing_on_a_planners_word(lite):
    mandate = {"extra": ("ops.deploy service=a x1",)}
    lite.publish(CONTRACTS.values())
    plan_id = lite.request("look", team="T1", user="ANN", channel="C1")
    spec = PlanSpec.model_validate({"goal": "look", "steps": [LOOK], "mandate": mandate})
    lite.propose(plan_id, spec, terms(0), author="planner")
    broke(lite, plan_id, "look", "permanent")
    think(bot(lite, advice("alternative", step("look-2", READ), step("mend", DEPLOY))))

    assert lite.view(plan_id).state == PlanState.stalled
    assert "no person has approved" in lite.view(plan_id).reason


def test_a_retry_that_is_not_safe_is_only_suggested(lite):
    plan_id = approved(lite, step("deploy", DEPLOY))
    broke(lite, plan_id, "deploy")
    think(bot(lite, advice("retry", key="deploy")))

    assert lite.view(plan_id).state == PlanState.stalled
    assert decided(lite, plan_id) == ["ask"]


# one step at a time


def test_a_plan_that_continues_goes_on_until_its_checks_hold_and_its_last_word_answers_the_goal(lite):
    goal = (Check(field="say.version", op="exists"),)
    plan_id = approved(lite, LOOK, continues=True, done_when=goal)
    succeed(lite, plan_id, "look")
    think(bot(lite, advice("amend", step("say", READ, parameters={"service": "b"}), key="")))
    assert states(lite, plan_id) == {"look": "succeeded", "say": "pending"}
    succeed(lite, plan_id, "say", version="v2", text="errors fell by half")
    think(bot(lite, advice("amend", step("more"), key="")))

    assert decided(lite, plan_id) == ["amend", "finish"]
    assert lite.view(plan_id).outcome == "succeeded"
    assert "errors fell by half" in shown(lite, plan_id, "summary")


def test_finish_is_not_the_models_to_say(lite):
    plan_id = approved(lite, LOOK, continues=True, done_when=(Check(field="look.failed", op="eq", value=0),))
    succeed(lite, plan_id, "look", failed=3)
    think(bot(lite, advice("finish", key="")))

    assert decided(lite, plan_id) == ["ask"]
    assert "look.failed eq 0" in lite.view(plan_id).reason
    said = {"verb": "finish", "step": "", "reason": "done", "source": "model", "wait": 0.0}
    lite.guide(plan_id, "so what", user="ANN")
    with pytest.raises(NotAllowed, match="not reached"):
        lite.decide(plan_id, lite.to_review()[0][1], said)


def test_a_continued_plan_that_nobody_can_continue_asks_and_a_person_ends_it(lite):
    plan_id = approved(lite, LOOK, continues=True)
    succeed(lite, plan_id, "look")
    think(bot(lite))
    assert "answer_abort" in shown(lite, plan_id, "review")
    lite.answer(plan_id, "", "abort", user="ANN")

    assert (lite.view(plan_id).state, lite.view(plan_id).outcome) == (PlanState.done, "incomplete")


def test_added_steps_are_counted_over_all_revisions(lite):
    plan_id = approved(lite, LOOK, continues=True, mandate={"max_added_steps": 2})
    succeed(lite, plan_id, "look")
    for n in range(3):
        verb, lost = ("alternative", f"next-{n - 1}") if n else ("amend", "")
        think(bot(lite, advice(verb, step(f"next-{n}"), key=lost, drop=lost)))
        if lite.view(plan_id).state == PlanState.approved:
            broke(lite, plan_id, f"next-{n}", "permanent")

    assert lite.view(plan_id).state == PlanState.stalled
    assert "the mandate allows 2 added steps" in lite.view(plan_id).reason


def test_a_step_under_the_name_of_another_is_counted_too(lite):
    plan_id = approved(lite, LOOK, continues=True, mandate={"max_added_steps": 1})
    succeed(lite, plan_id, "look")
    said = {"verb": "amend", "step": "", "reason": "more", "source": "model", "wait": 0.0}
    plans = [
        plan_spec(LOOK, step("more", parameters={"service": name}), continues=True,
                  mandate={"max_added_steps": 1})
        for name in "ab"
    ]  # fmt: skip
    lite.decide(plan_id, lite.to_review()[0][1], said, spec=plans[0])
    broke(lite, plan_id, "more", "permanent")

    with pytest.raises(NotAllowed, match="1 added steps in all"):
        lite.decide(plan_id, lite.to_review()[0][1], said, spec=plans[1])


def test_where_the_planner_looks_at_every_step_nothing_starts_before_it_has(lite):
    plan_id = approved(lite, LOOK, step("deploy", DEPLOY), review="always")
    succeed(lite, plan_id, "look", failed=9)
    assert lite.view(plan_id).state == PlanState.stalled
    think(bot(lite, advice("continue", key="")))
    assert lite.view(plan_id).state == PlanState.approved
    succeed(lite, plan_id, "deploy")
    think(bot(lite))

    assert decided(lite, plan_id) == ["continue", "finish"]
    assert lite.view(plan_id).outcome == "succeeded"


def test_what_the_planner_finds_odd_a_person_lets_go_on(lite):
    plan_id = approved(lite, LOOK, step("deploy", DEPLOY), review="always")
    succeed(lite, plan_id, "look", failed=9)
    think(bot(lite, advice("ask", key="")))
    assert lite.view(plan_id).state == PlanState.stalled
    assert "answer_confirm" in shown(lite, plan_id, "review")
    lite.answer(plan_id, "", "confirm", user="BOB")

    assert lite.view(plan_id).state == PlanState.approved
    assert states(lite, plan_id) == {"look": "succeeded", "deploy": "pending"}


# guidance


def test_a_persons_words_reach_the_planner_and_the_journal(lite):
    plan_id, heard = approved(lite, LOOK), list[str]()
    broke(lite, plan_id, "look", "permanent")
    think(bot(lite))
    give_guidance(bot(lite), "ANN", lite.view(plan_id), " look at b instead ", key="look")

    def advise(now: Progress, history: Any, rungs: Any, spend: Any) -> Decision:
        heard.append(now.guidance)
        other = step("other", READ, parameters={"service": "b"})
        spec = now.spec.model_copy(update={"steps": (other,)})
        return Decision(verb="alternative", step="look", reason="as told", spec=spec, source="model")

    think(bot(lite, advise))
    succeed(lite, plan_id, "other")

    assert heard == ["look at b instead"]
    assert {"step": "look", "choice": "guide", "text": "look at b instead"} in [
        event.data for event in lite.events(plan_id)
    ]
    assert lite.view(plan_id).outcome == "succeeded"


def test_guidance_needs_a_planner_who_may_and_a_plan_that_waits(lite):
    plan_id = approved(lite, LOOK)
    with pytest.raises(Conflict):
        give_guidance(bot(lite), "ANN", lite.view(plan_id), "go on")
    broke(lite, plan_id, "look", "permanent")
    with pytest.raises(NotAllowed):
        give_guidance(bot(lite), "MALLORY", lite.view(plan_id), "go on")
    give_guidance(bot(lite), "BOB", lite.view(plan_id), "go on")
    think(bot(lite))

    assert lite.view(plan_id).state == PlanState.stalled
    assert "No model could follow" in lite.view(plan_id).reason


# once, and nothing beyond


def test_an_event_is_answered_once_whoever_is_first(lite):
    plan_id = approved(lite, LOOK)
    broke(lite, plan_id, "look")
    ((_, look),) = lite.to_review()
    said = {"verb": "retry", "step": "look", "reason": "again", "source": "rules", "wait": 1.0}
    lite.decide(plan_id, look, said)

    with pytest.raises(Conflict):
        lite.decide(plan_id, look, said)
    assert lite.to_review() == []
    assert verbs(lite, plan_id).count("decide") == 1


def test_a_death_before_the_commit_repeats_the_thinking_and_nothing_else(lite, monkeypatch):
    plan_id, thoughts = approved(lite, LOOK), list[str]()
    lite.publish([*CONTRACTS.values(), MIRROR])
    broke(lite, plan_id, "look", "permanent")

    class Killed(BaseException):
        """As SIGKILL: nobody catches it."""

    def dies(*_: Any) -> None:
        thoughts.append("decided")
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("storage.plans.decisions.settle_plans", dies)
        with pytest.raises(Killed):
            think(bot(lite))
    assert (lite.view(plan_id).revision, decided(lite, plan_id)) == (1, [])
    think(bot(lite))
    think(bot(lite))

    assert thoughts == ["decided"]
    assert (lite.view(plan_id).revision, decided(lite, plan_id)) == (2, ["alternative"])


def test_a_person_who_was_faster_is_not_overruled(lite):
    plan_id = approved(lite, LOOK)
    broke(lite, plan_id, "look", "permanent")

    def slow(now: Progress, history: Any, rungs: Any, spend: Any) -> Decision:
        lite.answer(plan_id, "look", "abort", user="ANN")
        return Decision(verb="retry", step="look", reason="again", source="model")

    think(bot(lite, slow))

    assert lite.view(plan_id).outcome == "failed"
    assert decided(lite, plan_id) == []


def test_what_asks_a_person_is_not_answered_by_the_planner(lite):
    plan_id = approved(lite, LOOK)
    lite.publish([contract("check", changes=False, repeat="safe", timeout=1.0)])
    changed = contract("check", changes=False, repeat="safe", timeout=1.0)
    lite.claim(step_row(lite, plan_id, "look").id or 0, taker(changed))

    assert lite.view(plan_id).state == PlanState.stalled
    assert lite.to_review() == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE revision SET parent = 7 WHERE number = 2", "is not the one that was approved"),
        ("UPDATE revision SET spec = replace(spec, 'ops', 'opz') WHERE number = 1",
         "is not the one that was approved"),
        ("DELETE FROM approval", "is not the one that was approved"),
    ],
)  # fmt: skip
def test_the_claim_looks_at_the_parent_for_itself(lite, statement, said):
    plan_id = approved(lite, LOOK)
    lite.publish([*CONTRACTS.values(), MIRROR])
    broke(lite, plan_id, "look", "permanent")
    think(bot(lite))
    tamper(lite, statement)

    assert lite.claim(step_row(lite, plan_id, "look-2").id or 0, taker(MIRROR)) is None
    assert said in lite.view(plan_id).step("look-2").report.summary


def test_thinking_that_breaks_ends_at_a_person(lite):
    plan_id = approved(lite, LOOK)
    broke(lite, plan_id, "look", "permanent")

    def mad(*_: Any) -> Decision:
        raise RuntimeError("a bug")

    think(bot(lite, mad))

    assert lite.view(plan_id).state == PlanState.stalled
    assert "broke on my side" in lite.view(plan_id).reason
    assert lite.to_review() == []


def test_a_budget_holds_for_the_review_too(lite):
    plan_id = approved(lite, LOOK)
    lite.book(plan_id, model="m", usd=1.0, tokens={})
    broke(lite, plan_id, "look", "permanent")
    think(bot(lite, advice("alternative", step("other"))))

    assert decided(lite, plan_id) == ["ask"]
    assert lite.spent(plan_id)[0] == 1.0


def test_the_ladder_stands_anew_after_guidance_and_only_then(lite):
    plan_id = approved(lite, LOOK)
    for _ in range(3):
        lite.clock.advance(minutes=10)
        broke(lite, plan_id, "look")
        think(bot(lite))
    give_guidance(bot(lite), "ANN", lite.view(plan_id), "once more")
    think(bot(lite, advice("retry")))

    assert decided(lite, plan_id) == ["retry", "retry", "ask", "retry"]
    assert lite.view(plan_id).state == PlanState.approved


# what was approved to be asked is asked

LIST = contract("list", changes=False, repeat="safe")
OFFERED = [*CONTRACTS.values(), MIRROR, LIST]
HEALTHY = Check(field="failed", op="eq", value=0)
WEAKER = Check(field="failed", op="exists")
CHECKED = step("look", READ, success_criteria=(HEALTHY,))
INSTEAD = step("look-2", READ, success_criteria=(HEALTHY,))
ELSEWHERE = step(
    "look-2",
    READ,
    success_criteria=(HEALTHY,),
    parameters={"service": "b"},
    binding=READ.binding({"service": "b"}),
)
EVASIONS: dict[str, Any] = {
    "another action": advice("alternative", step("list", LIST), drop="look"),
    "another action beside it": advice("alternative", step("list", LIST)),
    "as smaller steps": advice("simplify", step("list", LIST), step("list-2", LIST), drop="look"),
    "as an amendment": advice("amend", step("list", LIST), drop="look"),
    "another action with its criteria": advice("alternative", step("ls", LIST, success_criteria=(HEALTHY,))),
    "the same action on something else": advice("alternative", ELSEWHERE, drop="look"),
    "without its criteria": advice("alternative", step("look-2", READ), drop="look"),
    "with weaker criteria": advice("alternative", step("ok", READ, success_criteria=(WEAKER,)), drop="look"),
    "whose failure asks nobody": advice(
        "alternative", INSTEAD.model_copy(update={"failure_action": "continue"}), drop="look"
    ),
    "nothing at all": advice("alternative", drop="look"),
    "the end": advice("abort"),
}  # fmt: skip


def asked(store: Store, *steps: StepSpec, **fields: Any) -> int:
    """A plan of these steps, of which the first has failed for good, where everything is offered."""
    plan_id = approved(store, *steps, **fields)
    store.publish([found for found in OFFERED if found != MIRROR])
    broke(store, plan_id, steps[0].id, "permanent")
    return plan_id


def choosable(store: Store, plan_id: int) -> dict[str, bool]:
    return {step.spec.id: bool(step.choices) for step in store.view(plan_id).steps}


@pytest.mark.hostile
@pytest.mark.parametrize("said", EVASIONS)
def test_nothing_but_a_stand_in_answers_what_a_person_was_to_be_asked(lite, said):
    plan_id = asked(lite, CHECKED, step("last", READ))
    think(bot(lite, EVASIONS[said]))

    view = lite.view(plan_id)
    assert (view.state, view.revision, view.outcome) == (PlanState.stalled, 1, "")
    assert choosable(lite, plan_id)["look"]
    assert decided(lite, plan_id) == ["ask"]


@pytest.mark.hostile
@pytest.mark.parametrize("said", EVASIONS)
def test_the_rows_do_not_take_such_an_answer_either(lite, said):
    plan_id = asked(lite, CHECKED, step("last", READ))
    ((_, look),) = lite.to_review()
    decision = EVASIONS[said](progress(lite.view(plan_id)), (), (), lambda *_: None)
    words = {"verb": decision.verb, "step": "look", "reason": "", "source": "model", "wait": 0.0}
    with pytest.raises(NotAllowed):
        lite.decide(plan_id, look, words, spec=decision.spec)

    assert lite.view(plan_id).revision == 1
    assert lite.to_review() == [(plan_id, look)]


@pytest.mark.hostile
def test_the_rows_take_no_change_without_what_the_approved_one_relied_on(lite):
    """The backup goes, and with it the change, for one that the mandate names."""
    steps = (LOOK, step("save", BACKUP), step("deploy", DEPLOY, depends_on=("save",)))
    plan_id = asked(lite, *steps, mandate={"extra": ("ops.backup service=a|b",)})
    ((_, look),) = lite.to_review()
    spec, again = lite.view(plan_id).spec, step("again", READ)
    other = spec.model_copy(update={"steps": (again, step("other", BACKUP, parameters={"service": "b"}))})
    words = {"verb": "amend", "step": "look", "reason": "", "source": "model", "wait": 0.0}

    with pytest.raises(NotAllowed, match="other would come without save"):
        lite.decide(plan_id, look, words, spec=other)


@pytest.mark.hostile
def test_dispatch_finds_the_question_that_a_revision_goes_past(lite, monkeypatch, caplog):
    plan_id = asked(lite, CHECKED, step("last", READ))
    ((_, look),) = lite.to_review()
    decision = EVASIONS["another action"](progress(lite.view(plan_id)), (), (), lambda *_: None)
    words = {"verb": "alternative", "step": "look", "reason": "", "source": "model", "wait": 0.0}
    monkeypatch.setattr("storage.plans.decisions._unanswered", lambda *_: set())
    lite.decide(plan_id, look, words, spec=decision.spec)

    claimed = lite.claim(step_row(lite, plan_id, "list").id or 0, taker(*OFFERED))

    assert claimed is None
    assert "nothing stands in for look, and nobody was asked" in caplog.text
    assert lite.view(plan_id).state == PlanState.stalled


def test_what_stands_in_is_held_to_the_criteria_of_the_step_that_it_stands_in_for(lite):
    plan_id = asked(lite, CHECKED, step("last", READ))
    think(bot(lite, advice("alternative", INSTEAD, drop="look")))

    assert lite.view(plan_id).state == PlanState.approved
    claimed = take(lite, plan_id, "look-2")
    assert claimed.criteria == (HEALTHY,)
    lite.fail(claimed, AnyReport.failed("2 failed"), actor="w1")
    think(bot(lite))
    assert lite.view(plan_id).state == PlanState.stalled
    assert choosable(lite, plan_id)["look-2"]


def test_a_stand_in_that_is_dropped_again_leaves_the_question_open(lite):
    plan_id = asked(lite, CHECKED, step("last", READ))
    think(bot(lite, advice("alternative", INSTEAD, drop="look")))
    broke(lite, plan_id, "last", "permanent")
    think(bot(lite, advice("alternative", step("last-2", READ), key="last", drop="look-2")))

    assert states(lite, plan_id) == {"look-2": "pending", "last": "failed"}
    assert lite.view(plan_id).state == PlanState.stalled


def test_of_two_questions_one_is_answered_and_the_other_stands(lite):
    last = step("last", LIST)
    lite.publish(found := [*CONTRACTS.values(), LIST])
    plan_id = approved(lite, CHECKED, last)
    lite.publish(found)
    claims = [lite.claim(step_row(lite, plan_id, key).id or 0, taker(*found)) for key in ("look", "last")]
    for claimed in claims:
        assert claimed is not None
        lite.fail(claimed, AnyReport.failed("it broke"), actor="w1")
    think(bot(lite, advice("alternative", INSTEAD, drop="look")))

    assert states(lite, plan_id) == {"look-2": "pending", "last": "failed"}
    assert lite.view(plan_id).state == PlanState.stalled
    assert choosable(lite, plan_id) == {"look-2": False, "last": True}
    think(bot(lite, advice("alternative", step("check", READ), key="last")))
    assert lite.view(plan_id).state == PlanState.stalled
    assert decided(lite, plan_id) == ["alternative", "ask"]


def test_what_the_approved_mandate_names_stands_in(lite):
    named = {"alternatives": ("ops.list service=a for ops.check service=a",)}
    plan_id = asked(lite, LOOK, step("last", READ), mandate=named)
    think(bot(lite, advice("alternative", step("list", LIST), drop="look")))

    assert lite.view(plan_id).state == PlanState.approved
    assert states(lite, plan_id) == {"last": "pending", "list": "pending"}


def test_a_permit_is_not_taken_over_into_a_revision(lite):
    plan_id = asked(lite, LOOK, step("deploy", DEPLOY))
    think(bot(lite, advice("alternative", step("look-2", READ), drop="look")))

    assert lite.view(plan_id).revision == 2
    assert [row.key for row in lite.unpermitted()] == ["deploy"]
