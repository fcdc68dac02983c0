"""Where something comes from is compared with our workspace and with our own messages; else it is refused."""

from typing import Any

import pytest

from bot.cards.blocks import MENU, button, menu, pack
from bot.inbox.dispatch import PATIENCE
from bot.inbox.forms import on_submitted
from bot.inbox.origin import FOREIGN, GONE
from bot.people import Home
from bot.slack.app import commit, origin
from tests.support.fakes import HERE, Everybody, at_home, messages, plan_spec, shown, terms, verbs
from tests.support.room import CARD, Room, handle_all
from tests.support.store import Store

GRID = Home("T1", "E1", "A1")
ELSEWHERE = [
    {"team": {"id": "T2"}},
    {"team": None},
    {"enterprise": {"id": "E9", "name": "another"}},
    {"api_app_id": "A2"},
    {"api_app_id": ""},
]


@pytest.fixture
def room(lite: Store) -> Room:
    found = Room(lite)
    found.proposed(plan_spec())
    return found


def click(room: Room, user: str = "BOB", action: str = "approve", **more: Any) -> dict[str, Any]:
    """As Slack sends it."""
    view = room.view()
    value = pack(view.id, view.revision, view.digest)
    pressed = {"action_id": action, "value": value, "action_ts": f"300.{len(room.whispers(user)):06}"}
    body = {"type": "block_actions", "user": {"id": user}, "channel": {"id": "C1"}, "trigger_id": "t",
            "team": {"id": "T1"}, "message": {"ts": CARD}, "actions": [pressed]}  # fmt: skip
    full = at_home(body) | more
    del full["team_id"]  # a click has none
    return full


def choice(room: Room, action: str, **more: Any) -> dict[str, Any]:
    """What Slack sends when a button of ours is chosen that stands behind the dots."""
    body = click(room, action=action, **more)
    made = menu(button("x", action, body["actions"][0]["value"]))
    chosen = {"action_id": MENU, "type": "overflow", "selected_option": made["options"][0]}
    return body | {"actions": [chosen | {"action_ts": "300.9"}]}


def container(**parts: Any) -> dict[str, Any]:
    here = {"type": "message", "channel_id": "C1", "message_ts": CARD, "is_ephemeral": False}
    return {"container": here | parts}


def deliver(room: Room, body: dict[str, Any]) -> None:
    commit(room.bot, body, lambda: None)
    handle_all(room.bot)


def refusals(room: Room, plan_id: int) -> list[Any]:
    return [event for event in room.store.events(plan_id) if event.verb == "refuse"]


def test_a_click_on_the_card_counts(room):
    deliver(room, click(room))

    assert room.view().state == "approved"


def test_what_is_chosen_behind_the_dots_counts_as_its_button(room):
    deliver(room, choice(room, "approve"))

    assert (room.view().state, room.view().approved_by) == ("approved", ("BOB",))


@pytest.mark.parametrize("more", [{"team": {"id": "T2"}}, {"message": {"ts": "100.9"}}], ids=str)
def test_what_is_chosen_behind_the_dots_of_another_place_decides_nothing_and_is_on_record(room, more):
    deliver(room, choice(room, "approve", **more))

    assert room.view().state == "proposed"
    assert [event.data["verb"] for plan in (0, 1) for event in refusals(room, plan)] == ["approve"]


def test_what_is_chosen_for_another_digest_approves_nothing(room):
    body = choice(room, "approve")
    chosen = body["actions"][0]["selected_option"]
    chosen["value"] = chosen["value"].replace(room.view().digest[:4], "0000")
    deliver(room, body)

    assert room.view().state == "proposed"


@pytest.mark.parametrize(
    "option", [None, {}, {"value": ""}, {"value": "approve"}, {"value": " x y"}], ids=str
)
def test_a_choice_that_is_none_of_ours_is_answered_and_on_record(room, option):
    body = choice(room, "approve")
    body["actions"][0]["selected_option"] = option
    deliver(room, body)

    assert room.whispers("BOB") == [GONE]
    assert [event.data["stale"] for event in refusals(room, 0)] == [True]


@pytest.mark.parametrize("marks", ELSEWHERE, ids=str)
def test_a_click_by_way_of_another_workspace_or_app_is_refused_and_on_record(room, marks):
    deliver(room, click(room) | marks)

    assert (room.view().state, room.view().approved_by) == ("proposed", ())
    assert room.whispers("BOB") == [FOREIGN]
    (event,) = refusals(room, 0)
    assert (event.actor, event.data["verb"], event.data["via"]) == ("BOB", "approve", "click")


