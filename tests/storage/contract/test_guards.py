"""What came before a change, and does no more."""

from storage.contract.guards import dropped
from tests.support.fakes import BACKUP, DEPLOY, READ, plan_spec, step

TEST = step("test", READ)
SAVE = step("save", BACKUP, depends_on=("test",))
SHIP = step("ship", DEPLOY, depends_on=("save",))
OLD = plan_spec(TEST, SAVE, SHIP)
CHANGES = {"save", "ship"}


def test_what_stays_guards():
    assert dropped(OLD, OLD, CHANGES, CHANGES) == {}


def test_what_a_change_relied_on_directly_or_through_others_is_lost():
    straight = SHIP.model_copy(update={"depends_on": ("test",)})
    alone = SHIP.model_copy(update={"depends_on": ()})

    assert dropped(OLD, plan_spec(TEST, straight), CHANGES, {"ship"}) == {"save": "ship"}
    assert dropped(OLD, plan_spec(alone), CHANGES, {"ship"}) == {"test": "ship", "save": "ship"}


def test_what_comes_after_the_change_or_beside_it_guards_it_no_more():
    first = SHIP.model_copy(update={"depends_on": ()})
    after = SAVE.model_copy(update={"depends_on": ("ship",)})

    assert dropped(OLD, plan_spec(TEST, first, after), CHANGES, CHANGES) == {"test": "ship", "save": "ship"}


def test_another_change_in_the_place_of_the_one_that_relied_on_it_goes_without_it_as_well():
    other = step("other", DEPLOY, parameters={"service": "b"})

    assert dropped(OLD, plan_spec(other), CHANGES, {"other"}) == {"test": "other", "save": "other"}
    assert dropped(OLD, plan_spec(TEST, SAVE, other), CHANGES, {"save", "other"}) == {
        "test": "other",
        "save": "other",
    }


def test_the_same_call_by_another_name_guards_as_before():
    saved = SAVE.model_copy(update={"id": "step-2"})
    shipped = SHIP.model_copy(update={"id": "step-3", "depends_on": ("step-2",)})

    assert dropped(OLD, plan_spec(TEST, saved, shipped), CHANGES, {"step-2", "step-3"}) == {}


def test_where_no_change_is_left_nothing_is_lost():
    assert dropped(OLD, plan_spec(TEST), CHANGES, set()) == {}
    assert dropped(OLD, plan_spec(step("look", READ)), CHANGES, set()) == {}


def test_what_nothing_relied_on_is_lost_by_nobody():
    beside = plan_spec(TEST, step("ship", DEPLOY))

    assert dropped(beside, plan_spec(step("ship", DEPLOY)), {"ship"}, {"ship"}) == {}


def test_what_is_done_has_come_before_whatever_is_still_to_come():
    other = step("other", DEPLOY, parameters={"service": "b"})

    assert dropped(OLD, plan_spec(TEST, SAVE, other), CHANGES, {"other"}, {"test", "save"}) == {}
    assert dropped(OLD, plan_spec(TEST, other), CHANGES, {"other"}, {"test", "save"}) == {"save": "other"}
