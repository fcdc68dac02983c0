"""The same once more, and the way back: proposals like any other, of what was on record."""

from bot.plans.once_more import said_again
from storage.contract.states import PlanState
from tests.support.fakes import (
    DEPLOY,
    NOW,
    approve,
    plan_spec,
    step,
    succeed,
)
from tests.support.room import Room


def test_words_for_a_time_are_read_anew_and_instants_are_of_the_past():
    when = {"at": "2AM ET", "not_before": NOW, "not_after": NOW, "zone": "America/New_York"}
    made = said_again(
        plan_spec(step("s", DEPLOY, schedule=when), step("t", DEPLOY, schedule=when | {"at": ""}))
    )

    assert [(s.schedule.at, s.schedule.not_before) for s in made.steps] == [("2AM ET", None), ("", None)]


def test_whoever_presses_do_it_again_asks_for_it_and_others_approve(lite):
    room = Room(lite)
    first = room.proposed(plan_spec(step("s1", DEPLOY)))
    approve(lite, first)
    succeed(lite, first, "s1")
    room.clicks("EVE", "again")

    again = room.view()
    assert (again.state, again.requester, again.authors) == (PlanState.proposed, "EVE", ("EVE",))
    assert again.digest == lite.view(first).digest
    assert again.id == first + 1


def test_what_cannot_be_taken_back_says_so(lite):
    room = Room(lite)
    first = room.proposed(plan_spec(step("s1", DEPLOY)))
    approve(lite, first)
    succeed(lite, first, "s1")
    room.clicks("ANN", "back")

    assert room.view().id == first
    assert "I do not know how to take this back" in room.whispers("ANN")[0]
