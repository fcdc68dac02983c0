"""What a plan's thread says, and what people may answer there."""

import json
from dataclasses import replace

import pytest

from bot.cards.thread import message, needless
from storage.contract.report import AnyReport
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import StepView
from tests.support.fakes import NOW, step
from tests.support.samples.cards import buttons, happening, plan_view


def test_a_failure_offers_what_a_person_may_answer():
    found = StepView(step("s1"), state=StepState.failed, choices=("retry", "abort"))
    _, blocks = message("outcome", plan_view(found), happening("fail", step="s1", summary="x"), NOW)

    assert buttons(blocks) == ["answer_retry", "answer_abort"]


def test_a_failure_that_was_answered_offers_nothing():
    found = StepView(step("s1"), state=StepState.failed)
    _, blocks = message("outcome", plan_view(found), happening("fail", step="s1", summary="x"), NOW)

    assert buttons(blocks) == []


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_who_decides_their_own_wish_is_not_told_of_it(verb):
    other = plan_view(state=PlanState.rejected)
    mine = replace(other, requester=happening(verb).actor)
    told = [message("decision", view, happening(verb, reason="late"), NOW)[0] for view in (other, mine)]

    assert [text.count("<@") for text in told] == [2, 1]


@pytest.mark.parametrize(
    ("state", "probing", "offered"),
    [
        (StepState.unknown, False, ["resolve_ran", "resolve_did_not", "resolve_look"]),
        (StepState.unknown, True, []),
        (StepState.succeeded, False, []),
    ],
)
def test_an_unknown_step_asks_until_it_is_resolved(state, probing, offered):
    found = StepView(step("s1"), state=state, probing=probing)
    _, blocks = message("question", plan_view(found), happening("lose", step="s1"), NOW)

    assert buttons(blocks) == offered


def test_a_plan_of_one_read_says_its_result_once():
    """Policy's own approval stands on the card, and the summary tells the result of the only step."""
    seen = StepView(step("s1"), state=StepState.succeeded, report=AnyReport.ok("3/3 ready " * 60, {}))
    view = plan_view(seen, outcome="succeeded", state=PlanState.done)
    by_policy = happening("approve").model_copy(update={"actor": "policy"})

    assert needless("outcome", view, happening("succeed", step="s1"))
    assert needless("decision", view, by_policy)
    assert "3/3 ready " * 60 in json.dumps(message("summary", view, happening("finish"), NOW)[1])
    assert not needless("decision", view, happening("approve"))
    assert not needless("outcome", replace(view, outcome="failed"), happening("fail", step="s1"))
    assert not needless("outcome", replace(view, steps=(seen, seen)), happening("succeed", step="s1"))
