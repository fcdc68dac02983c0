"""A plan that went well becomes a runbook, and the runbook makes the same plan again."""

import pytest
import yaml

from bot.planner import planning
from bot.planner.evaluation import NOW, config
from bot.planner.examples import Stage, rehearse
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import SHIPPED, Missing, NoPlan
from bot.planner.runbooks.save import runbook
from bot.planner.validate import Catalogue
from storage.contract.spec import Mandate, PlanSpec
from storage.errors import SignoffError
from tests.support.samples.catalogue import published

BOOKS = runbooks.read([SHIPPED])
WISHES = [str(example) for book in BOOKS for example in book.examples]


def planned(wish: str, books: list[runbooks.Runbook] = BOOKS) -> PlanSpec:
    return prepare(
        planning.plan(wish, books, config(), contracts=published()).spec,
        Catalogue(published()),
        config(),
        NOW,
    )


def saved(spec: PlanSpec, name: str = "my-plan") -> runbooks.Runbook:
    text = runbook(spec, name=name, title="Mine", catalogue=Catalogue(published()), config=config())
    return runbooks.parse(f"{name}.yml", text)


@pytest.mark.parametrize("wish", WISHES)
def test_a_saved_runbook_makes_the_same_plan_again(wish):
    spec = planned(wish)
    book = saved(spec)
    when = next((s.schedule.at for s in spec.steps if s.schedule.at), "")
    again = planned(f"{book.examples[0]} {when}", [book])

    assert again.digest() == spec.digest()
    assert again.goal == spec.goal


@pytest.mark.parametrize("wish", WISHES)
def test_its_own_example_holds(wish):
    book = saved(planned(wish))
    trials = rehearse(Stage([*BOOKS, book], Catalogue(published()), config(), NOW), [book])

    assert [trial for trial in trials if trial.wrong] == []


def test_parameters_become_slots_and_what_belongs_together_stays_together():
    book = saved(planned("deploy auth-service v2.1.4 to production tonight at 2am EST"), "ship-it")
    other = planned("run ship-it checkout v3.0.1 production tomorrow at 02:00", [book])

    assert {*book.slots} == {"service", "version", "environment"}
    assert other.goal == "Deploy checkout v3.0.1 to production"
    assert other.find("backup").parameters["database"] == "orders_prod"
    assert other.find("deploy").parameters["strategy"] == "blue_green"
    assert other.find("deploy").schedule.not_before is not None
    assert other.find("test").schedule.not_before is None
    assert other.rollback[0].parameters["service"] == "checkout"


def test_what_is_missing_is_asked_for_in_a_form():
    book = saved(planned("scale auth-service to 5 in production"), "scale-it")

    with pytest.raises(Missing) as missing:
        planning.plan("run scale-it checkout", [book], config())

    kinds = {field.name: field.kind for field in missing.value.fields}

    assert kinds == {"service": "choice", "environment": "choice", "replicas": "number"}


def test_a_saved_runbook_is_chosen_by_its_name_only():
    book = saved(planned("restart auth-service in production"), "kick")

    with pytest.raises(NoPlan):
        planning.plan("restart auth-service in production", [book], config())
    assert planned("run kick auth-service production", [book]).steps[0].action == "restart"


def test_mandate_checks_and_criteria_are_kept():
    spec = planned("back up auth_prod").model_copy(
        update={"mandate": Mandate(extra=("k8s-deployer.restart service=checkout x2",)), "continues": True}
    )
    book = saved(spec)

    assert book.plan["mandate"]["extra"] == ["k8s-deployer.restart service=checkout x2"]
    assert book.plan["steps"][0]["success_criteria"] == ["backup_verified"]
    assert planned(str(book.examples[0]), [book]).digest() == spec.digest()


@pytest.mark.parametrize("name", ["", "A", "deploy auth", "../x", "x" * 50, "run\n"])
def test_a_name_that_cannot_be_a_file_is_refused(name):
    with pytest.raises(SignoffError, match="lower-case letters"):
        saved(planned("back up auth_prod"), name)


def test_a_value_that_looks_like_a_slot_is_refused():
    spec = planned("summarize /errors from metrics")
    steps = (
        spec.steps[0].model_copy(update={"parameters": {"source": "metrics", "path": "/{service.image}"}}),
    )

    with pytest.raises(SignoffError, match="braces"):
        saved(spec.model_copy(update={"steps": steps}))


def test_the_file_reads_well():
    text = runbook(
        planned("back up auth_prod"),
        name="save-auth",
        title="Save it",
        catalogue=Catalogue(published()),
        config=config(),
    )

    assert [*yaml.safe_load(text)] == ["id", "title", "examples", "never", "asks", "slots", "plan"]
    assert "contract" not in text
    assert "binding" not in text
