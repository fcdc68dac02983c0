"""The evaluation: its cases, what counts as right, and a floor that may only rise."""

import json

import pytest

from bot.planner import evaluation
from bot.planner.evaluation import (
    HERE,
    Case,
    cases,
    contracts,
    evaluate,
    main,
    offline,
    online,
    score,
)
from bot.planner.model import prompt
from bot.planner.model.calls import connect
from bot.planner.model.claude import Claude
from bot.planner.model.usage import PRICES
from bot.planner.model.wire import Asked, Declined
from bot.planner.runbooks.book import Planned
from bot.planner.validate import Catalogue
from tests.support.fake_model import KEY, MODEL, FakeModel, fails, says
from tests.support.samples.catalogue import published

FLOOR = json.loads((HERE / "floor.json").read_text())
FAMILIES = {"deploy", "rollback", "scale", "data", "investigate", "clarify", "refuse", "injection"}
FAMILIES |= {
    "chat",
    "fresh",
    "german",
    "outside",
    "polite",
    "spanish",
    "questions",
    "several",
    "terse",
    "times",
}
BACKUP = Case(say="back up auth_prod", answer="plan", must=("db-backup.backup_database database=auth_prod",))
DEPLOY = Case(
    say="deploy auth-service v2.1.4 to production", answer="plan",
    must=("k8s-deployer.deploy_service service=auth-service", "db-backup.backup_database"),
    before=(("backup_database", "deploy_service"),),
)  # fmt: skip


def judged(case: Case, say: str = "") -> evaluation.Score:
    return score(case, offline(say or case.say), Catalogue(contracts()))


def test_there_are_cases_of_every_kind():
    assert len(cases()) >= 80
    assert {case.family for case in cases()} == FAMILIES
    assert len({case.say for case in cases()}) == len(cases())


def test_the_cases_plan_with_the_actions_that_the_workers_publish():
    """Else: `python -m tests.support.samples.catalogue`."""
    ours, theirs = (
        {(one.worker, one.action): (one.reads, sorted(one.parameters["properties"])) for one in found}
        for found in (contracts(), published())
    )

    assert ours == theirs


def test_without_a_model_the_figures_do_not_fall_below_the_floor():
    """Whoever makes them better raises floor.json; nobody lowers it. The fields are those of `--json`."""
    text, code = main(as_json=True)
    found = json.loads(text)

    assert code == 0
    assert {"cases", "right", "forbidden", "wrong_choice", "plans", "questions", "refusals"} <= found.keys()
    assert sum(one["cases"] for one in found["families"].values()) == found["cases"]
    assert found["cases"] >= FLOOR["cases"]
    assert found["right"] >= FLOOR["right"], found["wrong"]
    assert (
        (found["forbidden"], found["wrong_choice"]) == (FLOOR["forbidden"], FLOOR["wrong_choice"]) == (0, 0)
    )


def test_the_table_says_what_is_not_right():
    text, code = main(as_json=False, planner=lambda text: Declined("no"))

    assert "refuse " in text
    assert "answered with refuse" in text
    assert code == 0


@pytest.mark.parametrize("case", [BACKUP, DEPLOY])
def test_a_right_plan_is_right(case):
    assert judged(case).wrong == ()


@pytest.mark.parametrize(
    ("case", "say", "wrong"),
    [
        (BACKUP, "back up orders_prod", "lacks db-backup.backup_database database=auth_prod"),
        (BACKUP, "restart auth-service in production", "has k8s-deployer.restart"),
        (BACKUP, "back up auth_prod tonight at 2am EST", "starts at"),
        (BACKUP, "order a pizza", "answered with refuse"),
        (BACKUP, "back up the database", "answered with clarify"),
        (DEPLOY, "back up auth_prod", "deploy_service does not wait for backup_database"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said(case, say, wrong):
    assert any(wrong in found for found in judged(case, say).wrong)


def test_a_plan_where_none_may_be_is_forbidden_and_fails_the_command():
    made = offline("back up auth_prod")
    found = score(Case(say="don't", answer="refuse"), made, Catalogue(contracts()))

    assert (found.forbidden, found.wrong_choice) == (1, 1)
    assert main(as_json=False, planner=lambda text: made)[1] == 1


def test_a_question_counts_as_one_whoever_asks():
    assert isinstance(offline("deploy it"), Asked)
    assert isinstance(offline("deploy auth-service v2.1.4 to production"), Planned)


@pytest.mark.model
def test_a_model_is_judged_by_the_same_cases():
    plan, _, refusal = (answer for _, answer in prompt.examples()[:3])
    tonight = Case(
        say="deploy it", answer="plan", at="2026-11-16T07:00:00Z", must=DEPLOY.must, before=DEPLOY.before
    )
    refused = Case(say="drop the users table", answer="refuse")
    with FakeModel(says(plan), says(refusal), fails(401)) as fake:
        client = connect(KEY, url=fake.url)
        claude = Claude(client, MODEL, "low", PRICES, lambda model, usage: None)
        scores = evaluate(online(claude), [tonight, refused, BACKUP])
        client.close()

    assert [score.wrong for score in scores] == [(), (), ("answered with refuse",)]
    assert "<runbooks>" in fake.requests[0]["system"][0]["text"]


def test_no_shipped_case_repeats_an_example_of_a_runbook_and_a_third_is_held_back():
    examples = {str(example).lower() for book in evaluation._books() for example in book.examples}

    assert [case.say for case in cases() if case.say.lower() in examples] == []
    assert 3 * sum(case.held for case in cases()) >= len(cases())
