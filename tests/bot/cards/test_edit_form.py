"""The edit form: each kind of change, errors at their fields, long plans, a plan that moved meanwhile."""

from datetime import timedelta

import pytest

from bot.cards.edit_form import edit_form, edited, field_errors, step_form
from bot.cards.forms import read_values, reject_form
from bot.cards.phrases import differences
from bot.local.people.inputs import mistakes, state_values
from bot.local.schema.limits import check_view
from bot.planner import planning
from bot.planner.prepare import prepare
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
    made = planning.plan("deploy auth-service v2.1.4 to production", found.bot.runbooks, demo_config()).spec
    found.proposed(prepare(made, CATALOGUE, demo_config(), NOW), terms(), real_contracts())
    found.clicks("ANN", "edit")
    return found


def fields(room: Room) -> dict[str, dict[str, object]]:
    return {block["block_id"]: block["element"] for block in room.opened[-1]["blocks"] if "element" in block}


def test_the_first_screen_has_what_people_come_for_and_at_most_eight_fields(room):
    form = room.opened[-1]
    check_view(form)

    found = fields(room)

    assert [*found] == [
        "when:deploy", "param:deploy:version", "param:deploy:strategy", "fails:deploy", "leave_out", "next",
        "words",
    ]  # fmt: skip
    assert found["when:deploy"]["focus_on_load"] is True
    assert found["param:deploy:strategy"]["type"] == "static_select"
    assert found["param:deploy:version"]["type"] == "plain_text_input"
    assert [(o["value"], o["description"]["text"]) for o in found["leave_out"]["options"]] == [
        ("test", "then nothing checks this before step 2"),
        ("backup", "then this is not done before step 3"),
    ]


def test_a_choice_is_named_as_the_card_names_it(room):
    options = fields(room)["param:deploy:strategy"]["options"]

    assert [o["text"]["text"] for o in options] == ["rolling", "blue-green", "canary"]
    assert [o["value"] for o in options] == ["rolling", "blue_green", "canary"]


def test_another_step_comes_next_with_what_was_changed_before(room):
    assert room.fills("ANN", {"param:deploy:strategy": "canary", "next": "2"}) == {}
    assert room.view().revision == 1, "nothing is made on the way"
    check_view(room.opened[-1])
    found = fields(room)
    assert [o["value"] for o in found["param:backup:restore_test"]["options"]] == ["true", "false"]
    assert [o["text"]["text"] for o in found["place:backup"]["options"]] == [
        "Place 1", "Place 2", "Place 3", "Remove this step"
    ]  # fmt: skip
    assert room.fills("ANN", {"param:backup:restore_test": "true"}) == {}

    assert room.view().changes == (
        "backup: restore_test False → True",
        "deploy: strategy blue_green → canary",
    )


def test_an_error_of_an_earlier_screen_stands_where_the_person_looks(room):
    room.fills("ANN", {"when:deploy": "teatime", "next": "2"})
    errors = room.fills("ANN", {"param:backup:restore_test": "true"})

    assert [*errors] == ["when:backup"]
    assert errors["when:backup"].startswith("I do not understand the time")


def test_saving_without_a_change_closes_the_form(room):
    assert room.fills("ANN", {}) == {}

    assert room.view().revision == 1


@pytest.mark.parametrize("said", ["0", "4", "x", "-1"])
def test_a_step_that_there_is_not_is_said_at_its_field(room, said):
    form = room.opened[-1]
    typed = {"element": {"type": "plain_text_input", "action_id": "value"}}
    blocks = [block | typed if block.get("block_id") == "next" else block for block in form["blocks"]]
    room.opened.append(form | {"blocks": blocks})

    assert room.fills("ANN", {"next": said}) == {"next": "Please name a step by its number, 1 to 3."}


def test_a_number_is_asked_for_as_one(lite):
    room = Room(lite)
    made = planning.plan(
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
        ({"leave_out": ["backup"]}, ("backup: removed", "deploy: waits for test")),
        ({"words": "skip the backup"}, ("backup: removed", "deploy: waits for test")),
        ({"param:deploy:strategy": "canary"}, ("deploy: strategy blue_green → canary",)),
        ({"when:deploy": "2AM EST"}, ("deploy: at once → Mon 16 Nov 02:00 EST (07:00 UTC)",)),
        ({"fails:deploy": "continue"}, ("deploy: if it fails: rolls back → goes on without it",)),
        ({"words": "run the full tests on staging"}, ("test-2: added (Run all tests on staging)",)),
    ],
)  # fmt: skip
def test_each_kind_of_change_makes_a_revision(room, values, changes):
    assert room.fills("ANN", values) == {}

    assert room.view().changes == changes
    assert room.view().revision == 2


