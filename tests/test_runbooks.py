"""Runbooks: what is plainly asked for becomes exactly that plan; everything else is answered in words."""

from datetime import UTC, datetime

import pytest

from bot.planner import runbooks
from bot.planner.prepare import prepare
from bot.planner.runbooks import SHIPPED, NoPlan
from bot.planner.validate import Catalogue
from storage.errors import BadConfig, SignoffError
from storage.spec import PlanSpec
from tests.fakes import NOW, demo_config, real_contracts

BOOKS = runbooks.read([SHIPPED])
EXAMPLES = [(book.id, example) for book in BOOKS for example in book.examples]


def chosen(wish: str) -> str:
    return runbooks.plan(wish, BOOKS, demo_config()).note


def planned(wish: str) -> PlanSpec:
    draft = runbooks.plan(wish, BOOKS, demo_config()).spec
    return prepare(draft, Catalogue(real_contracts()), demo_config(), NOW)


def answer(wish: str) -> str:
    with pytest.raises(NoPlan) as refused:
        runbooks.plan(wish, BOOKS, demo_config())
    return str(refused.value)


def test_the_shipped_runbooks_are_these():
    assert [book.id for book in BOOKS] == [
        "backup-database",
        "deploy-service",
        "rollback-service",
        "run-tests",
    ]


@pytest.mark.parametrize(("book", "example"), EXAMPLES)
def test_an_example_chooses_its_own_runbook_and_becomes_a_valid_plan(book, example):
    title = next(found.title for found in BOOKS if found.id == book)

    assert chosen(example) == f"from the runbook “{title}”"
    assert planned(example).goal


def test_a_request_becomes_exactly_that_plan():
    spec = planned("deploy auth-service v2.1.4 to production")

    assert spec.goal == "Deploy auth-service v2.1.4 to production"
    assert [step.id for step in spec.steps] == ["test", "backup", "deploy"]
    assert spec.find("backup").parameters["database"] == "auth_prod"
    assert spec.find("deploy").parameters == {
        "service": "auth-service", "version": "v2.1.4", "strategy": "blue_green", "environment": "production",
    }  # fmt: skip
    assert [undo.undoes for undo in spec.rollback] == ["deploy"]


@pytest.mark.parametrize(
    "wish",
    [
        "please deploy the auth-service v2.1.4 to production",
        "Ship AUTH-SERVICE 2.1.4 to PRODUCTION",
        "roll out auth-service version v2.1.4 in production",
        "upgrade auth-service to v2.1.4 in production",
        "release v2.1.4 of auth-service to production",
    ],
)
def test_the_same_request_in_other_words_is_the_same_plan(wish):
    spec = planned(wish)

    assert spec.find("deploy").parameters["service"] == "auth-service"
    assert spec.find("deploy").parameters["version"].removeprefix("v") == "2.1.4"
    assert spec.find("deploy").schedule.not_before is None


@pytest.mark.parametrize(
    "wish",
    [
        "don't deploy auth-service v2.1.4 to production",
        "do not deploy auth-service v2.1.4 to production",
        "never back up auth_prod",
        "please stop: deploy auth-service v2.1.4 to production",
        "deploy auth-service v2.1.4 to production without a backup",
        "cancel the backup of auth_prod",
        "run no tests on staging",
    ],
)
def test_what_says_not_to_is_no_plan(wish):
    assert "says not to" in answer(wish)


@pytest.mark.parametrize(
    "wish",
    [
        "deploy auth-service v2.1.4 to production?",
        "what does deploy auth-service v2.1.4 to production do",
        "should we back up auth_prod",
        "how do I run the full tests on staging",
        "is the backup of auth_prod good",
    ],
)
def test_a_question_is_no_plan(wish):
    assert "is a question" in answer(wish)


@pytest.mark.parametrize(
    "wish",
    [
        "order a pizza",
        "delete the production database",
        "",
        "   ",
        "restart auth-service",
        "scale auth-service to 5",
    ],
)
def test_what_no_runbook_covers_is_answered_with_examples(wish):
    assert answer(wish) == (
        "I have no runbook for that. Try: `/plan back up auth_prod`, "
        "`/plan deploy auth-service v2.1.4 to production`, "
        "`/plan roll back auth-service to v2.1.3 in production`, `/plan run the full tests on staging`"
    )


@pytest.mark.parametrize(
    ("wish", "question"),
    [
        ("deploy v2.1.4 to production", "Which service?"),
        ("deploy auth-service to production", "Which version?"),
        ("deploy auth-service v2.1.4", "Into which environment: production or staging?"),
        ("deploy billing-service v2.1.4 to production", "Which service?"),
        ("back up the database", "Which database?"),
        ("run the tests on staging", "Which suite?"),
    ],
)
def test_a_missing_fact_is_asked_for(wish, question):
    assert answer(wish).startswith(question)


