"""What people say to the bot, wherever they say it: our own words are understood, talk is answered kindly."""

import json
from datetime import timedelta

import pytest

from bot.cards.blocks import pack
from bot.inbox.clicks import on_click
from bot.inbox.requests import on_command, on_mention
from storage.contract.states import PlanState
from storage.errors import Conflict, SignoffError
from tests.support.fakes import ask, messages, propose, real_contracts
from tests.support.room import Room, think


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
    ("list", "There are no plans yet."), ("runbooks", "*Back up a"),
    ("windows", "nightly for production"), ("schedules", "Nothing recurs yet"),
    ("every day at 02:00 run the full tests on staging", "Recurring plan 1"),
]  # fmt: skip


POLITE = [("hello", "Say what you need"), ("Hi there!", "Say what you need"),
          ("thank you", "You are welcome."), ("thanks!", "You are welcome.")]  # fmt: skip


def test_politeness_is_answered_by_words_where_one_is_alone_and_by_a_wave_where_others_read(room):
    answers = {text: commands(room, text) for text, _ in POLITE}
    waves = [mentions(room, text) for text, _ in POLITE]

    assert [text for text, answer in POLITE if answer not in answers[text]] == []
    assert waves == ["", "", "", ""]
    assert {m.text for m in messages(room.store, "react")} == {"wave"}
    assert [m.text[:17] for m in messages(room.store, "whisper")] == ["Say what you need"]  # the first time


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
    ("text", "answer"),
    [
        ("stop auth-service in production", "I have no runbook that may “stop” anything"),
        ("cancel the deploy", "I have no runbook for that"),
        ("list the backups of auth_prod", ""),
    ],
)
def test_a_wish_that_begins_like_one_of_our_words_stays_a_wish(room, text, answer):
    before = len(room.store.recent(50))

    assert mentions(room, text, user="CAROL").startswith(answer)
    assert len(room.store.recent(50)) == before + (not answer)  # what is refused leaves no plan
    assert room.store.stops() == []


@pytest.mark.language
def test_an_own_word_with_a_slip_looks_at_once_and_decides_only_by_a_button(room):
    plan_id = propose(room.store)

    assert commands(room, "hlep").startswith("Say what you need")
    assert commands(room, f"cancle {plan_id} not needed") == ""
    (asked,) = messages(room.store, "choose")
    assert asked.user == "ANN"
    assert json.loads(asked.text)["text"].startswith(f"Did you mean `/plan cancel {plan_id} not needed`?")
    assert json.loads(asked.text)["choices"] == [[f"Cancel Plan {plan_id}", f"cancel {plan_id} not needed"]]
    assert room.view().state == PlanState.proposed

    pressed = {"user": "ANN", "channel": "C1", "action": "own_0", "home": False, "trigger": "t"}
    value = pack(0, 0, "", f"cancel {plan_id} not needed")
    assert on_click(room.bot, pressed | {"value": value}) == f"Plan {plan_id} is cancelled."
    with pytest.raises(Conflict):
        on_click(room.bot, pressed | {"value": pack(0, 0, "", "restart auth-service in production")})


@pytest.mark.language
def test_words_that_approve_lead_to_the_button_and_so_do_their_slips(room):
    plan_id = propose(room.store)

    told = commands(room, f"approve {plan_id}", user="BOB")
    commands(room, f"aprove {plan_id}", user="BOB")

    (asked,) = messages(room.store, "choose")
    assert told.startswith("Approving is a button")
    assert json.loads(asked.text)["choices"] == [[f"Open Plan {plan_id}", f"approve {plan_id}"]]
    assert room.view().state == PlanState.proposed


@pytest.mark.language
def test_the_last_plan_is_cancelled_when_it_is_said_that_it_is_meant(room):
    plan_id = propose(room.store)

    assert commands(room, "cancel last", user="BOB") == "You have no open plan."
    assert commands(room, "cancel my last plan", user=room.view().requester) == ""
    (asked,) = messages(room.store, "choose")
    assert json.loads(asked.text)["choices"] == [[f"Cancel Plan {plan_id}", f"cancel {plan_id}"]]


@pytest.mark.language
def test_a_sentence_sets_up_what_recurs(room):
    assert "Recurring plan 1: “back up auth_prod”" in commands(room, "back up auth_prod every night at 3am")
    assert room.store.recurring()[0].cron == "0 3 * * *"


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
    assert room.store.recent(50) == []  # it is no wish that could be planned, either


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


@pytest.mark.language
def test_what_waits_for_an_answer_or_was_refused_is_no_plan_in_lists_or_limits(room):
    commands(room, "restart auth-service")
    think(room.bot)
    since = room.store.clock() - timedelta(hours=1)

    assert room.view().form
    assert commands(room, "list") == "There are no plans yet."
    assert room.store.requested("ANN", since) == 0
    room.store.cancel(room.view().id, user="planner", reason="never mind")
    assert room.store.requested("ANN", since) == 0
    commands(room, "restart auth-service in production")
    think(room.bot)
    assert room.store.requested("ANN", since) == 1


@pytest.mark.language
def test_a_question_about_a_change_is_told_how_to_wish_for_it(room):
    told = commands(room, "should we restart auth-service in production?")

    assert told.endswith("Said as a wish, I can plan it: `/plan restart auth-service in production`")
