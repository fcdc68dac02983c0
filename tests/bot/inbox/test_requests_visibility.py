"""What somebody could not read is in no list, no answer and no home tab; decisions look afresh."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.inbox.home import listed
from bot.inbox.own_answers import own_answer
from bot.inbox.recurring import look_after
from bot.inbox.requests import list_plans
from bot.machines.asking import told
from bot.process import homes
from bot.slack.app import commit
from storage.contract.spec import Schedule
from tests.support.fakes import DEPLOY, NOW, TEAM, approve, at_home, plan_spec, step, tamper, terms
from tests.support.room import Room, handle_all
from tests.support.store import Store

SECRET = "hush-hush"
SAID = {"DANN": "Deploy b", "G1": "Deploy c"}


@pytest.fixture
def room(lite: Store) -> Room:
    """Plan 1 stands in a public channel, 2 in Ann's direct messages, 3 in a private channel of hers."""
    found = Room(lite)
    found.proposed(plan_spec())
    for channel, service in (("DANN", "b"), ("G1", "c")):
        plan_id = lite.request(SECRET, team=TEAM, user="ANN", channel=channel)
        made = plan_spec(step("s1", DEPLOY, parameters={"service": service}))
        lite.propose(plan_id, made, terms(), author="planner")
    found.people.rooms = {"ANN": ["G1"], "IRIS": ["G1"]}
    return found


def says(room: Room, user: str, text: str, channel: str = "C1") -> str:
    """`/plan …`, and the answer."""
    body = {
        "command": "/plan",
        "user_id": user,
        "channel_id": channel,
        "text": text,
        "trigger_id": user + text,
    }
    commit(room.bot, at_home(body), lambda: None)
    handle_all(room.bot)
    return "\n".join(room.whispers(user))


def tab(room: Room, user: str) -> str:
    draw = homes(room.store, room.config, [], room.people)
    return str(draw(user, "D1"))


@pytest.mark.parametrize(
    ("user", "seen"),
    [("EVE", ()), ("IRIS", ("G1",)), ("ANN", ("DANN", "G1")), ("BOB", ("DANN", "G1"))],  # BOB is asked
)
def test_lists_and_home_tabs_hold_what_the_person_could_read_or_has_a_part_in(room, user, seen):
    for plan_id in (1, 2, 3):
        approve(room.store, plan_id, "CAROL")
    for shown in (says(room, user, "list"), tab(room, user)):
        assert {channel for channel, said in SAID.items() if said in shown} == {*seen}
        assert "Deploy a" in shown


def test_one_plan_is_shown_to_whoever_sees_it_and_to_others_it_is_not_there(room):
    assert "Deploy c" in says(room, "IRIS", "show 3")
    hidden, missing = says(room, "EVE", "show 3"), says(room, "OTTO", "show 99")

    assert hidden == "There is no plan 3 that you can see."
    assert missing == "There is no plan 99 that you can see."
    assert [event.data["verb"] for event in room.store.events(3) if event.verb == "refuse"] == ["look"]


@pytest.mark.parametrize("word", ["show", "cancel", "approve", "break-glass", "reviewed", "board"])
@pytest.mark.parametrize("number", [2, 3])
def test_no_word_tells_a_plan_that_one_cannot_see_from_none(room, word, number):
    room.bot = replace(room.bot, board=True)
    hidden = says(room, "EVE", f"{word} {number}{' because' if word not in NUMBERED else ''}")
    missing = says(room, "OTTO", f"{word} 99{' because' if word not in NUMBERED else ''}")

    assert hidden.replace(str(number), "N") == missing.replace("99", "N")
    assert "ANN" not in hidden
    assert room.store.view(number).state == "proposed"


NUMBERED = {"show", "approve", "board"}  # words behind which nothing but a number stands


def test_who_may_cancel_need_not_read_the_channel(room):
    named = room.config.people.model_copy(update={"admins": ("IDA",)})
    room.bot = replace(room.bot, config=room.config.model_copy(update={"people": named}))

    assert says(room, "IDA", "cancel 2 wrong window") == "Plan 2 is cancelled."


@pytest.mark.parametrize("word", ["pause", "resume", "remove", "approve"])
def test_what_recurs_elsewhere_is_not_told_from_what_does_not(room, word):
    says(room, "ANN", f"every weekday at 02:00 {SECRET}", channel="DANN")
    hidden, missing = says(room, "EVE", f"schedules {word} 1"), says(room, "OTTO", f"schedules {word} 9")

    assert hidden.replace("1", "N") == missing.replace("9", "N")
    assert room.store.recurring()[0].state == "active"


def test_what_recurs_is_listed_to_whoever_could_read_where_it_was_asked_for(room):
    says(room, "ANN", f"every weekday at 02:00 {SECRET}", channel="DANN")

    assert SECRET in says(room, "ANN", "schedules")
    assert SECRET not in says(room, "EVE", "schedules")


def test_a_home_tab_shows_no_plan_to_somebody_whom_slack_does_not_know_now(room):
    room.people.silent = True

    assert "Deploy a" not in tab(room, "BOB")


