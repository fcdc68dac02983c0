"""The edit form: each kind of change, errors at their fields, long plans, a plan that moved meanwhile."""

from datetime import timedelta

import pytest

from bot.cards.edit_form import edit_form, edit_page, edited, field_errors, pages
from bot.cards.forms import read_values, reject_form
from bot.cards.phrases import differences
from bot.local.people.inputs import mistakes, state_values
from bot.local.schema.limits import check_view
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from storage.contract.spec import PlanSpec, Schedule
from storage.errors import Issue
from storage.reading.plan_view import StepView
from tests.support.fakes import NOW, PLAN_JSON, demo_config, plan_spec, real_contracts, step, terms
from tests.support.room import Room
from tests.support.samples.cards import EVIL, Json, harmless, hostile, markup, plan_view

CATALOGUE = Catalogue(real_contracts())
PLANNED = prepare(PlanSpec.model_validate_json(PLAN_JSON), CATALOGUE, demo_config(), NOW)
VIEW = plan_view(*(StepView(found) for found in PLANNED.steps))


@pytest.fixture
def room(lite):
    """A deploy whose edit form ANN has open."""
    found = Room(lite)
    made = runbooks.plan("deploy auth-service v2.1.4 to production", found.bot.runbooks, demo_config()).spec
    found.proposed(prepare(made, CATALOGUE, demo_config(), NOW), terms(), real_contracts())
    found.clicks("ANN", "edit")
    return found


def fields(room: Room) -> dict[str, dict[str, object]]:
    return {block["block_id"]: block["element"] for block in room.opened[-1]["blocks"] if "element" in block}


def test_fields_are_typed_by_the_actions_schemas_and_the_inventory(room):
    check_view(room.opened[-1])

    found = fields(room)

    assert found["param:deploy:strategy"]["type"] == "static_select"
    assert [o["value"] for o in found["param:backup:restore_test"]["options"]] == ["true", "false"]
    assert found["param:test:test_suite"]["initial_option"]["value"] == "full"
    assert found["param:deploy:version"]["type"] == "plain_text_input"
    assert [o["text"]["text"] for o in found["place:test"]["options"]] == [
        "Place 1", "Place 2", "Place 3", "Remove this step"
    ]  # fmt: skip
    assert "add" in found


def test_a_number_is_asked_for_as_one(lite):
    room = Room(lite)
    made = runbooks.plan(
        "scale auth-service to 5 replicas in production", room.bot.runbooks, demo_config()
    ).spec
    room.proposed(prepare(made, CATALOGUE, demo_config(), NOW), terms(), real_contracts())
    room.clicks("ANN", "edit")
    key = next(name for name in fields(room) if name.endswith(":replicas"))

    assert (fields(room)[key]["type"], fields(room)[key]["max_value"]) == ("number_input", "1000")
    assert room.fills("ANN", {key: "7"}) == {}
    assert 7 in [found.spec.parameters.get("replicas") for found in room.view().steps]


@pytest.mark.parametrize(
    ("values", "changes"),
    [
        ({"place:backup": "remove"}, ("backup: removed", "deploy: waits for test")),
        ({"param:backup:restore_test": "true"}, ("backup: restore_test False → True",)),
        ({"param:deploy:strategy": "canary"}, ("deploy: strategy blue_green → canary",)),
        ({"when:deploy": "2AM EST"}, ("deploy: at once → Mon 16 Nov 02:00 EST (07:00 UTC)",)),
        ({"add": "run the full tests on staging"}, ("test-2: added (Run the full tests on staging)",)),
    ],
)  # fmt: skip
def test_each_kind_of_change_makes_a_revision(room, values, changes):
    assert room.fills("ANN", values) == {}

    assert room.view().changes == changes
    assert room.view().revision == 2


@pytest.mark.parametrize(
    ("values", "order"),
    [({"place:test": "3"}, ["backup", "deploy", "test"]),
     ({"place:deploy": "1"}, ["deploy", "test", "backup"]),
     ({"place:test": "2", "place:backup": "1"}, ["backup", "test", "deploy"])],
)  # fmt: skip
def test_steps_are_put_in_another_order(room, values, order):
    room.fills("ANN", values)

    steps = [found.spec for found in room.view().steps]
    assert [step.id for step in steps] == order
    assert [step.depends_on for step in steps] == [(), (order[0],), (order[1],)]


def test_errors_stand_at_their_fields_and_nothing_changes(room):
    errors = room.fills("ANN", {"when:deploy": "teatime", "param:deploy:version": "newest"})
    unknown = room.fills("ANN", {"add": "sing a song"})
    everything = room.fills("ANN", {f"place:{key}": "remove" for key in ("test", "backup", "deploy")})

    assert errors["when:deploy"].startswith("I do not understand the time")
    assert "newest" in errors["param:deploy:version"]
    assert unknown["add"].startswith("I have no runbook for that")
    assert "at least one step" in next(iter(everything.values()))
    assert room.view().revision == 1


def test_a_form_of_an_older_revision_is_answered_with_what_changed_meanwhile(room):
    room.says("BOB", "use canary instead")

    errors = room.fills("ANN", {"place:backup": "remove"})

    assert next(iter(errors.values())) == (
        "Meanwhile revision 2 was made: deploy: strategy blue_green → canary. Please open Edit again."
    )
    assert room.view().revision == 2


@pytest.mark.hostile
def test_foreign_words_mention_nobody_in_a_form():
    view = hostile(EVIL)

    assert all(map(harmless, markup(edit_form(view, view.spec, Catalogue([]))["blocks"])))


