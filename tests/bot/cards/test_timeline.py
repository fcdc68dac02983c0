"""The picture of a finished plan."""

from dataclasses import replace
from datetime import timedelta

from bot.cards.timeline import bars, timeline
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import StepView
from tests.support.fakes import NOW, step
from tests.support.samples.cards import HUGE, hostile, plan_view


def test_a_picture_is_made_of_any_finished_plan():
    view = hostile(HUGE, 70, state=PlanState.done)
    steps = tuple(replace(s, started_at=NOW, ended_at=NOW) for s in view.steps)

    picture = timeline(replace(view, steps=steps), {})

    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 1_000_000


def test_what_follows_a_step_of_unknown_length_is_planned_from_its_real_end():
    end = NOW + timedelta(minutes=5)
    first = StepView(step("a"), state=StepState.succeeded, started_at=NOW, ended_at=end)
    then = StepView(step("b", depends_on=("a",)), state=StepState.succeeded, started_at=end, ended_at=end)

    one, two = bars(plan_view(first, then, state=PlanState.done), {"b": 30.0})

    assert one.planned is None
    assert two.planned == (end, end + timedelta(seconds=30))
