"""What a card leaves out: what was said already, and what only we call so."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.board.parts.status import of_step
from bot.cards.about_plan import tell
from bot.cards.card import body, card, unready
from bot.cards.escalation import means, takeover_form
from bot.cards.face.running import counted
from bot.cards.thread import message
from storage.contract.capability import Check
from storage.contract.report import CHECKPOINT, AnyReport
from storage.contract.spec import Schedule
from storage.contract.states import DECLINED, PlanState, StepState
from storage.database.tables import Event
from storage.reading.plan_view import PlanView, StepView
from storage.settling.questions import PASSED, UNSTARTED
from tests.support.fakes import DEPLOY, NOW, READ, contract, step
from tests.support.samples.cards import plan_view

SECOND = {"started_at": NOW, "ended_at": NOW + timedelta(seconds=1), "attempt": 1}
LONG = "auth_prod backed up: 147.5 kB, 2 tables with 4000 rows, read back and checksummed, on disk 2"
LOOK, GO = step("look", READ), step("go", DEPLOY, depends_on=("look",))


def told(*steps: StepView, **given: object) -> str:
    return "\n".join(body(plan_view(*steps, **{"state": PlanState.approved, **given}), NOW))


def well(spec=GO, said: str = "9 passed in 1.0 s on staging") -> StepView:
    return StepView(spec, state=StepState.succeeded, report=AnyReport.ok(said, {}), **SECOND)


def test_a_report_that_says_how_long_it_took_is_not_told_again_how_long():
    running = told(well())
    ended = told(well(), state=PlanState.done, outcome="succeeded")

    assert "in 1.0 s" in running
    assert running.count("1.0 s") == ended.count("1.0 s") == 1


def test_of_a_step_that_went_well_the_card_says_the_main_thing():
    assert told(well(said=LONG)).endswith("auth_prod backed up: 147.5 kB, 2 tables with 4000 rows · 1 s")


def test_a_countdown_stands_once_and_an_end_of_the_same_day_without_the_day():
    at, end = NOW + timedelta(hours=3), NOW + timedelta(hours=5)
    times = Schedule(at="3am", not_before=at, not_after=end, zone="UTC")
    waits = StepView(step("go", DEPLOY, schedule=times), not_before=at, not_after=end)

    shown = told(waits)

    assert shown.count("in 3 h") == 1
    assert shown.endswith(f", until {end:%H:%M}")


def test_a_plan_that_failed_before_it_changed_anything_says_so():
    bad = StepView(LOOK, state=StepState.failed, report=AnyReport.failed("2 tests failed"), **SECOND)
    over = {"state": PlanState.done, "outcome": "failed", "reason": "step look failed"}
    began = replace(bad, spec=GO)

    untouched, touched = told(bad, StepView(GO), **over), told(began, **over | {"reason": "step go failed"})

    assert "Step 1 failed. Nothing was changed." in untouched
    assert untouched.count("not run") == 1
    assert "Nothing was changed" not in touched


def test_what_is_true_after_a_rollback_stands_before_how_it_went():
    bad = StepView(GO, state=StepState.failed, report=AnyReport.failed("pods crash"), **SECOND)
    report = AnyReport.ok("a stays at v1", {})
    undone = StepView(step("back", DEPLOY), state=StepState.succeeded, undo=True, report=report, **SECOND)
    over = {"state": PlanState.done, "outcome": "rolled_back", "reason": "rolled back"}
    shown = told(well(LOOK), bad, undone, **over)

    assert shown.split("\n")[1] == "Step 2 failed. Now: a stays at v1."
    assert shown.count("a stays at v1") == 1


def test_an_only_step_is_not_counted_and_an_ending_says_why_once():
    bad = StepView(LOOK, state=StepState.failed, report=AnyReport.failed("2 tests failed"), **SECOND)
    alone = told(bad, state=PlanState.done, outcome="failed", reason="step look failed")
    late = told(StepView(GO), state=PlanState.expired, reason="nobody decided in time")

    assert "Step 1" not in alone
    assert late.count("nobody decided") == 1


def test_a_gate_that_waits_is_no_failure_and_asks_once():
    asked = "Does the dashboard look right?"
    report = AnyReport.failed(asked, {CHECKPOINT: True})
    gate = StepView(LOOK, state=StepState.failed, report=report, choices=("confirm", "abort"), **SECOND)
    says = {(READ.worker, READ.action): contract(READ.action, says=f"*Ask:* {asked}")}
    view = plan_view(gate, StepView(GO), state=PlanState.stalled, reason="step look failed", contracts=says)

    assert "failed" not in "\n".join(body(view, NOW))
    assert said_of(view, "look", asked, asks=True).count(asked) == 1


def test_a_question_that_was_answered_with_no_waits_for_nobody():
    asked = "Integrate “Price clocks”?"
    report = AnyReport.failed(asked, {CHECKPOINT: True})
    gate = StepView(LOOK, state=StepState.failed, report=report, choice=DECLINED, **SECOND)
    steps = (gate, *(well(step(f"go-{number}", DEPLOY)) for number in range(30)))
    going = told(*steps)
    ended = told(*steps, state=PlanState.done, outcome="incomplete")
    left = plan_view(replace(gate, choice=""), state=PlanState.cancelled)

    assert "waiting for an answer" not in going + ended
    assert "30 done, 1 declined" in going
    assert "30 done, 1 declined" in ended
    assert ":heavy_minus_sign:" in ended
    assert counted(left) == "1 not answered"
    assert of_step(gate) == ("skip", "Declined")


def test_a_missed_time_is_said_as_one():
    planned = Schedule(at="3am", not_before=NOW, not_after=NOW + timedelta(hours=2), zone="UTC")
    report, offered = AnyReport.failed(f"{UNSTARTED}{PASSED}"), ("next", "time", "abort")
    late = StepView(step("go", DEPLOY, schedule=planned), StepState.failed, report=report, choices=offered)
    said = said_of(plan_view(late, state=PlanState.stalled), "go", report.summary)
    moved = said_of(plan_view(replace(late, choices=()), state=PlanState.approved), "go", PASSED)

    assert "*Deploy a missed its time*" in moved
    assert f"*Deploy a missed its time* ({NOW:%a %H:%M} UTC, until" in said
    assert "failed" not in said


def said_of(view: PlanView, key: str, summary: str, **data: object) -> str:
    given = {"step": key, "summary": summary, **data}
    event = Event(plan_id=1, seq=3, at=NOW, verb="fail", actor="w", data=given, prev="", hash="")
    return message("outcome", view, event, NOW)[0]


@pytest.mark.parametrize(
    ("more", "said"), [((), "ends the plan without it"), ((GO,), "goes on with the rest")]
)
def test_going_on_without_the_last_step_is_the_end(more, said):
    bad = StepView(LOOK, state=StepState.failed, report=AnyReport.failed("no"), choices=("skip",), **SECOND)
    free = [StepView(spec.model_copy(update={"depends_on": ()})) for spec in more]

    assert means(plan_view(bad, *free, state=PlanState.stalled), bad, "skip") == said


def test_whoever_did_it_by_hand_chooses_yes_or_no_where_the_plan_asks_that():
    made = contract("go", data={"type": "object", "properties": {"verified": {"type": "boolean"}}})
    kept = Check(field="verified", op="eq", value=True)
    bad = StepView(step("go", made, success_criteria=(kept,)), state=StepState.failed)

    field = takeover_form(plan_view(bad, state=PlanState.stalled), bad, made)["blocks"][-1]

    assert [option["text"]["text"] for option in field["element"]["options"]] == ["Yes", "No"]
    assert field["hint"]["text"] == "must be yes"


def test_who_asks_why_it_failed_hears_all_of_it():
    why = "7 of 9 tests failed; first: " + "tests/test_auth.py:12 a fresh token names its user " * 4
    bad = StepView(LOOK, state=StepState.failed, report=AnyReport.failed(why), **SECOND)

    assert why.strip()[-40:] in tell(
        plan_view(bad, state=PlanState.done, outcome="failed"), "failure", "", NOW
    )


def test_a_difference_says_values_in_the_words_of_the_step():
    fields = {"type": "object", "properties": {name: {"type": "string"} for name in ("strategy", "test_it")}}
    made = contract("go", parameters=fields, says="*Go* {strategy:blue_green=blue-green}")
    changes = ("go: strategy blue_green → canary", "go: test_it False → True")
    view = plan_view(StepView(step("go", made)), revision=2, changes=changes, contracts={("ops", "go"): made})

    shown = "\n".join(body(view, NOW))

    assert "strategy ~blue-green~ → *canary*; step 1: test it ~no~ → *yes*" in shown


def test_a_difference_names_steps_by_their_numbers_never_by_what_we_call_them():
    changes = ("save_it: removed", "go: waits for look", "look: waits for nothing")

    shown = told(StepView(LOOK), StepView(GO), state=PlanState.proposed, revision=2, changes=changes)

    assert "without *save it*; step 2: now after *1*; step 1: now *first*" in shown


def test_what_is_still_being_checked_names_nobody():
    asks = step("go", DEPLOY, failure_action="ask")
    text, blocks = card(unready(plan_view(StepView(asks))), NOW, on_call="S0ONCALL")

    assert "<" not in text
    assert "<@" not in str(blocks)
    assert "S0ONCALL" not in str(blocks)
    assert "'approve'" not in str(blocks)


def test_who_has_stopped_a_step_is_named_as_a_person():
    shown = told(StepView(GO, stopped="everything was stopped: disk trouble", stopped_by="U0CAROL"))

    assert "everything was stopped: disk trouble · by <@U0CAROL>" in shown


def test_what_was_brought_up_to_date_is_said_once():
    why = "brought up to date: ops.deploy takes or promises something else by now (go)"
    changes = (why, "go: what its action takes or promises changed", "go: a b → c")

    shown = told(StepView(LOOK), StepView(GO), state=PlanState.proposed, revision=2, changes=changes)

    assert shown.count("takes or promises") == 1
    assert "→ *c*" in shown
