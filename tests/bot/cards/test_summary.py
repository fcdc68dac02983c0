"""The last message of a plan: what may be done with it now."""

import pytest

from bot.cards.thread import message
from storage.contract.report import AnyReport
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import StepView
from tests.support.fakes import NOW, contract, step
from tests.support.samples.cards import buttons, happening, markup, plan_view


@pytest.mark.parametrize(("outcome", "offered"), [("succeeded", ["save"]), ("failed", ["plan_again"])])
def test_what_worked_can_be_saved_and_what_did_not_planned_again(outcome, offered):
    _, blocks = message("summary", plan_view(state=PlanState.done, outcome=outcome), happening("finish"), NOW)

    assert buttons(blocks) == offered


def test_what_took_no_time_worth_a_word_names_none():
    seen = StepView(step("go"), state=StepState.failed, started_at=NOW, ended_at=NOW)
    view = plan_view(seen, state=PlanState.done, outcome="failed")

    assert ": failed ·" in message("summary", view, happening("finish"), NOW)[0]


def test_the_place_of_an_only_step_is_said_once():
    made = contract("go", parameters={"type": "object", "properties": {"service": {"type": "string"}}},
                    says="*Restart* {service} on production")  # fmt: skip
    given = {"started_at": NOW, "ended_at": NOW, "report": AnyReport.ok("a restarted on production, 2/2", {})}
    seen = StepView(step("go", made), state=StepState.succeeded, **given)
    view = plan_view(seen, state=PlanState.done, outcome="succeeded", contracts={("ops", "go"): made})

    blocks = message("summary", view, happening("finish"), NOW)[1]

    assert "\na restarted, 2/2" in "\n".join(markup(blocks))
