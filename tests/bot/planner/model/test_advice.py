"""A model's advice on how a plan goes on: understood whole, or its problems named."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from bot.planner.decision import Progress
from bot.planner.evaluation import NOW, config
from bot.planner.model import advice, prompt
from storage.contract.capability import Check
from storage.contract.report import AnyReport
from storage.contract.spec import Mandate
from storage.errors import InvalidPlan
from tests.proof.parts.faulty import faults, knowing, met, offered
from tests.support.fake_model import says
from tests.support.samples.catalogue import published

pytestmark = pytest.mark.model


def test_advice_is_asked_for_in_the_same_way_and_booked(desk):
    fault = faults()["fetch-404"]
    answer = {"verb": "alternative", "step": "work", "reason": "audit has the same", "drop": [], "steps": [
        {"id": "other", "call": "data-retrieval.fetch", "purpose": "", "depends_on": [], "window": "",
         "at": "", "criteria": [], "checks": [], "failure_action": "ask", "args": [
             {"name": "source", "kind": "text", "value": "audit"},
             {"name": "path", "kind": "text", "value": "/errors"}]}]}  # fmt: skip
    asked = desk(says("{}"), says(json.dumps(answer)))
    made = asked.claude.advise(met(fault), (), ("alternative", "ask"), published(), config(), NOW)

    assert made.verb == "alternative"
    assert [step.id for step in made.spec.steps] == ["other", "look-2"]
    assert (len(asked.booked), asked.fake.rejected) == (2, [])
    assert "404 Not Found" in asked.fake.requests[0]["messages"][0]["content"]


RUNGS = ("retry", "alternative", "simplify", "amend", "ask")


def test_the_examples_of_the_prompt_hold_and_there_is_one_of_each_rung():
    now = met(faults()["fetch-404"])
    renamed = [
        re.sub('"step": "(test|deploy|fetch)"', '"step": "work"', answer)
        .replace("fetch.file", "work.file").replace('["fetch"]', '["work"]')
        for _, answer in prompt.examples("review")
    ]  # fmt: skip
    verbs = [advice.understood(one, now, RUNGS, offered(), config(), NOW).verb for one in renamed]

    assert verbs == ["retry", "alternative", "ask", "simplify", "amend", "finish", "ask"]


def test_a_rung_without_a_step_is_about_the_one_that_failed():
    found = advice.understood(said(verb="retry", step=""), met(faults()["fetch-404"]), RUNGS, offered(),
                              config(), NOW)  # fmt: skip

    assert (found.verb, found.step) == ("retry", "work")


def test_what_does_not_fit_is_shown_with_less_detail(desk):
    answer = says(json.dumps({"verb": "ask", "step": "work", "reason": "x", "steps": [], "drop": []}))
    asked = desk(answer, count=lambda body: 130_000)
    now = met(faults()["fetch-404"])
    report = AnyReport(status="failed", summary="x", data={f"f{n}": ["y" * 190] * 30 for n in range(30)})
    loud = replace(now, steps={key: replace(step, report=report) for key, step in now.steps.items()})
    asked.claude.advise(loud, (), ("retry", "ask"), published(), config(), NOW)

    assert len(asked.fake.counted) == 1, "what is small is not counted"
    assert len(asked.fake.requests[-1]["messages"][0]["content"]) < 60_000


def said(**fields: Any) -> str:
    return json.dumps({"verb": "ask", "step": "work", "reason": "", "steps": [], "drop": []} | fields)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (said(verb="alternative"), "no_steps"),
        (said(verb="retry"), "not_left"),
        (said(verb="continue"), "not_left"),
        (said(verb="approve"), "literal_error"),
        (said(verb="alternative", step="nowhere", drop=["look"]), "unknown_step"),
        (said(approved=True), "extra_forbidden"),
        (said(verb="alternative", mandate={"reads": True}), "extra_forbidden"),
        ("not json", "json_invalid"),
    ],
)
def test_an_answer_that_cannot_be_meant_is_named(answer, code):
    with pytest.raises(InvalidPlan) as refused:
        advice.understood(
            answer, met(faults()["fetch-404"]), ("alternative", "ask"), offered(), config(), NOW
        )

    assert code in [issue.code for issue in refused.value.issues]


def test_what_stands_in_for_a_step_gets_its_checks_whatever_the_model_wrote():
    fault = faults()["fetch-html"]
    now, check = met(fault), Check(field="rows", op="ge", value=1)
    work = now.spec.steps[0].model_copy(update={"success_criteria": (check,)})
    spec = now.spec.model_copy(update={"steps": (work, now.spec.steps[1])})
    decision = knowing(fault)(Progress(spec, spec, now.steps), (), ("alternative", "ask"))

    assert [(s.success_criteria, s.failure_action) for s in decision.spec.steps if s.id == "other-0"] == [
        ((check,), "ask")
    ]


def test_goal_mandate_checks_and_rollback_are_not_the_models_to_say():
    now = met(faults()["fetch-404"])
    closed = now.spec.model_copy(update={"mandate": Mandate(max_added_steps=2), "goal": "as approved"})
    now = Progress(closed, closed, now.steps)
    decision = knowing(faults()["fetch-404"])(now, (), ("alternative", "ask"))

    assert decision.spec.mandate == Mandate(max_added_steps=2)
    assert decision.spec.goal == "as approved"