@pytest.mark.parametrize("text", ["deploy b", "every weekday at 02:00 deploy b"])
def test_where_others_read_nothing_is_planned(room, text):
    room.people.shared = True
    answer = says(room, "ANN", text)

    assert "write to me directly" in answer
    assert (len(room.store.recent()), room.store.recurring()) == (3, [])
    assert [event.data["verb"] for event in room.store.events(0)] == ["request"]


@pytest.mark.parametrize("action", ["approve", "edit"])
def test_at_a_decision_the_channel_is_looked_at_afresh(lite, action):
    room = Room(lite)
    room.proposed(plan_spec())
    looks: list[Any] = []
    room.people.outside = lambda channel, *, fresh=False: looks.append((channel, fresh)) or True
    room.clicks("BOB", action)

    assert looks == [("C1", True)]
    assert room.view().state == "proposed"
    assert room.opened == []
    assert "shared with another organisation" in room.whispers("BOB")[0]


REWORDED = "UPDATE revision SET spec = replace(spec, 'Deploy a', 'Look at a')"


def test_words_that_were_changed_behind_our_back_are_neither_approved_nor_shown(lite, caplog):
    room = Room(lite)
    room.proposed(plan_spec())
    tamper(lite, REWORDED)
    room.clicks("BOB", "approve")

    assert room.view().state == "proposed"
    assert "is not what was put on record" in room.whispers("BOB")[0]
    assert "Look at a" not in says(room, "ANN", "show 1")
    assert "ALARM plan=1" in caplog.text
    assert [event.data["verb"] for event in lite.events(1) if event.verb == "refuse"] == ["approve", "look"]


SURFACES: dict[str, Callable[[Room], str]] = {
    "list": lambda room: list_plans(room.bot, "", {"user": "BOB"}),
    "home tab": lambda room: tab(room, "BOB"),
    "all plans": lambda room: str(listed(room.bot, "BOB", 0)),
    "a question": lambda room: own_answer(room.bot, "waiting", "BOB"),
    "a machine's answer": lambda room: told(room.bot, room.view()).model_dump_json(),
    "what waits for its time": lambda room: look_after(room.bot, "", {"user": "BOB", "channel": "C1"}),
}
LATER = Schedule(at="02:00", not_before=NOW + timedelta(hours=2), not_after=NOW + timedelta(hours=4))


@pytest.mark.parametrize("approved", [False, True])
@pytest.mark.parametrize("surface", SURFACES)
def test_no_list_and_no_home_tab_shows_words_that_were_changed_behind_our_back(lite, surface, approved):
    room = Room(lite)
    room.proposed(plan_spec(step("s1", DEPLOY, schedule=LATER)))
    if (approved and surface != "a question") or surface == "what waits for its time":
        approve(lite, 1)
    assert "Deploy a" in SURFACES[surface](room)
    tamper(lite, "UPDATE revision SET spec = replace(spec, '\"a\"', '\"b\"')")
    shown = SURFACES[surface](Room(lite))

    assert "Deploy b" not in shown
    assert "Deploy a" not in shown
    assert "it does not read as it was proposed" in shown


def test_changed_words_open_no_form_and_answer_no_question_but_can_be_rejected(lite):
    room = Room(lite)
    room.proposed(plan_spec())
    tamper(lite, REWORDED)
    for action in ("details", "edit"):
        room.clicks("BOB", action)
    assert (room.opened, len(room.whispers("BOB"))) == ([], 2)
    room.clicks("BOB", "reject")

    assert len(room.opened) == 1
    assert "Look at a" not in str(room.opened)


def test_two_accounts_of_one_person_are_one_approver(lite):
    room = Room(lite)
    room.proposed(plan_spec(), terms(needed=2))
    room.people.persons = {"BOB": "b@example.org", "CAROL": "b@example.org"}
    room.clicks("BOB", "approve")
    room.clicks("CAROL", "approve")

    assert room.view().approved_by == ("BOB",)
    assert "<@BOB> and you are one person" in room.whispers("CAROL")[0]
    assert [event.data["verb"] for event in lite.events(1) if event.verb == "refuse"] == ["approve"]


def test_who_asked_does_not_approve_by_another_account(lite):
    room = Room(lite)
    room.proposed(plan_spec())
    room.people.persons = {"ANN": "a@example.org", "BOB": "a@example.org"}
    room.clicks("BOB", "approve")

    assert room.view().state == "proposed"
    assert "<@ANN> and you are one person" in room.whispers("BOB")[0]


def test_where_slack_tells_nothing_of_people_accounts_count(lite):
    room = Room(lite)
    room.proposed(plan_spec(), terms(needed=2))
    room.clicks("BOB", "approve")
    room.clicks("CAROL", "approve")

    assert room.view().state == "approved"


def test_who_sees_none_of_the_newest_plans_finds_the_newest_that_they_see(room):
    for number in range(15):
        plan_id = room.store.request(f"{SECRET} {number}", team=TEAM, user="ANN", channel="G1")
        room.store.propose(plan_id, plan_spec(), terms(), author="planner")

    found = list_plans(room.bot, "", {"user": "EVE"})

    assert found.startswith("• 1: ")
    assert len(list_plans(room.bot, "", {"user": "IRIS"}).splitlines()) == 10
