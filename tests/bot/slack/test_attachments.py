"""Which files go with a message."""

from dataclasses import replace

import pytest

from bot.slack.attachments import attachments
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import StepView
from tests.support.fakes import NOW, step
from tests.support.samples.cards import plan_view
from tests.support.samples.without import forget

RAN = [StepView(step(name), state=StepState.succeeded, started_at=NOW, ended_at=NOW) for name in "ab"]


def test_a_finished_plan_comes_with_a_picture_where_one_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    view = replace(plan_view(*RAN), state=PlanState.done)
    assert attachments("summary", view, None) == [("timeline:1", "")]

    forget(monkeypatch, "PIL")

    assert attachments("summary", view, None) == []
