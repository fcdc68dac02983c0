"""What recurs, in words: set up, listed, paused, resumed, removed; and approved for runs to come."""

from datetime import timedelta

import pytest

from storage.config import PolicyConfig
from storage.contract.states import RECURRING_MOVES
from storage.errors import Conflict, NotAllowed, SignoffError
from tests.support.fakes import DEPLOY, NOW, READ, plan_spec, step, terms
from tests.support.samples.recurring import CONFIG, STANDING, Desk, first_run
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