@pytest.mark.parametrize("marks", ELSEWHERE, ids=str)
def test_a_form_by_way_of_another_workspace_or_app_is_refused_and_on_record(room, marks):
    room.clicks("BOB", "reject")
    form = room.opened[-1] | {"state": {"values": {"reason": {"value": {"value": "no"}}}}}
    body = {"type": "view_submission", "api_app_id": "A1", "team": {"id": "T1"}} | marks

    assert on_submitted(room.bot, "BOB", form, origin(body)) == {"reason": FOREIGN}
    assert room.view().state == "proposed"
    assert [event.data["verb"] for event in refusals(room, 0)] == ["reject"]
    assert on_submitted(room.bot, "BOB", form, origin(body | {"api_app_id": "A1"} | OURS)) == {}


OURS = {"team": {"id": "T1"}, "enterprise": None}


@pytest.mark.parametrize(
    "body",
    [
        {"command": "/plan", "user_id": "ANN", "channel_id": "C1", "text": "deploy b", "trigger_id": "t",
         "team_id": "T2", "api_app_id": "A1"},
        {"type": "event_callback", "api_app_id": "A1", "team_id": "T1", "context_team_id": "T2",
         "event": {"type": "app_mention", "user": "ANN", "text": "x", "channel": "C1", "ts": "9.9"}},
        {"type": "event_callback", "api_app_id": "A2", "team_id": "T1",
         "event": {"type": "message", "channel_type": "im", "user": "ANN", "text": "x", "channel": "D1",
                   "ts": "9.9"}},
        {"type": "message_action", "callback_id": "plan_this", "user": {"id": "ANN"}, "team": {"id": "T2"},
         "api_app_id": "A1", "channel": {"id": "C1"}, "message": {"text": "x", "ts": "9"}, "action_ts": "9"},
        {"type": "event_callback", "api_app_id": "A1", "authorizations": [{"team_id": "T2"}],
         "event": {"type": "app_home_opened", "tab": "home", "user": "ANN", "channel": "D1",
                   "event_ts": "9.9"}},
    ],
    ids=["command", "mention", "letter", "shortcut", "home"],
)  # fmt: skip
def test_whatever_else_comes_by_way_of_another_workspace_is_refused_and_on_record(room, body):
    deliver(room, body)

    assert len(room.store.recent()) == 1
    assert room.store.told(["home:ANN"]) == set()
    assert room.whispers("ANN") == [FOREIGN]
    assert [event.actor for event in refusals(room, 0)] == ["ANN"]


def test_an_event_of_a_shared_channel_counts_by_the_workspace_through_which_it_reaches_us():
    event = {
        "api_app_id": "A1",
        "team_id": "T9",
        "authorizations": [{"team_id": "T1", "enterprise_id": None}],
    }

    assert HERE.sent(**origin(event))
    assert not HERE.sent(**origin(event | {"authorizations": [{"team_id": "T9"}]}))


@pytest.mark.parametrize(
    "body",
    [
        {"team": {"id": "T1", "enterprise_id": "E1"}, "enterprise": {"id": "E1"}, "api_app_id": "A1"},
        {"team_id": "T1", "enterprise_id": "E1", "api_app_id": "A1"},
        {"context_team_id": "T1", "context_enterprise_id": "E1", "api_app_id": "A1"},
    ],
    ids=["click", "command", "event"],
)
def test_in_a_workspace_of_an_organisation_both_must_be_ours(body):
    assert GRID.sent(**origin(body))
    assert not HERE.sent(**origin(body))
    assert not Home("T1", "E2", "A1").sent(**origin(body))


@pytest.mark.parametrize(
    "place",
    [
        {"message": {"ts": "100.000009"}} | container(message_ts="100.000009"),  # not a message of ours
        container(message_ts="100.000009"),  # the payload contradicts itself
        container(channel_id="C2"),
        container(type="view"),
        {"container": None},
        {"channel": {"id": "C2"}} | container(channel_id="C2"),  # a copy elsewhere
    ],
    ids=["copy", "other message", "other channel", "a view", "nowhere", "copied into another channel"],
)
def test_a_click_from_another_place_than_our_message_decides_nothing_and_is_on_record(room, place):
    deliver(room, click(room) | place)

    assert room.view().state == "proposed"
    assert room.whispers("BOB") == [GONE]
    (event,) = refusals(room, 1)
    assert (event.data["verb"], event.data["stale"], event.data["reason"]) == ("approve", True, GONE)


