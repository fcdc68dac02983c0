"""What people ask about us and our plans is answered in private, and leaves no plan behind."""

import pytest

from storage.contract.states import PlanState
from tests.support.fakes import approve, messages, plan_spec, step, succeed
from tests.support.room import Room

pytestmark = pytest.mark.language


def asks(room: Room, user: str, words: str) -> str:
    """The answer to `/plan …`."""
    before = len(room.whispers(user))
    room.delivers({
        "command": "/plan", "text": words, "user_id": user, "channel_id": "C1",
        "trigger_id": f"t{before}{words}", "team_id": "T1", "api_app_id": room.people.home.app,
    })  # fmt: skip
    return "\n".join(room.whispers(user)[before:])


@pytest.fixture
def room(lite):
    found = Room(lite)
    found.proposed(plan_spec(step("s1")))
    return found


@pytest.mark.parametrize(
    ("user", "words", "answer"),
    [
        ("BOB", "what is waiting for me?", "1 wait for you:"),
        ("BOB", "anything for me to approve?", "1 wait for you:"),
        ("EVE", "what's waiting for me", "Nothing waits for you."),
        ("BOB", "what's running?", "Nothing runs."),
        ("EVE", "status", "The newest plans:"),
        ("EVE", "what's the status?", "The newest plans:"),
        ("EVE", "status 1", "*1: Check a*"),
        ("ANN", "my plans", "Yours, newest first:"),
        ("EVE", "show me my plans please", "You have asked for no plan yet."),
        ("EVE", "who can approve?", "In general <@BOB> or <@CAROL>."),
        ("EVE", "what ran last night?", "Nothing ended within the last 24 hours."),
    ],
)
def test_what_is_asked_about_plans_is_answered_and_makes_none(room, user, words, answer):
    before = len(room.store.recent(100))

    assert asks(room, user, words).startswith(answer)
    assert len(room.store.recent(100)) == before


def test_what_runs_and_what_ran_is_told(room):
    plan_id = room.view().id
    approve(room.store, plan_id)
    running = asks(room, "EVE", "what is running right now?")
    succeed(room.store, plan_id, "s1")

    assert f"plan {plan_id}" in running
    assert room.view().state == PlanState.done
    assert f"plan {plan_id}" in asks(room, "EVE", "what happened yesterday?")


@pytest.mark.authorize
def test_who_may_not_look_is_told_nothing(room):
    assert "Guests may not" in asks(room, "GUS", "what's running?")
    assert messages(room.store, "choose") == []


@pytest.mark.parametrize(
    "words",
    [
        "back up auth_prod",
        "what is running on production?",
        "deploy my plans",
        "who",
        "status of auth-service",
    ],
)
def test_a_wish_is_not_mistaken_for_a_question_about_us(room, words):
    answer = asks(room, "ANN", words)

    assert "Yours, newest" not in answer
    assert "Nothing runs" not in answer
    assert "The newest" not in answer
