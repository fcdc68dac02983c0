"""What recurs, in words: set up, listed, paused, resumed, removed; and approved for runs to come."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.cards.blocks import PREFIX
from bot.inbox.recurring import LONGEST, approve_runs, set_up
from bot.inbox.requests import on_command
from storage.config import PolicyConfig, StandingPolicy
from storage.contract.demands import Demands
from storage.contract.spec import StepSpec
from storage.contract.states import RECURRING_MOVES
from storage.errors import Conflict, NotAllowed, NotFound, SignoffError
from tests.support.fakes import DEPLOY, NOW, READ, approve, plan_spec, step, terms
from tests.support.samples.recurring import CONFIG, STANDING, Desk, first_run, next_day
from tests.support.store import Store


@pytest.fixture
def desk(lite: Store) -> Desk:
    return Desk(lite)


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


def test_what_was_set_up_is_said_with_its_next_run_and_that_each_asks(desk):
    said = desk.says("every day at 02:00 in New York deploy *a*")

    assert said.startswith("Recurring plan 1: “deploy ∗a∗”, every day at 02:00 in America/New_York. Next: ")
    assert "02:00 EST" in said
    assert "Each run asks for its approval" in said


def elsewhere(desk: Desk, text: str, user: str) -> str:
    """Said in a private channel."""
    return on_command(desk.bot, {"text": text, "user": user, "channel": "G1"})


def test_what_recurs_in_a_private_channel_is_there_for_its_readers_and_whoever_set_it_up(desk):
    desk.people.rooms = {"CAROL": ("G1",)}
    elsewhere(desk, "every day at 02:00 deploy a", "ANN")

    assert "1: deploy a" in desk.says("schedules")
    assert "1: deploy a" in desk.says("schedules", user="CAROL")
    assert "Nothing recurs" in desk.says("schedules", user="DAVE")


def test_who_reads_nothing_of_it_does_not_learn_that_it_is_there(desk, clock):
    desk.people.rooms = {"FAY": ("G1",)}
    elsewhere(desk, "every day at 02:00 deploy a", "ANN")

    for run in (False, True):  # before there is one, and after
        with pytest.raises(NotFound, match="no recurring plan 1"):
            desk.says("schedules pause 1", user="DAVE")
        with pytest.raises(NotAllowed):
            desk.says("schedules pause 1", user="FAY")  # who reads it there, and may not
        assert "paused" in desk.says("schedules pause 1", user="BOB")  # an approver
        assert "goes on" in desk.says("schedules resume 1")
        if not run:
            clock.now = desk.store.recurring()[0].next_at
            desk.turn()


def test_who_was_asked_about_a_run_hears_why_not_and_others_that_there_is_none(desk, clock, monkeypatch):
    elsewhere(desk, "every day at 02:00 deploy a", "ANN")
    clock.now = desk.store.recurring()[0].next_at
    desk.turn()
    seen = []
    monkeypatch.setattr(type(desk.bot), "visible", lambda bot, user, plans: seen.extend(plans) or plans)

    with pytest.raises(NotAllowed):
        desk.says("schedules pause 1", user="DAVE")
    assert [view.id for view in seen] == [desk.store.recent(1)[0].id]


@pytest.mark.parametrize("verb", ["pause", "resume", "remove"])
def test_only_whoever_set_it_up_and_those_who_decide_may_do_any_of_it(desk, verb):
    desk.sets_up()
    if verb == "resume":
        desk.says("schedules pause 1")
    state = desk.store.recurring()[0].state
    with pytest.raises(NotAllowed):
        desk.says(f"schedules {verb} 1", user="DAVE")

    assert desk.store.recurring()[0].state == state
    assert desk.says(f"schedules {verb} 1", user="CAROL")


def test_what_goes_on_has_its_next_run_again(desk, clock):
    desk.sets_up("every day at 02:00 deploy " + "x" * 300)
    desk.says("schedules pause 1")
    listed = f"• 1: deploy {'x' * 193} — every day at 02:00 in America/New_York; next: paused"
    assert listed in desk.says("schedules").splitlines()
    clock.advance(days=10)
    said = desk.says("schedules resume 1")

    assert desk.store.recurring()[0].next_at > clock.now
    assert "Recurring plan 1 goes on. Next: " in said
    assert "02:00 EST" in said


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


def test_steps_that_wait_for_their_time_are_listed_in_their_own_channel_only(desk, clock):
    at = NOW + timedelta(hours=8)
    for channel in ("C1", "C2"):
        plan_id = desk.store.request("later", team="T1", user="ANN", channel=channel)
        steps = [step(f"s{n}", READ, schedule={"not_before": at, "zone": "UTC"}) for n in range(12)]
        desk.store.propose(plan_id, plan_spec(*steps), terms(needed=0), author="planner")

    said = desk.says("schedules").splitlines()

    assert "Nothing recurs yet" in said[0]
    assert len(said) == 12
    assert all(line.startswith("• plan 1: ") and f"{at:%H:%M} UTC" in line for line in said[1:11])
    assert said[11] == "… and 2 more steps that wait for their time"


def test_ten_steps_that_wait_are_listed_without_a_word_of_more(desk):
    waiting(desk, *(step(f"s{n}", READ, schedule=LATER) for n in range(10)))
    said = desk.says("schedules").splitlines()

    assert len(said) == 11
    assert "more steps" not in said[-1]


LATER = {"not_before": NOW + timedelta(hours=8), "zone": "UTC"}


def waiting(desk: Desk, *steps: StepSpec, text: str = "later") -> int:
    plan_id = desk.store.request(text, team="T1", user="ANN", channel="C1")
    desk.store.propose(plan_id, plan_spec(*steps), terms(needed=0), author="planner")
    return plan_id


def test_a_waiting_step_whose_plan_was_changed_behind_our_back_has_the_words_of_its_asker(desk, monkeypatch):
    waiting(desk, step("s1", READ, schedule=LATER), text="*look* " + "x" * 300)
    right = desk.store.as_recorded
    monkeypatch.setattr(desk.store, "as_recorded", lambda view: replace(right(view), spec=None, steps=()))
    (said,) = [line for line in desk.says("schedules").splitlines() if line.startswith("• plan 1: ")]

    assert "∗look∗ xxx" in said
    assert len(said.removeprefix("• plan 1: ")) == 200


def test_a_standing_approval_is_listed_with_its_person_and_its_end(desk, clock):
    first_run(desk, clock)
    until = clock.now + timedelta(days=2)
    desk.says(f"schedules approve 1 for 2 runs until {until:%Y-%m-%d}", user="BOB")

    listed = desk.says("schedules")
    assert f" · approved by <@BOB> for 2 more runs, until {until:%d %b %Y}" in listed


def test_a_standing_approval_for_one_run_is_the_least(desk, clock):
    first_run(desk, clock)
    said = desk.says("schedules approve 1 for 1 run", user="BOB")

    assert desk.store.standings(1)[0].runs_left == 1
    assert f"digest `{desk.store.recent(1)[0].digest[:12]}`" in said


def test_a_standing_approval_that_would_end_at_this_moment_is_none(desk, clock):
    first_run(desk, clock)
    clock.now = (clock.now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    with pytest.raises(SignoffError, match="allow nothing"):
        desk.says(f"schedules approve 1 until {clock.now:%Y-%m-%d}", user="BOB")


@pytest.mark.parametrize(
    "standing",
    [StandingPolicy(runs=0, days=30, risks=("high",)), StandingPolicy(runs=3, days=30, risks=("low",))],
)
def test_policy_lets_none_stand_by_either_of_its_bounds(lite, clock, standing):
    desk = Desk(
        lite, CONFIG.model_copy(update={"policy": PolicyConfig(standing=standing, recurring_ahead_hours=0)})
    )
    first_run(desk, clock)
    with pytest.raises(NotAllowed, match="no standing approval for high risk"):
        desk.says("schedules approve 1", user="BOB")


def test_nobody_lets_stand_what_was_changed_or_is_out_of_date_or_needs_a_second_factor(
    desk, clock, monkeypatch
):
    clock.now = desk.sets_up()
    desk.turn()
    right = desk.store.view
    demands = Demands(second_factor=True)
    for place, name, found, why in (
        (desk.store, "tampered", lambda plan_id: "somebody reworded it", "somebody reworded it"),
        ("bot.plans.up_to_date", "outdated", lambda *_: ["a stands for another thing"], "out of date"),
        (desk.store, "view", lambda plan_id: replace(right(plan_id), demands=demands), "second factor"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(*((f"{place}.{name}", found) if isinstance(place, str) else (place, name, found)))
            with pytest.raises(NotAllowed, match=why):
                desk.says("schedules approve 1", user="BOB")
    plan_id = desk.store.recent(1)[0].id
    refused = [e.data for e in desk.store.events(plan_id) if e.verb == "refuse"]
    assert [(data["verb"], data["reason"][:20]) for data in refused][:1] == [
        ("approve", "somebody reworded it")
    ]
    assert desk.store.standings(1) == []
    approve(desk.store, plan_id)
    assert desk.says("schedules approve 1", user="BOB")


@pytest.mark.parametrize(("length", "kept"), [(LONGEST, 1), (LONGEST + 1, 0)])
def test_the_longest_wish_is_taken_and_none_longer(desk, length, kept):
    asked = {"user": "ANN", "channel": "C1"}
    with nullcontext() if kept else pytest.raises(SignoffError, match="2001 characters"):
        set_up(desk.bot, "day at 02:00 ".ljust(length, "x"), asked)
    assert len(desk.store.recurring()) == kept


def presses(desk: Desk, user: str, plan_id: int, digest: str = "") -> str:
    """The button below a run, as its card showed it."""
    view = desk.store.view(plan_id)
    return approve_runs(desk.bot, {"user": user}, view, {"d": (digest or view.digest)[:PREFIX]})


def test_the_button_below_an_older_run_stands_for_nothing_once_a_newer_one_is_another_plan(desk, clock):
    first_run(desk, clock)
    older = desk.store.recent(1)[0].id
    desk.spec = plan_spec(step("s9", DEPLOY))
    next_day(desk, clock)

    with pytest.raises(Conflict, match="changed since"):
        presses(desk, "BOB", older)
    assert desk.store.standings(1) == []


def test_who_cannot_see_a_run_does_not_learn_that_it_has_changed(desk, clock):
    elsewhere(desk, "every day at 02:00 deploy a", "ANN")
    clock.now = desk.store.recurring()[0].next_at
    desk.turn()
    desk.people.barred = {"EVE": "You are a guest."}

    with pytest.raises(NotAllowed):
        presses(desk, "EVE", desk.store.recent(1)[0].id, digest="0" * 64)


def test_a_step_that_waits_has_ninety_letters_in_the_list(desk):
    waiting(desk, step("s1", READ, parameters={"service": "x" * 300}, schedule=LATER))
    (said,) = [line for line in desk.says("schedules").splitlines() if line.startswith("• plan 1: ")]

    assert len(said.removeprefix("• plan 1: ").partition(" — ")[0]) == 90
