"""Move Later: the approval stays, inside a window, outside freezes, and for those who may."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.cards.card import card
from bot.cards.thread import message
from bot.plans.permits import permit
from bot.plans.postpone import openings, postpone, waiting
from bot.plans.up_to_date import fresh
from storage.config import SignoffConfig
from storage.contract.states import PlanState, StepState
from storage.errors import BadTime, Conflict, NotAllowed
from storage.reading.plan_view import PlanView
from tests.support.fakes import DEPLOY, approve, claim, demo_config, plan_spec, step
from tests.support.room import Room
from tests.support.store import Store

# Sunday 18:00 in New York; the nightly window is from 02:00 to 04:00 there.
TONIGHT = datetime(2026, 11, 16, 7, tzinfo=UTC)
DAY = timedelta(days=1)
WINDOWS = {"nightly": {"start": "02:00:00", "hours": 2, "zone": "America/New_York"}}
SCHEDULE = {
    "not_before": TONIGHT,
    "not_after": TONIGHT + timedelta(hours=2),
    "zone": "America/New_York",
    "window": "nightly",
}


def room_with(store: Store, **more: Any) -> Room:
    given = demo_config().model_dump() | {"windows": WINDOWS, "zone": "America/New_York"} | more
    room = Room(store, SignoffConfig.model_validate(given))
    room.proposed(plan_spec(step("deploy", DEPLOY, purpose="Deploy it", schedule=SCHEDULE)))
    approve(store, room.view().id)
    return room


def starts(view: PlanView) -> datetime:
    found = view.step("deploy").not_before
    assert found
    return found


def moved(room: Room, said: str, user: str = "ANN") -> PlanView:
    postpone(room.bot, user, room.view(), said)
    return room.view()


@pytest.mark.parametrize(
    ("said", "days"),
    [("the next window", 1), ("nightly", 1), ("tomorrow night at 2am", 1), ("Wednesday 2am in New York", 2)],
)
def test_words_move_it_and_the_approval_stays(lite, said, days):
    view = moved(room_with(lite), said)

    assert (view.state, view.approved_by, starts(view)) == (
        PlanState.approved,
        ("BOB",),
        TONIGHT + days * DAY,
    )
    assert view.step("deploy").not_after == TONIGHT + days * DAY + timedelta(hours=2)


def test_then_it_gets_its_permit_and_runs_by_the_same_approval(lite, clock):
    room = room_with(lite)
    moved(room, "the next window")
    moved(room, "the next window")
    clock.now = TONIGHT + 2 * DAY
    permit(room.bot)

    assert room.view().step("deploy").withheld == ""
    assert claim(lite, room.view().id, "deploy") is not None


@pytest.mark.parametrize("user", ["EVE", "GUS"])
def test_who_may_not_change_the_plan_does_not_move_it(lite, user):
    room = room_with(lite)

    with pytest.raises(NotAllowed):
        postpone(room.bot, user, room.view(), "the next window")
    assert room.view().revision == 1
    assert lite.events(room.view().id)[-1].verb == "refuse"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("tonight at 1am", "only a later time keeps the approval"),
        ("now", "only a later time keeps the approval"),
        ("tomorrow 14:00", "no window is open then"),
        ("tomorrow night at 3am", "goes past the end of its window"),
        ("2026-11-26 02:00", "too long after the approval"),
    ],
)
def test_what_is_no_later_time_inside_a_window_is_refused_with_the_reason(lite, said, why):
    room = room_with(lite)

    with pytest.raises((NotAllowed, BadTime), match=why):
        postpone(room.bot, "ANN", room.view(), said)
    assert room.view().revision == 1


def test_a_freeze_is_passed_over(lite):
    freeze = {"start": TONIGHT + DAY, "end": TONIGHT + 2 * DAY, "zone": "UTC", "reason": "sales"}
    room = room_with(lite, freezes={"sales": freeze})
    offered = openings(room.bot, room.view(), waiting(room.view()))

    assert [start for start, _ in offered] == [TONIGHT + n * DAY for n in (2, 3, 4)]
    with pytest.raises(NotAllowed, match="frozen then"):
        postpone(room.bot, "ANN", room.view(), "the next window")


def test_without_windows_the_same_hour_of_the_next_days_is_offered(lite):
    room = room_with(lite, windows={})
    offered = openings(room.bot, room.view(), waiting(room.view()))

    assert [start for start, _ in offered] == [TONIGHT + n * DAY for n in (1, 2, 3)]


def test_the_card_has_the_button_and_the_form_moves_it(lite, clock):
    room = room_with(lite)
    _, blocks = card(room.view(), clock())
    room.clicks("ANN", "later")
    form = room.opened[-1]
    options = next(b for b in form["blocks"] if b.get("block_id") == "next")["element"]["options"]

    assert "Move Later" in str(blocks)
    assert [option["text"]["text"] for option in options] == [
        f"{day} Nov, 02:00 to 04:00 EST" for day in ("Tue 17", "Wed 18", "Thu 19")
    ]
    assert room.fills("ANN", {"next": "", "when": ""}) == {
        "when": "Please choose a time above, or write one."
    }
    assert room.fills("ANN", {"next": options[1]["value"]}) == {}
    assert starts(room.view()) == TONIGHT + 2 * DAY


def test_the_form_says_what_is_wrong_with_a_time(lite):
    room = room_with(lite)
    room.clicks("ANN", "later")

    assert "no window is open then" in room.fills("ANN", {"when": "tomorrow 14:00"})["when"]


def test_the_thread_tells_those_who_approved(lite, clock):
    room = room_with(lite)
    view = moved(room, "the next window")
    moving = lite.events(view.id)[-1]
    text, _ = message("moved", view, moving, clock())
    own, _ = message("moved", view, moving.model_copy(update={"actor": "BOB"}), clock())

    assert own.endswith("The approval stays.")
    assert text == (
        ":clock2: <@ANN> moved *Deploy a* to Tue 17 Nov 02:00 EST (07:00 UTC). "
        "<@BOB>, your approval stays; Cancel is on the card."
    )


def test_a_missed_window_offers_the_next_one(lite, clock):
    room = room_with(lite)
    clock.now = TONIGHT + timedelta(hours=3)
    lite.miss()
    stalled = room.view()
    _, blocks = message("outcome", stalled, lite.events(stalled.id)[-2], clock())
    room.clicks("BOB", "answer_next", "deploy")
    after = room.view()

    assert [b for b in ("Next Window", "Other Time", "Stop") if f"'{b}'" not in str(blocks)] == []
    assert (after.state, starts(after)) == (PlanState.approved, TONIGHT + DAY)
    assert after.step("deploy").state == StepState.pending
    assert "Moved to Tue 17 Nov 02:00 EST" in room.whispers("BOB")[-1]


def test_the_button_of_the_next_window_names_its_time(lite, clock):
    room = room_with(lite)
    clock.now = TONIGHT + timedelta(hours=3)
    lite.miss()
    stalled = fresh(room.bot, room.view())
    _, blocks = message("outcome", stalled, lite.events(stalled.id)[-2], clock())

    assert "'Next Window: Tue 17 Nov 02:00 EST'" in str(blocks)
    assert "*Next Window: Tue 17 Nov 02:00 EST*: moves it" in str(blocks)
    assert "Nothing was done." in str(blocks)


def test_other_time_asks_for_one(lite, clock):
    room = room_with(lite)
    clock.now = TONIGHT + timedelta(hours=3)
    lite.miss()
    room.clicks("BOB", "answer_time", "deploy")
    room.fills("BOB", {"when": "Wednesday 2am"})

    assert starts(room.view()) == TONIGHT + 2 * DAY


def test_a_plan_that_waits_for_no_time_is_not_moved(lite):
    room = Room(lite)
    room.proposed(plan_spec(step("deploy", DEPLOY)))
    approve(lite, room.view().id)

    with pytest.raises(Conflict, match="waits for a time of its own"):
        postpone(room.bot, "ANN", room.view(), "tomorrow 2am")