@pytest.mark.parametrize(
    ("places", "order"),
    [({"test": "3"}, ["backup", "deploy", "test"]),
     ({"deploy": "1"}, ["deploy", "test", "backup"]),
     ({"test": "2", "backup": "1"}, ["backup", "test", "deploy"])],
)  # fmt: skip
def test_steps_are_put_in_another_order(room, places, order):
    room.fills("ANN", {"next": "1"})
    for key, following in (("test", "2"), ("backup", "3"), ("deploy", "")):
        moved = {f"place:{key}": places[key]} if key in places else {}
        room.fills("ANN", moved | ({"next": following} if following else {}))

    steps = [found.spec for found in room.view().steps]
    assert [step.id for step in steps] == order
    assert [step.depends_on for step in steps] == [(), (order[0],), (order[1],)]


def test_errors_stand_at_their_fields_and_nothing_changes(room):
    errors = room.fills("ANN", {"when:deploy": "teatime", "param:deploy:version": "newest"})
    unknown = room.fills("ANN", {"words": "sing a song"})
    everything = room.fills("ANN", {"leave_out": ["test", "backup"], "words": "drop step 1"})

    assert errors["when:deploy"].startswith("I do not understand the time")
    assert "newest" in errors["param:deploy:version"]
    assert unknown["words"].startswith("I have no runbook for that")
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
        block["block_id"]
        for block in step_form(VIEW, PLANNED, CATALOGUE, 0, {})["blocks"]
        if block.get("optional")
    }
    emptied = {name: "" for name in optional if name.startswith("param:step-1:")}
    new = prepare(edited(PLANNED, emptied, CATALOGUE), CATALOGUE, demo_config(), NOW)

    assert optional
    assert not optional & {f"param:step-1:{name}" for name in contract.parameters["required"]}
    assert new.digest() == PLANNED.digest()


def test_a_name_from_the_inventory_is_chosen_not_typed():
    forms = [step_form(VIEW, PLANNED, CATALOGUE, number, {}) for number in (1, 2)]
    shown = [block for form in forms for block in form["blocks"] if block["type"] == "input"]
    fields = {block["block_id"]: block["element"]["type"] for block in shown}

    assert fields["param:step-2:database"] == "static_select"
    assert fields["param:step-3:version"] == "plain_text_input"


def test_a_time_that_was_given_as_an_instant_is_not_shown_as_now():
    steps = (step("s1", schedule={"not_before": NOW + timedelta(hours=2)}),)
    form = edit_form(VIEW, plan_spec(*steps), Catalogue([]))

    assert form["blocks"][0]["element"]["initial_value"] != "now"


def test_slack_takes_a_form_with_a_very_long_parameter():
    contract = CATALOGUE.find(PLANNED.steps[2])
    open_ = contract.model_copy(update={"names": {}})
    spec = plan_spec(step("s1", open_, parameters={"service": "x" * 4000}))

    check_view(edit_form(VIEW, spec, Catalogue([open_])))


@pytest.mark.parametrize("count", [3, 50, 120, 200])
def test_every_step_of_a_long_plan_can_be_edited_moved_and_removed(count):
    spec = plan_spec(*(PLANNED.steps[0].model_copy(update={"id": f"s{n}"}) for n in range(count)))
    check_view(edit_form(VIEW, spec, CATALOGUE))
    forms = [step_form(VIEW, spec, CATALOGUE, number, {}) for number in range(count)]
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
        ("steps[0].worker", "when:step-3"),
        ("steps", "when:step-3"),
        ("rollback[0].parameters.x", "when:step-3"),
    ],
)
def test_a_problem_stands_at_its_field(path, field):
    values = submitted(edit_form(VIEW, PLANNED, CATALOGUE))

    assert field_errors([Issue("x", path, "that is wrong")], PLANNED, values) == {field: "that is wrong"}


def test_two_problems_of_one_field_are_both_said():
    values = submitted(edit_form(VIEW, PLANNED, CATALOGUE))
    found = field_errors(
        [Issue("x", "steps[2].schedule", text) for text in ("One.", "Two.")], PLANNED, values
    )

    assert found == {"when:step-3": "One. Two."}