@pytest.mark.parametrize("kind", ["home", "modal"])
def test_no_button_of_a_card_counts_in_a_home_tab_or_a_form(room, kind):
    body = (
        click(room) | {"view": {"id": "V1", "type": kind, "private_metadata": "C1"}} | container(type="view")
    )
    deliver(room, {key: part for key, part in body.items() if key not in {"message", "channel"}})

    assert room.view().state == "proposed"
    assert [event.data["reason"] for event in refusals(room, 1)] == [GONE]


def test_the_card_of_another_plan_does_not_speak_for_this_one(room):
    other = room.store.request("deploy b", team="T1", user="ANN", channel="C1")
    room.store.propose(other, plan_spec(), terms(), author="planner")
    shown(room.store, other, "100.000002")
    at = {"message": {"ts": CARD}} | container()
    deliver(room, click(room) | at)  # the button says plan 2, the message is the card of plan 1

    assert room.view().id == other
    assert room.view().state == "proposed"


def test_an_answer_to_one_person_alone_opens_a_form_and_approves_nothing(room):
    alone = container(is_ephemeral=True, message_ts="100.7")
    whispered = {key: part for key, part in (click(room) | alone).items() if key != "message"}
    edit = {key: part for key, part in (click(room, action="edit") | alone).items() if key != "message"}
    deliver(room, whispered)
    deliver(room, edit)

    assert room.view().state == "proposed"
    assert [form["callback_id"] for form in room.opened] == ["edit"]


@pytest.mark.parametrize("action", ["clarify", "clarify_pick_1", "clarify_never"])
def test_what_is_asked_of_one_person_alone_is_answered_there(room, action):
    alone = container(is_ephemeral=True, message_ts="100.7")
    body = click(room, user="ANN", action=action) | alone
    deliver(room, {key: part for key, part in body.items() if key != "message"})

    assert GONE not in room.whispers("ANN")


def test_a_card_that_was_posted_again_counts_and_the_place_of_the_old_one_does_not(room):
    (card,) = messages(room.store, "card")
    room.store.forget(card)
    shown(room.store, 1, "100.000055")
    deliver(room, click(room))
    assert room.view().state == "proposed"

    deliver(room, click(room) | {"message": {"ts": "100.000055"}} | container(message_ts="100.000055"))

    assert room.view().state == "approved"


def test_a_click_that_is_faster_than_slacks_answer_to_our_post_waits_for_it(room, clock):
    (card,) = messages(room.store, "card")
    room.store.forget(card)
    room.store.sending(messages(room.store, "card")[0])
    deliver(room, click(room))
    assert room.store.unhandled() != []

    shown(room.store, 1, CARD)
    handle_all(room.bot)
    assert (room.view().state, room.store.unhandled()) == ("approved", [])


def test_a_click_on_a_post_that_we_never_hear_of_is_answered_and_on_record(room, clock):
    (card,) = messages(room.store, "card")
    room.store.forget(card)
    room.store.sending(messages(room.store, "card")[0])
    deliver(room, click(room))
    clock.advance(PATIENCE.total_seconds() + 1)
    handle_all(room.bot)

    assert room.view().state == "proposed"
    assert "Please click again" in room.whispers("BOB")[0]
    assert len(refusals(room, 0)) == 1


@pytest.mark.parametrize(
    "value", ["", "{}", '{"p": 99}', '{"p": 1e999}', '{"p": "1"*9}', f'{{"p": {"9" * 400}}}']
)
def test_a_button_that_is_none_of_ours_is_answered_and_on_record(room, value):
    body = click(room)
    body["actions"][0]["value"] = value
    deliver(room, body)

    assert room.whispers("BOB") == [GONE]
    assert [event.data["stale"] for event in refusals(room, 0)] == [True]
    assert verbs(room.store, 1) == ["request", "propose"]


def test_old_buttons_and_old_forms_are_on_record(room):
    room.clicks("BOB", "reject")
    assert room.fills("BOB", {"reason": "no"}) == {}
    room.clicks("CAROL", "approve")
    assert "already rejected" in room.fills("CAROL", {"reason": "neither"})["reason"]

    stale = [(event.actor, event.data["verb"]) for event in refusals(room, 1) if event.data.get("stale")]
    assert stale == [("CAROL", "approve"), ("CAROL", "reject")]


def test_nobody_is_at_home_without_a_workspace_and_an_app():
    assert not Home("").sent("", "", "")
    assert not Home("T1").sent("T1", "", "")
    assert Everybody().home.sent("T1", "", "A1")
