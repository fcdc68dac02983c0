"""A question that one read answers: asked of a worker at once, and nobody but the asker hears of it."""

import pytest

from bot.inbox.requests import on_command
from bot.policy.visibility import visible
from storage.contract.states import PlanState
from storage.errors import NotAllowed
from storage.reading.plan_view import PlanView
from tests.support.fakes import (
    DEPLOY,
    TEAM,
    messages,
    plan_spec,
    real_contracts,
    step,
    terms,
    verbs,
)
from tests.support.room import Room

pytestmark = pytest.mark.language
QUESTION = "is auth-prod up?"


@pytest.fixture
def room(lite):
    found = Room(lite)
    lite.publish(real_contracts())
    lite.alive("w1", "workers", "0.1")
    return found


def asks(room: Room, text: str = QUESTION, user: str = "EVE") -> PlanView:
    assert on_command(room.bot, {"user": user, "channel": "C1", "text": text}) == ""
    return room.store.view(1)


def test_it_runs_at_once_is_journalled_and_counted_and_stands_in_no_list(room):
    view = asks(room)

    assert (view.private, view.state) == (True, PlanState.approved)
    assert [one.spec.action for one in view.steps] == ["check_http"]
    assert verbs(room.store, 1) == ["request", "propose", "approve"]
    assert room.store.requested("EVE", view.created_at.replace(year=2000)) == 1
    assert room.store.recent(50) == []
    assert room.store.open_plans() == []
    assert messages(room.store, "card") == []


def test_only_the_asker_sees_it(room):
    view = asks(room)
    people = {user: room.people.actor(user) for user in ("EVE", "BOB", "CAROL")}

    seen = {user for user, actor in people.items() if visible(actor, view, room.config, lambda channel: True)}
    assert seen == {"EVE"}


@pytest.mark.parametrize(
    "text",
    ["check that auth-prod answers", "restart auth-service in production", "why is auth-service slow?"],
)
def test_what_is_no_question_or_takes_several_reads_has_a_card(room, text):
    asks(room, text, user="ANN")

    assert not room.store.view(1).private
    assert len(messages(room.store, "card")) == 1


def test_without_workers_a_question_waits_with_a_card_that_says_so(lite):
    room = Room(lite)
    lite.publish(real_contracts())

    assert not asks(room).private


def test_nothing_that_changes_anything_is_private(room):
    room.store.publish([DEPLOY])
    changing, place = plan_spec(step("one", DEPLOY)), {"team": TEAM, "user": "ANN", "channel": "C1"}

    with pytest.raises(NotAllowed):
        room.store.request_planned("restart", changing, terms(0), **place, thread="", private=True)
    assert room.store.known(1) == 0
