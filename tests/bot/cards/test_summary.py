"""The last message of a plan: what may be done with it now."""

import pytest

from bot.cards.thread import message
from storage.contract.states import PlanState
from tests.support.fakes import NOW
from tests.support.samples.cards import buttons, happening, plan_view


@pytest.mark.parametrize(("outcome", "offered"), [("succeeded", ["save"]), ("failed", ["plan_again"])])
def test_what_worked_can_be_saved_and_what_did_not_planned_again(outcome, offered):
    _, blocks = message("summary", plan_view(state=PlanState.done, outcome=outcome), happening("finish"), NOW)

    assert buttons(blocks) == offered