def test_all_missing_facts_are_asked_for_at_once():
    assert answer("deploy it").startswith(
        "Which service? Which version? Into which environment: production or staging? For example: `/plan "
    )


@pytest.mark.parametrize(
    ("wish", "word"),
    [
        ("run the full tests on production", "production"),
        ("run the full tests on staging loudly", "loudly"),
        ("run the full tests on staging tonight", "tonight"),
        ("deploy auth-service v2.1.4 to production quietly", "quietly"),
        ("deploy auth-service v2.1.4 to production and staging", "staging"),
        ("deploy auth-service v2.1.4 to production skipping tests", "skipping"),
        ("deploy auth-service v2.1.4 v2.1.5 to production", "v2.1.5"),
        ("deploy auth-service v2.1.4 to production unless it is Friday", "unless"),
        ("back up auth_prod twice", "twice"),
        ("back up auth_prod and drop it", "drop"),
        ("roll back auth-service to v2.1.3 in production only the frontend", "only"),
    ],
)
def test_nothing_that_was_said_is_dropped_silently(wish, word):
    with pytest.raises(SignoffError, match=word):
        planned(wish)


@pytest.mark.parametrize(
    "wish",
    ["run the full integration tests on staging", "start all but the slow full tests on staging"],
)
def test_nothing_between_the_words_of_a_trigger_is_dropped_silently(wish):
    with pytest.raises(SignoffError):
        planned(wish)


@pytest.mark.parametrize(
    "wish",
    [
        "deploy auth-service v2.1.4 to production tonight at 2am EST",
        "tonight at 2am EST deploy auth-service v2.1.4 to production",
        "deploy auth-service v2.1.4 tonight at 2am EST to production",
        "deploy auth-service v2.1.4 to production in the nightly window",
        "deploy auth-service v2.1.4 to production, tomorrow 02:00 in New York",
    ],
)
def test_a_time_lands_on_the_step_that_it_is_about(wish):
    spec = planned(wish)

    assert spec.find("deploy").schedule.not_before == datetime(2026, 11, 16, 7, 0, tzinfo=UTC)
    assert spec.find("test").schedule.not_before is None
    assert spec.find("backup").schedule.not_before is None


def test_a_time_that_is_not_clear_is_asked_about():
    with pytest.raises(SignoffError, match="India, Ireland or Israel"):
        planned("deploy auth-service v2.1.4 to production at 2am IST")


@pytest.mark.parametrize(
    ("wish", "title"),
    [
        ("roll back auth-service to v2.1.3 in production", "Roll a service back to a version"),
        ("revert auth-service to v2.1.3 in production", "Roll a service back to a version"),
        ("roll out auth-service v2.1.4 to production", "Deploy a service"),
        ("back up auth_prod", "Back up a database"),
    ],
)
def test_an_operation_is_not_mistaken_for_its_inverse(wish, title):
    assert title in chosen(wish)


@pytest.mark.parametrize(
    "wish",
    [
        "restore auth_prod from the 2am backup",
        "undo the deploy of auth-service v2.1.4 in production",
        "recover auth_prod from backup",
        "revert the release backup of auth-service v2.1.4 in production",
    ],
)
def test_what_undoes_something_is_never_planned_as_doing_it(wish):
    with pytest.raises(SignoffError):
        planned(wish)


def test_what_could_mean_two_things_is_asked():
    assert answer("back up auth_prod and deploy auth-service v2.1.4 to production").startswith(
        "That could mean: back up a database or deploy a service. Please say which."
    )


def test_a_value_may_not_bring_slots_of_its_own():
    with pytest.raises(SignoffError, match=r"service\.image"):
        planned("deploy auth-service v2.1.4 to production {service.image}")


def test_a_service_without_a_database_is_named():
    inventory = {"services": {"lonely": {"environment": "production"}}}
    config = demo_config().model_copy(update={"inventory": inventory})

    with pytest.raises(NoPlan, match="The inventory says no “database” for this service"):
        runbooks.plan("deploy lonely v1.0 to production", BOOKS, config)


@pytest.mark.parametrize("content", ["id: x", "- 1", "id: [", "{id: x, sudo: true}", "\x00"])
def test_a_broken_runbook_is_named(tmp_path, content):
    (tmp_path / "mine.yml").write_text(content)

    with pytest.raises(BadConfig, match=r"mine\.yml"):
        runbooks.read([tmp_path])


def test_a_pattern_that_is_none_is_named_when_it_is_read(tmp_path):
    text = (SHIPPED / "run-tests.yml").read_text().replace(r"'\btests?\b'", "'('")
    (tmp_path / "mine.yml").write_text(text)

    with pytest.raises(BadConfig, match=r"mine\.yml"):
        runbooks.read([tmp_path])
