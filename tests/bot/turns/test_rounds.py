"""One round of thinking: short, fair, and no wish is refused because the database was away."""

import pytest

import bot.turns.rounds
from bot.plans.review import Work
from bot.turns.rounds import attempt, think
from storage.errors import Unavailable
from tests.support.fakes import CONTRACTS, TEAM
from tests.support.room import Room


@pytest.fixture
def room(lite):
    lite.publish(CONTRACTS.values())
    return Room(lite)


def wish(room: Room, user: str) -> int:
    return room.store.request("deploy a", team=TEAM, user=user, channel="C1")


def test_sixty_plans_of_one_member_do_not_hold_up_another(room, monkeypatch):
    thought, now, served = list[int](), [0.0], dict[str, float]()

    def slowly(bot: object, one: Work) -> None:
        thought.append(one.plan_id)
        now[0] += 1.5
        if len(thought) == 3:
            eves.append(wish(room, "EVE"))
        room.store.stall(one.plan_id, actor="planner", reason="no")

    eves = list[int]()
    monkeypatch.setattr(bot.turns.rounds.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(bot.turns.rounds, "attempt", slowly)
    monkeypatch.setattr(bot.turns.rounds, "reviews", lambda _: [])
    for _ in range(60):
        wish(room, "ANN")
    for _ in range(6):
        think(room.bot, served)

    assert thought.index(eves[0]) == 3


def test_a_wish_waits_for_a_database_that_is_away(room):
    def away(*_: object) -> None:
        raise Unavailable("away")

    refused = list[str]()
    one = Work(1, away, lambda *said: refused.append(said[2]), lambda *_: refused.append("broke"))
    with pytest.raises(Unavailable):
        attempt(room.bot, one)
    assert refused == []
