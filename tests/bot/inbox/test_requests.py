"""What people say to the bot, wherever they say it: our own words are understood, talk is answered kindly."""

import pytest

from bot.inbox.requests import on_command, on_mention
from storage.contract.states import PlanState
from storage.errors import SignoffError
from tests.support.fakes import ask, propose, real_contracts
from tests.support.room import Room


@pytest.fixture
def room(lite):
    found = Room(lite)
    lite.publish(real_contracts())
    return found


def commands(room: Room, text: str, user: str = "ANN") -> str:
    return on_command(room.bot, {"user": user, "channel": "C1", "text": text})


def mentions(room: Room, text: str, user: str = "ANN") -> str:
    said = {"user": user, "channel": "C1", "text": f"<@USIGNOFF> {text}", "thread": "1.1", "ts": "1.1"}
    return on_mention(room.bot, said)


SAID = [
    ("help", "Say what you need"), ("Help!", "Say what you need"), ("help me", "Say what you need"),
    ("hello", "Say what you need"), ("Hi there!", "Say what you need"), ("thank you", "You are welcome."),
    ("thanks!", "You are welcome."), ("list", "There are no plans yet."), ("runbooks", "*Back up a"),
    ("windows", "nightly for production"), ("schedules", "Nothing recurs yet"),
    ("every day at 02:00 run the full tests on staging", "Recurring plan 1"),
]  # fmt: skip


@pytest.mark.parametrize("way", [commands, mentions])
def test_our_own_words_are_understood_by_every_way_in(room, way):
    answers = {text: way(room, text) for text, _ in SAID}

    assert [text for text, answer in SAID if answer not in answers[text]] == []
    assert room.store.recent() == []


@pytest.mark.parametrize("way", [commands, mentions])
def test_a_plan_is_named_by_its_number_by_every_way_in(room, way):
    plan_id = propose(room.store)

    assert way(room, f"show #{plan_id}").startswith(f"*{plan_id}: ")
    assert way(room, f"cancel {plan_id} not needed") == f"Plan {plan_id} is cancelled."
    assert room.view().state == PlanState.cancelled


@pytest.mark.parametrize(
    "text", ["stop auth-service in production", "cancel the deploy", "list the backups of auth_prod"]
)
def test_a_wish_that_begins_like_one_of_our_words_stays_a_wish(room, text):
    assert mentions(room, text, user="CAROL") == ""
    assert room.view().text == text
    assert room.store.stops() == []


def test_everything_is_stopped_and_resumed_by_a_mention_that_says_so(room):
    mentions(room, "stop everything it burns", user="CAROL")
    stopped = [(stop.scope, stop.reason) for stop in room.store.stops()]
    mentions(room, "resume", user="CAROL")

    assert stopped == [("everything", "it burns")]
    assert room.store.stops() == []


def test_somebody_elses_words_are_planned_and_never_obeyed(room):
    """ "Plan this" on a message: it has no place of its own."""
    said = {"user": "CAROL", "channel": "C1", "text": "stop everything now", "thread": "1.1"}

    on_mention(room.bot, said)

    assert room.store.stops() == []
    assert room.view().text == "stop everything now"


@pytest.mark.parametrize(
    ("text", "why"),
    [("stop plan 7 it burns", "There is no plan 7."),
     ("stop environment prodution it burns", "I know no environment “prodution”, so nothing was stopped"),
     ("stop", "Please say why")],
)  # fmt: skip
def test_a_stop_that_would_stop_nothing_is_refused(room, text, why):
    with pytest.raises(SignoffError, match="^" + why[:20]) as told:
        commands(room, text, user="CAROL")

    assert str(told.value).startswith(why)
    assert room.store.stops() == []


def test_a_wish_that_never_became_a_plan_is_not_listed(room):
    room.store.cancel(ask(room.store, "sing a song"), user="planner", reason="no runbook")
    plan_id = propose(room.store)

    assert commands(room, "list").splitlines() == [f"• {plan_id}: Deploy a — waiting for approval"]


def test_the_help_is_short_and_honest_without_workers(lite):
    room = Room(lite)
    bare = commands(room, "help")
    lite.publish(real_contracts())
    full = commands(room, "help")

    assert "No workers are connected yet" in bare
    assert "\n\n" not in bare
    assert full.count("• `/plan ") < 12
    assert "more: `/plan runbooks`" in full