def submitted(form: Json, **typed: str) -> dict[str, str]:
    """What comes back when a person types this over what the form shows."""
    by_block = {name.replace("__", ":"): value for name, value in typed.items()}
    values = state_values(form["blocks"], by_block)
    assert mistakes(form["blocks"], values) == {}
    return read_values({"state": {"values": values}})


def test_slack_takes_the_forms():
    check_view(edit_form(VIEW, PLANNED, CATALOGUE))
    check_view(reject_form(VIEW))


def test_a_form_that_is_sent_as_it_was_changes_nothing():
    new = edited(PLANNED, submitted(edit_form(VIEW, PLANNED, CATALOGUE)), CATALOGUE)

    assert prepare(new, CATALOGUE, demo_config(), NOW).digest() == PLANNED.digest()
    assert differences(PLANNED, new) == []


def test_a_form_moves_a_step_in_time():
    form = edit_form(VIEW, PLANNED, CATALOGUE)
    new = edited(PLANNED, submitted(form, **{"when:step-3": "tomorrow 04:00 in New York"}), CATALOGUE)
    new = prepare(new, CATALOGUE, demo_config(), NOW)

    assert differences(PLANNED, new) == [
        "step-3: Mon 16 Nov 02:00 EST (07:00 UTC) → Mon 16 Nov 04:00 EST (09:00 UTC)"
    ]


def test_a_form_lets_a_step_start_at_once():
    form = edit_form(VIEW, PLANNED, CATALOGUE)
    new = edited(PLANNED, submitted(form, **{"when:step-3": "now"}), CATALOGUE)

    assert new.find("step-3").schedule == Schedule()


def test_a_form_changes_a_parameter():
    form = edit_form(VIEW, PLANNED, CATALOGUE)
    typed = {"param:step-3:version": "v2.1.5", "param:step-3:strategy": "rolling"}
    new = edited(PLANNED, submitted(form, **typed), CATALOGUE)

    assert differences(PLANNED, new) == [
        "step-3: version v2.1.4 → v2.1.5", "step-3: strategy blue_green → rolling",
    ]  # fmt: skip


def test_a_field_that_its_action_does_not_require_may_be_left_empty():
    contract = CATALOGUE.find(PLANNED.steps[0])
    optional = {
        block["block_id"] for block in edit_form(VIEW, PLANNED, CATALOGUE)["blocks"] if block.get("optional")
    }
    emptied = {name: "" for name in optional if name.startswith("param:step-1:")}
    new = prepare(edited(PLANNED, emptied, CATALOGUE), CATALOGUE, demo_config(), NOW)

    assert optional
    assert not optional & {f"param:step-1:{name}" for name in contract.parameters["required"]}
    assert new.digest() == PLANNED.digest()


def test_a_name_from_the_inventory_is_chosen_not_typed():
    form = edit_form(VIEW, PLANNED, CATALOGUE)
    fields = {
        block["block_id"]: block["element"]["type"] for block in form["blocks"] if block["type"] == "input"
    }

    assert fields["param:step-2:database"] == "static_select"
    assert fields["param:step-3:version"] == "plain_text_input"


def test_a_time_that_was_given_as_an_instant_is_not_shown_as_now():
    steps = (step("s1", schedule={"not_before": NOW + timedelta(hours=2)}),)
    form = edit_form(VIEW, plan_spec(*steps), Catalogue([]))

    assert form["blocks"][1]["element"]["initial_value"] != "now"


def test_slack_takes_a_form_with_a_very_long_parameter():
    contract = CATALOGUE.find(PLANNED.steps[2])
    open_ = contract.model_copy(update={"names": {}})
    spec = plan_spec(step("s1", open_, parameters={"service": "x" * 4000}))

    check_view(edit_form(VIEW, spec, Catalogue([open_])))


@pytest.mark.parametrize("count", [3, 50, 120, 200])
def test_every_step_of_a_long_plan_can_be_edited_moved_and_removed(count):
    spec = plan_spec(*(PLANNED.steps[0].model_copy(update={"id": f"s{n}"}) for n in range(count)))
    forms = [edit_page(VIEW, spec, CATALOGUE, number) for number in range(len(pages(spec, CATALOGUE)))]
    for form in forms:
        check_view(form)
        assert edited(spec, submitted(form), CATALOGUE) == spec
    fields = [block["block_id"] for form in forms for block in form["blocks"] if "block_id" in block]

    assert [name for name in fields if name[:5] == "when:"] == [f"when:s{n}" for n in range(count)]
    assert [name for name in fields if name[:6] == "place:"] == [f"place:s{n}" for n in range(count)]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("steps[2].parameters.version", "param:step-3:version"),
        ("steps[2].schedule", "when:step-3"),
        ("steps[0].worker", "when:step-1"),
        ("steps", "when:step-1"),
        ("rollback[0].parameters.x", "when:step-1"),
    ],
)
def test_a_problem_stands_at_its_field(path, field):
    values = submitted(edit_form(VIEW, PLANNED, CATALOGUE))

    assert field_errors([Issue("x", path, "that is wrong")], PLANNED, values) == {field: "that is wrong"}


def test_two_problems_of_one_field_are_both_said():
    values = submitted(edit_form(VIEW, PLANNED, CATALOGUE))
    found = field_errors(
        [Issue("x", "steps[0].schedule", text) for text in ("One.", "Two.")], PLANNED, values
    )

    assert found == {"when:step-1": "One. Two."}
