"""The edit form: every kind of change, errors at their fields, and a plan that moved meanwhile."""

import pytest

from bot.local.schema.limits import check_view
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from tests.support.fakes import NOW, demo_config, real_contracts, terms
from tests.support.room import Room


@pytest.fixture
def room(lite):
    """A deploy whose edit form ANN has open."""
    found = Room(lite)
    made = runbooks.plan("deploy auth-service v2.1.4 to production", found.bot.runbooks, demo_config()).spec
    found.proposed(prepare(made, Catalogue(real_contracts()), demo_config(), NOW), terms(), real_contracts())
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
    room.proposed(prepare(made, Catalogue(real_contracts()), demo_config(), NOW), terms(), real_contracts())
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
