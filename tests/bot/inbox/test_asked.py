"""What comes by another door: the bot knows whose login it is; behind nobody's, nothing changes."""

from typing import Any

import pytest

from bot.cards.card import card
from storage.config import SignoffConfig
from storage.intention import Intention
from tests.support.fakes import demo_config, real_contracts
from tests.support.room import Room, handle_all

READ = {"goal": "Look", "steps": [{"id": "look", "worker": "k8s-deployer", "action": "rollout_status",
        "parameters": {"service": "auth-service", "environment": "production"}}]}  # fmt: skip
CHANGE = {"goal": "Restart", "steps": [{"id": "go", "worker": "k8s-deployer", "action": "restart",
          "parameters": {"service": "auth-service", "environment": "production"}}]}  # fmt: skip


@pytest.fixture
def room(lite: Any) -> Room:
    lite.publish(real_contracts())
    given = demo_config().model_dump() | {
        "people": {"approvers": ["BOB", "CAROL"], "logins": {"ann": "UANN"}}
    }
    made = Room(lite)
    made.bot.config.people.logins["ann"] = SignoffConfig.model_validate(given).people.logins["ann"]
    return made


def handed_in(room: Room, asked: dict[str, Any], user: str = "terminal:ann") -> dict[str, Any]:
    room.store.deliver("ask:1", "ask", {"user": user, "channel": "C1"} | asked)
    handle_all(room.bot)
    store: Intention = room.store
    return store.answer_left("ask:1") or {}


def test_a_plan_of_a_known_login_is_proposed_with_its_person_as_author(room):
    assert handed_in(room, {"plan": CHANGE}) == {"plan": 1}

    view = room.view()
    assert (view.state, view.requester, view.authors) == ("proposed", "UANN", ("UANN",))
    assert view.needed == 1


def test_a_wish_is_planned_as_if_it_was_said_in_slack(room):
    assert handed_in(room, {"text": "restart auth-service in production"}) == {"plan": 1}
    assert (room.view().state, room.view().requester) == ("planning", "UANN")


@pytest.mark.parametrize("asked", [{"plan": CHANGE}, {"text": "restart auth-service in production"}])
def test_nothing_that_changes_is_proposed_for_a_login_that_nobody_stands_behind(room, asked):
    answer = handed_in(room, asked, user="terminal:eve")

    assert "Nobody in Slack stands behind the login “eve”" in answer["why"]
    assert room.store.recent(1) == []


def test_a_look_of_such_a_login_is_proposed_and_its_card_mentions_nobody(room):
    assert handed_in(room, {"plan": READ}, user="terminal:eve") == {"plan": 1}
    shown = str(card(room.view(), room.store.clock()))

    assert "eve (at the terminal) asked" in shown
    assert "<@terminal" not in shown


def test_who_is_barred_in_slack_is_refused_at_the_terminal_too(room):
    room.people.barred["UANN"] = "Guests may not ask for or decide plans."

    assert handed_in(room, {"plan": READ}) == {"why": "Guests may not ask for or decide plans."}


def test_what_is_wrong_with_a_plan_is_said(room):
    bad = {**CHANGE, "steps": [CHANGE["steps"][0] | {"action": "dance"}]}

    assert "has no action 'dance'" in handed_in(room, {"plan": bad})["why"]
