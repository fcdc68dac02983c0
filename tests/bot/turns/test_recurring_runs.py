"""Recurring plans: one run per local date, and approvals that stand as long as they may."""

from datetime import UTC, date, datetime, timedelta

import pytest

from bot.cards.thread import message
from bot.context import Bot
from storage.config import PolicyConfig
from storage.contract.states import PlanState
from tests.support.fakes import DEPLOY, approve, messages, plan_spec, step, strangers, together
from tests.support.samples.recurring import CONFIG, Desk, first_run, next_day
from tests.support.store import Store


@pytest.fixture
def desk(lite: Store) -> Desk:
    return Desk(lite)


def test_a_run_is_asked_for_when_its_time_comes_and_not_before(desk, clock):
    clock.now = desk.sets_up() - timedelta(seconds=1)
    desk.turn()
    assert desk.store.recent() == []

    clock.advance(1)
    desk.turn()
    desk.turn()
    (plan,) = desk.store.recent()

    assert (plan.state, plan.requester, plan.text) == (PlanState.proposed, "ANN", "deploy a")
    assert desk.store.recurring()[0].next_at == clock.now + timedelta(days=1)
    assert desk.store.events(plan.id)[0].data["recurring"] == 1


def test_a_run_that_was_missed_is_a_question_and_never_a_late_run(desk, clock):
    clock.now = desk.sets_up() + timedelta(days=2, hours=1)
    desk.turn()

    assert desk.store.recent() == []
    (question,) = messages(desk.store, "recurring")
    assert "I was not running" in question.text
    assert "and 2 before it" in question.text
    assert "/plan deploy a" in question.text
    assert [e.verb for e in desk.store.events(0)] == ["recur", "miss"]


def test_after_missed_runs_one_that_is_due_now_runs(desk, clock):
    clock.now = desk.sets_up() + timedelta(days=2, seconds=30)
    desk.turn()

    assert len(desk.store.recent()) == 1
    assert "and 1 before it" in messages(desk.store, "recurring")[0].text


def test_a_run_in_a_gap_of_its_zone_asks(desk, clock):
    clock.now = datetime(2027, 3, 13, 12, tzinfo=UTC)
    clock.now = desk.sets_up("every day at 02:30 in New York deploy a")
    desk.turn()

    assert desk.store.recent() == []
    assert "does not exist" in messages(desk.store, "recurring")[0].text


def test_a_run_happens_once_per_local_date_whoever_asks_for_it(store, clock):
    desk = Desk(store)
    clock.now = desk.sets_up()
    (one,) = store.recurring()
    later = clock.now + timedelta(days=1)
    others = strangers(store, 4)
    made = together([lambda s=s: s.run(one, date(2026, 11, 16), later) for s in others])

    assert len([plan for plan in made if plan]) == 1
    again = store.recurring()[0]
    assert store.run(again, date(2026, 11, 16), later + timedelta(days=1)) is None  # the same date
    assert len(store.recent()) == 1


def test_whoever_may_not_ask_any_more_has_nothing_run_in_their_name(desk, clock):
    clock.now = desk.sets_up()
    desk.people.barred["ANN"] = "This account is deactivated."
    desk.turn()

    assert desk.store.recent() == []
    assert desk.store.recurring()[0].state == "paused"
    assert "deactivated" in messages(desk.store, "recurring")[0].text


def test_a_standing_approval_covers_as_many_runs_as_it_was_given_for(desk, clock):
    first_run(desk, clock)
    said = desk.says("schedules approve 1 for 2 runs", user="BOB")

    assert "2 runs" in said
    for _ in range(2):
        plan = next_day(desk, clock)
        assert (plan.state, plan.approved_by) == (PlanState.approved, ("BOB",))
    plan = next_day(desk, clock)
    assert plan.state == PlanState.proposed
    assert "all of its runs have been used" in messages(desk.store, "recurring")[-1].text
    (told,) = [e for e in desk.store.events(plan.id - 1) if e.verb == "approve"]
    assert (told.data["standing"], told.data["left"]) == (1, 0)
    text, _ = message("decision", desk.store.view(plan.id - 1), told, clock())
    assert "<@BOB> approved revision 1 by a standing approval (0 runs left); <@ANN>" in text
    assert [e.verb for e in desk.store.events(0)] == ["recur", "stand", "void"]


def test_an_edited_plan_voids_the_standing_approval(desk, clock):
    first_run(desk, clock)
    desk.says("schedules approve 1", user="BOB")
    desk.spec = plan_spec(step("s1", DEPLOY, parameters={"service": "b"}))

    assert next_day(desk, clock).state == PlanState.proposed
    assert "no longer the one that was approved" in messages(desk.store, "recurring")[-1].text
    assert desk.store.standings(1) == []


def test_a_standing_approval_ends_on_its_day(desk, clock):
    first_run(desk, clock)
    day = (clock.now + timedelta(days=1)).date()
    desk.says(f"schedules approve 1 until {day}", user="BOB")

    assert next_day(desk, clock).state == PlanState.proposed
    assert "it was given until" in messages(desk.store, "recurring")[-1].text


def test_a_standing_approval_falls_with_its_person_and_with_policy(lite, clock):
    for spoil in (
        lambda d: d.people.barred.update(BOB="This account is deactivated."),
        lambda d: setattr(
            d, "bot", Bot(d.store, CONFIG.model_copy(update={"policy": PolicyConfig()}), d.people,
                          lambda trigger, view: None, [], d._plan)
        ),
    ):  # fmt: skip
        desk = Desk(lite)
        clock.now = desk.sets_up()
        desk.turn()
        number = lite.recurring()[-1].id
        approve(lite, lite.recent(1)[0].id)
        desk.says(f"schedules approve {number}", user="BOB")
        spoil(desk)
        clock.now = lite.recurring()[-1].next_at
        desk.turn()

        assert lite.recent(1)[0].state == PlanState.proposed
        assert lite.standings(number) == []
