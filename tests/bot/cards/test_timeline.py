"""The picture of a finished plan."""

from dataclasses import replace

from bot.cards.timeline import timeline
from storage.contract.states import PlanState
from tests.support.fakes import NOW
from tests.support.samples.cards import HUGE, hostile


def test_a_picture_is_made_of_any_finished_plan():
    view = hostile(HUGE, 70, state=PlanState.done)
    steps = tuple(replace(s, started_at=NOW, ended_at=NOW) for s in view.steps)

    picture = timeline(replace(view, steps=steps), {})

    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 1_000_000
