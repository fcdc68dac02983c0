"""Recurring plans: the right times, one run per local date, approvals that stand as long as they may."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.cards.thread import message
from bot.context import Bot
from bot.inbox.requests import on_command
from bot.planner.runbooks.book import Planned
from bot.times.recurrence import next_run, read
from bot.turns.rounds import tend, think
from storage.config import People as Named
from storage.config import PolicyConfig, SignoffConfig, StandingPolicy, local
from storage.contract.states import RECURRING_MOVES, PlanState
from storage.errors import BadTime, Conflict, NotAllowed, SignoffError
from tests.support.fakes import (
    CONTRACTS,
    DEPLOY,
    NOW,
    READ,
    Everybody,
    approve,
    messages,
    plan_spec,
    step,
    strangers,
    together,
)
from tests.support.store import Store

YORK = "America/New_York"
STANDING = StandingPolicy(runs=3, days=30, risks=("high",))
CONFIG = SignoffConfig(
    zone=YORK, people=Named(approvers=("BOB", "CAROL")), policy=PolicyConfig(standing=STANDING)
)


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "cron", "zone", "wish"),
    [
        ("weekday at 02:00 in New York back up auth_prod", "0 2 * * 1-5", YORK, "back up auth_prod"),
        ("day at 2am EST back up", "0 2 * * *", YORK, "back up"),
        ("night at 3 back up auth_prod", "0 3 * * *", "UTC", "back up auth_prod"),
        ("Night at 11pm in Berlin check it", "0 23 * * *", "Europe/Berlin", "check it"),
        ("day at 2:30 pm in Berlin check it", "30 14 * * *", "Europe/Berlin", "check it"),
        ("monday 06:00 report", "0 6 * * 1", "UTC", "report"),
        ("monday, wednesday and friday at 06:00 run x", "0 6 * * 1,3,5", "UTC", "run x"),
        ("Weekend at 23:15 in Asia/Tokyo run x", "15 23 * * 6,0", "Asia/Tokyo", "run x"),
        ("month on the 1st at 6am prune", "0 6 1 * *", "UTC", "prune"),
        ("0 2 * * 1-5 in New York back up x", "0 2 * * 1-5", YORK, "back up x"),
        ("“15 4 1 * *” back up x", "15 4 1 * *", "UTC", "back up x"),
        ("day at 02:00 in staging run the tests", "0 2 * * *", "UTC", "in staging run the tests"),
    ],
)
def test_how_often_is_understood_as_people_say_it(said, cron, zone, wish):
    found = read(said, "UTC", NOW)

    assert (found.cron, found.zone, found.wish) == (cron, zone, wish)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("", "how often"),
        ("now and then back up", "how often"),
        ("day at 2 back up", "morning or the afternoon"),
        ("night at 9 back up", "Is 9 at night 9pm, or 9am"),
        ("day at 25:00 back up", "There is no 25:00"),
        ("day at 02:00", "What shall recur"),
        ("day at 02:00 IST back up", "India, Ireland or Israel"),
        ("month on the 31st at 02:00 back up", "Not every month"),
        ("*/5 * * * * back up", "more than once a day"),
        ("0 2,14 * * * back up", "more than once a day"),
        ("0 99 * * * back up", "is not cron"),
        ("0 2 30 2 * back up", "no day that ever comes"),
    ],
)
def test_what_cannot_be_told_is_one_question(said, question):
    with pytest.raises(BadTime, match=question):
        read(said, "UTC", NOW)


def test_a_time_that_does_not_exist_is_a_run_with_a_problem_and_the_day_after_is_fine():
    gap = next_run("30 2 * * *", YORK, at("2027-03-13 12:00"))

    assert (gap.day, gap.at) == (date(2027, 3, 14), at("2027-03-14 07:30"))
    assert "does not exist" in gap.problem
    assert next_run("30 2 * * *", YORK, gap.at).at == at("2027-03-15 06:30")


def test_a_time_that_comes_twice_runs_once():
    first = next_run("30 1 * * *", YORK, at("2026-10-31 12:00"))

    assert (first.at, first.problem) == (at("2026-11-01 05:30"), "")
    assert next_run("30 1 * * *", YORK, first.at).day == date(2026, 11, 2)
    assert next_run("30 1 * * *", YORK, at("2026-11-01 06:10")).day == date(2026, 11, 2)


@settings(max_examples=60)
@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    hours=st.integers(0, 24 * 400),
    zone=st.sampled_from([YORK, "Europe/Dublin", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"]),
)
def test_runs_come_one_by_one_each_on_its_own_date(minute, hour, hours, zone):
    after = NOW + timedelta(hours=hours)
    one = next_run(f"{minute} {hour} * * *", zone, after)
    two = next_run(f"{minute} {hour} * * *", zone, one.at)

    assert after < one.at < two.at
    assert two.day == one.day + timedelta(days=1)
    there = local(one.at, zone)
    assert bool(one.problem) == ((there.hour, there.minute) != (hour, minute))


class Desk:
    """A bot whose planner always makes the same plan, until it is told of another."""

    def __init__(self, store: Store, config: SignoffConfig = CONFIG) -> None:
        store.publish(CONTRACTS.values())
        self.store, self.spec, self.people = store, plan_spec(), Everybody()
        self.bot = Bot(store, config, self.people, lambda trigger, view: None, [], self._plan)

    def _plan(self, text: str, spend: Any) -> Planned:
        return Planned(self.spec, "by a model")

    def says(self, text: str, user: str = "ANN") -> str:
        return on_command(self.bot, {"text": text, "user": user, "channel": "C1"})

    def turn(self) -> None:
        tend(self.bot)
        think(self.bot)
        tend(self.bot)

    def sets_up(self, said: str = "every day at 02:00 deploy a") -> datetime:
        """When the first run is due."""
        self.says(said)
        return self.store.recurring()[-1].next_at or NOW


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
    clock.now = at("2027-03-13 12:00")
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


def test_what_recurs_is_listed_paused_resumed_and_removed(desk, clock):
    desk.sets_up("every weekday at 02:00 in New York back up *auth_prod* <!here>")

    listed = desk.says("schedules")
    assert "1: back up ∗auth_prod∗ &lt;!here&gt; — every weekday at 02:00 in America/New_York" in listed
    assert "EST" in listed

    assert "paused" in desk.says("schedules pause 1")
    clock.advance(days=10)
    desk.turn()
    assert desk.store.recent() == []
    assert "goes on" in desk.says("schedules resume 1", user="BOB")
    assert "removed" in desk.says("schedules remove #1")
    assert "Nothing recurs" in desk.says("schedules")
    with pytest.raises(SignoffError, match="no recurring plan 1"):
        desk.says("schedules pause 1")


def test_only_whoever_set_it_up_and_those_who_decide_may_touch_it(desk):
    desk.sets_up()
    with pytest.raises(NotAllowed):
        desk.says("schedules pause 1", user="DAVE")


@pytest.mark.parametrize("rest", ["pause", "pause x", "burn 1", "approve 1 forever"])
def test_an_unclear_word_about_schedules_is_answered_with_the_ways_to_say_it(desk, rest):
    desk.sets_up()
    with pytest.raises(SignoffError, match="schedules pause 3"):
        desk.says(f"schedules {rest}")


@pytest.mark.parametrize("verb", RECURRING_MOVES)
@pytest.mark.parametrize("state", ["active", "paused", "removed"])
def test_every_verb_in_every_state(desk, verb, state):
    desk.sets_up()
    (one,) = desk.store.recurring()
    for before in {"active": (), "paused": ("pause",), "removed": ("retire",)}[state]:
        getattr(desk.store, before)(one, user="ANN")
    more = {"next_at": NOW} if verb == "unpause" else {}
    if state in RECURRING_MOVES[verb][0]:
        getattr(desk.store, verb)(one, user="ANN", **more)
    else:
        with pytest.raises(Conflict):
            getattr(desk.store, verb)(one, user="ANN", **more)


def first_run(desk: Desk, clock: Any) -> None:
    """The first run, approved by Bob by hand."""
    clock.now = desk.sets_up()
    desk.turn()
    approve(desk.store, desk.store.recent(1)[0].id)


def next_day(desk: Desk, clock: Any) -> Any:
    clock.now = desk.store.recurring()[0].next_at
    desk.turn()
    return desk.store.recent(1)[0]


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


@pytest.mark.parametrize(
    ("rest", "user", "why"),
    [
        ("", "ANN", "somebody else must approve"),
        (" for 0 runs", "BOB", "allow nothing"),
        (" until 2020-01-01", "BOB", "allow nothing"),
    ],
)
def test_a_standing_approval_is_refused_as_an_approval_would_be(desk, clock, rest, user, why):
    first_run(desk, clock)
    with pytest.raises(SignoffError, match=why):
        desk.says(f"schedules approve 1{rest}", user=user)
    assert desk.store.standings(1) == []


def test_a_standing_approval_is_bounded_by_policy(desk, clock):
    first_run(desk, clock)
    desk.says("schedules approve 1 for 999 runs until 2099-01-01", user="BOB")
    (given,) = desk.store.standings(1)

    assert given.runs_left == STANDING.runs
    assert given.until == clock.now + timedelta(days=STANDING.days)


def test_without_leave_by_policy_every_run_asks(lite, clock):
    desk = Desk(lite, CONFIG.model_copy(update={"policy": PolicyConfig()}))
    first_run(desk, clock)
    with pytest.raises(NotAllowed, match="each run asks"):
        desk.says("schedules approve 1", user="BOB")


def test_what_has_never_been_planned_cannot_be_approved(desk):
    desk.sets_up()
    with pytest.raises(SignoffError, match="not been planned yet"):
        desk.says("schedules approve 1", user="BOB")


def test_times_of_its_own_make_every_run_ask(desk, clock):
    clock.now = desk.sets_up()
    desk.spec = plan_spec(step("s1", DEPLOY), step("s2", READ, schedule={"at": "in 2 hours"}))
    desk.turn()
    with pytest.raises(NotAllowed, match="times of their own"):
        desk.says("schedules approve 1", user="BOB")


def test_a_wish_too_long_is_refused_not_cut(desk):
    with pytest.raises(SignoffError, match="at most 2000"):
        desk.says("every day at 02:00 " + "x" * 2000)
    assert desk.store.recurring() == []
