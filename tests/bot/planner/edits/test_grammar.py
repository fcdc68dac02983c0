"""Edits in plain words: understood whole, or answered with a sentence; never an approval, never a guess."""

import pytest

from bot.cards.phrases import differences
from bot.planner import planning
from bot.planner.edits.changes import joined, placed, valued, without
from bot.planner.edits.grammar import NotUnderstood, examples, understand
from bot.planner.edits.pointing import EditContext
from bot.planner.evaluation import NOW, config, contracts
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from storage.contract.spec import PlanSpec
from storage.errors import BadTime, InvalidPlan, SignoffError
from tests.support.fakes import chain, plan_spec, step, undo

BOOKS = runbooks.read([runbooks.SHIPPED])
CATALOGUE = Catalogue(contracts())


def plan(wish: str = "deploy auth-service v2.1.4 to production") -> PlanSpec:
    return prepare(planning.plan(wish, BOOKS, config()).spec, CATALOGUE, config(), NOW)


def about(spec: PlanSpec | None = None) -> EditContext:
    return EditContext(
        spec or plan(), CATALOGUE, config(), NOW, lambda wish: planning.plan(wish, BOOKS, config()).spec
    )


def edits(words: str, spec: PlanSpec | None = None) -> list[str]:
    before = spec or plan()
    return differences(before, prepare(understand(words, about(before)), CATALOGUE, config(), NOW))


AT_TWO = "Mon 16 Nov 02:00 EST (07:00 UTC)"


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("move step 3 to 2am EST", [f"deploy: at once → {AT_TWO}"]),
        ("good, but step 3 at 2am EST", [f"deploy: at once → {AT_TWO}"]),
        ("Could you move the deploy to tomorrow 02:00 in New York?", [f"deploy: at once → {AT_TWO}"]),
        ("run step 3 in the next maintenance window", [f"deploy: at once → {AT_TWO}"]),
        (
            "postpone the deployment until tomorrow at 3am EST",
            ["deploy: at once → Mon 16 Nov 03:00 EST (08:00 UTC)"],
        ),
        ("delay the last step by 2 hours", ["deploy: at once → Mon 16 Nov 01:00 UTC"]),
        ("do it tomorrow night", ["test: at once → Tue 17 Nov 02:00 EST (07:00 UTC)"]),
        ("start everything in 20 minutes", ["test: at once → Sun 15 Nov 18:20 EST (23:20 UTC)"]),
        ("use canary instead", ["deploy: strategy blue_green → canary"]),
        ("use a rolling deployment", ["deploy: strategy blue_green → rolling"]),
        ("set the strategy to canary in step 3", ["deploy: strategy blue_green → canary"]),
        ("run the smoke suite instead of full", ["test: test_suite full → smoke"]),
        ("change full to smoke", ["test: test_suite full → smoke"]),
        ("version: v2.1.6", ["deploy: version v2.1.4 → v2.1.6"]),
        ("use v2.1.5 instead", ["deploy: version v2.1.4 → v2.1.5"]),
        ("set backup type to schema only", ["backup: backup_type full → schema_only"]),
        ("set restore test to yes", ["backup: restore_test False → True"]),
        ("drop step 2", ["backup: removed", "deploy: waits for test"]),
        ("leave out the database backup", ["backup: removed", "deploy: waits for test"]),
        (
            "use canary, and move step 3 to 2am EST",
            [f"deploy: at once → {AT_TWO}", "deploy: strategy blue_green → canary"],
        ),
        (
            "drop step 2 and set strategy to canary in step 3",
            ["backup: removed", "deploy: strategy blue_green → canary", "deploy: waits for test"],
        ),
        (
            "add run the smoke tests on staging",
            ["test-2: added (test-runner: run_tests, environment: staging, test suite: smoke)"],
        ),
    ],
)
def test_a_change_in_plain_words_is_made(words, changes):
    assert edits(words) == changes


@pytest.mark.parametrize(
    "words", ["swap steps 1 and 2", "run the backup before the tests", "put step 1 after 2"]
)
def test_steps_change_places_and_the_shape_stays(words):
    draft = understand(words, about())

    assert [(s.id, s.depends_on) for s in draft.steps] == [
        ("backup", ()), ("test", ("backup",)), ("deploy", ("test",))
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    ["don't use canary", "use staging", "skip step 9", "drop everything", "use frobnication instead",
     "use canary and sing a song", "move it", "", "what does step 2 do?", "move step 3"],
)  # fmt: skip
def test_what_is_not_understood_whole_changes_nothing(words):
    with pytest.raises(NotUnderstood, match=r"I understand, for example: “move step 3 to 2am”"):
        understand(words, about())


@pytest.mark.parametrize(
    ("words", "why"),
    [("move step 3 to teatime", "do not understand the time"), ("do it at 2", "morning or the afternoon"),
     ("move step 3 to 2am IST", "India, Ireland or Israel"), ("do it saturday night", "At what time")],
)  # fmt: skip
def test_a_time_that_is_not_clear_is_a_question(words, why):
    windowless = config().model_copy(update={"windows": {}}) if "night" in words else config()
    with pytest.raises(BadTime, match=why):
        understand(words, EditContext(plan(), CATALOGUE, windowless, NOW))


def test_a_value_that_the_action_does_not_take_is_named():
    with pytest.raises(InvalidPlan, match="'lunar' is not one of"):
        edits("set strategy to lunar")


def test_two_meanings_are_a_question():
    twice = plan_spec(step("one", parameters={"service": "a"}), step("two", parameters={"service": "b"}))
    found = EditContext(twice, Catalogue([]), config(), NOW)

    with pytest.raises(NotUnderstood, match="I do not understand"):
        understand("use c", found)


def test_what_undoes_a_step_follows_its_parameters_and_so_do_the_words():
    draft = understand("use v2.1.9", about())
    billing = valued(plan(), "deploy", "service", "billing")

    assert draft.goal == "Deploy auth-service v2.1.9 to production"
    assert draft.find("deploy").purpose == "Deploy auth-service v2.1.9"
    assert billing.rollback[0].parameters["service"] == "billing"


def test_a_step_that_goes_takes_its_undo_along_and_the_last_one_stays():
    spec = plan_spec(*chain("a", "b", "c"), rollback=(undo("u", "b"),))

    left = without(spec, "b")

    assert [(s.id, s.depends_on) for s in left.steps] == [("a", ()), ("c", ("a",))]
    assert left.rollback == ()
    with pytest.raises(SignoffError, match="at least one step"):
        without(plan_spec(step("a")), "a")


def test_added_steps_wait_for_the_rest_and_take_free_names():
    first, second = plan_spec(*chain("a", "b")), plan_spec(*chain("b", "c"), rollback=(undo("u", "c"),))

    both = joined(first, second)

    assert [(s.id, s.depends_on) for s in both.steps] == [
        ("a", ()), ("b", ("a",)), ("b-2", ("b",)), ("c", ("b-2",))
    ]  # fmt: skip
    assert both.rollback[0].undoes == "c"
    assert placed(both, ["a", "b", "b-2", "c"]) == both


def test_the_examples_are_understood_themselves():
    said = examples(about()).split("“")[1:]
    for words in (part.partition("”")[0] for part in said):
        assert edits(words)
