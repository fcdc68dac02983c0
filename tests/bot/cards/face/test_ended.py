"""A finished card says each thing once: a phone shows it whole."""

from dataclasses import replace
from datetime import timedelta

from bot.cards.card import body, card
from bot.cards.details import facts
from storage.contract.report import AnyReport
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import PlanView, StepView
from tests.support.fakes import NOW, READ, contract, step
from tests.support.samples.cards import plan_view

GOES = contract("go", leaves="{service} is {version} on {environment}")
LOOK = step("look", READ)
GO = step("go", GOES, parameters={"service": "auth-service", "version": "v2", "environment": "production"})
WISH = "deploy auth-service v2 to production"


def ran(spec=GO, said: str = "auth-service v1 → v2 on production", after: int = 0) -> StepView:
    began = NOW + timedelta(seconds=after)
    times = {"started_at": began, "ended_at": began + timedelta(seconds=2), "attempt": 1}
    return StepView(spec, state=StepState.succeeded, report=AnyReport.ok(said, {}), **times)


def finished(*steps: StepView, **given: object) -> PlanView:
    known = {(made.worker, made.action): made for made in (GOES, READ)}
    return plan_view(*steps, state=PlanState.done, outcome="succeeded", text=WISH, contracts=known, **given)


def course(*steps: StepView) -> str:
    return body(finished(*steps), NOW)[0].split("\n")[1]


def test_what_the_heading_says_of_the_last_change_its_report_does_not_say_again():
    assert course(ran()) == "v1 → v2 (2 s)"
    assert course(ran(said="auth-service is v2: 2/2 ready")) == "2/2 ready (2 s)"
    assert course(ran(said="auth-service")) == "auth-service (2 s)"


def test_another_step_keeps_the_names_that_its_report_says():
    assert "production is up" in course(ran(LOOK, "production is up"), ran())


def test_what_a_report_says_in_brackets_is_for_the_thread_unless_it_went_wrong():
    bad = replace(ran(said="2 failed (of 9)"), state=StepState.failed)

    assert course(ran(said="147.5 kB (as large as the last)")) == "147.5 kB (2 s)"
    assert "2 failed (of 9) (2 s)" in "\n".join(body(replace(finished(bad), outcome="failed"), NOW))


def test_of_several_steps_that_went_well_seconds_and_particulars_are_for_the_thread():
    look, save = ran(LOOK, "9 passed in 0.8 s on staging"), ran(LOOK, "auth_prod backed up: 147.5 kB")

    assert course(look, save, ran()) == "9 passed on staging · auth_prod backed up · v1 → v2"
    assert course(save, ran()) == "auth_prod backed up: 147.5 kB · v1 → v2"


def test_minutes_that_a_step_took_are_said():
    long = replace(ran(), ended_at=NOW + timedelta(minutes=14, seconds=1))

    assert course(ran(LOOK, "up"), long).endswith("v1 → v2 (14 min 1 s)")


def test_of_several_steps_that_did_not_go_well_nothing_is_left_out():
    bad = replace(ran(LOOK, "no answer within 5 s: web-07"), state=StepState.failed)
    said = "\n".join(body(replace(finished(ran(), bad), outcome="failed"), NOW))

    assert "no answer within 5 s: web-07 (2 s)" in said


def test_a_minute_in_which_several_steps_began_is_said_once():
    early, same, late = ran(LOOK, "up"), ran(LOOK, "well", after=3), ran(after=120)

    assert course(early, same, late).count("<!date") == 2
    assert course(early, late).count("<!date") == 2
    assert "<!date" not in course(early, same)  # the heading says since when


def test_an_end_on_another_day_than_the_request_is_said_with_its_day():
    night = {"not_before": NOW, "zone": "America/New_York"}
    timed = step("go", GOES, parameters=GO.parameters, schedule=night)
    day = 24 * 3600

    assert "· since 18:00 EST" in body(finished(ran(timed, after=0)), NOW)[0]
    assert "· since 16 Nov 18:00 EST" in body(finished(ran(timed, after=day)), NOW)[0]
    assert "{date_short_pretty}" not in body(finished(ran()), NOW)[0]
    assert "{date_short_pretty} {time}" in body(finished(ran(after=day)), NOW)[0]


def test_the_wish_that_has_become_true_stands_in_details_alone():
    view = finished(ran(), approved_by=("UBOB",))

    assert WISH not in card(view, NOW)[0]
    assert f"<@UANN> asked: “{WISH}”" in facts(view)


def test_the_revision_that_was_done_stands_in_details_alone():
    view = finished(ran(), revision=2)

    assert "revision" not in card(view, NOW)[0]
    assert "revision 2" in facts(view)[0]


def test_a_wish_of_which_the_heading_says_no_outcome_stays():
    assert WISH in card(finished(ran(LOOK, "up")), NOW)[0]


def test_a_plan_that_is_done_but_incomplete_says_which_step_failed_and_not_that_one_did():
    bad = replace(ran(LOOK, "no answer"), state=StepState.failed)
    view = replace(finished(bad, ran()), outcome="incomplete", reason="not every step succeeded")

    said = "\n".join(body(view, NOW))
    assert "Step 1 failed." in said
    assert "very step" not in said


def test_a_cancelled_plan_says_what_of_it_has_happened():
    over = {"state": PlanState.cancelled, "outcome": "", "reason": "not today"}
    begun, untouched = (
        replace(finished(*steps), **over) for steps in ([ran(), StepView(LOOK)], [StepView(GO)])
    )

    said = body(begun, NOW)[0].split("\n")
    assert said[1] == ":no_entry:  *Cancelled*: not today"
    assert "v1 → v2" in said[2]
    assert "· not run: " in said[2]
    assert len(body(untouched, NOW)[0].split("\n")) == 2
