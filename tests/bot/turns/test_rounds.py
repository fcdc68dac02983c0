"""One round of thinking: short, fair, and no wish is refused because the database was away."""

import pytest

from bot.plans.review import Work
from bot.turns.rounds import attempt, line, to_think
from storage.errors import Unavailable
from tests.support.fakes import CONTRACTS, TEAM
from tests.support.room import Room


@pytest.fixture
def room(lite):
    lite.publish(CONTRACTS.values())
    return Room(lite)


def wish(room: Room, user: str) -> int:
    return room.store.request("deploy a", team=TEAM, user=user, channel="C1")


def test_sixty_plans_of_one_member_do_not_hold_up_another(room):
    thought, eves, served = list[int](), list[int](), dict[str, float]()
    for _ in range(60):
        wish(room, "ANN")
    for now in range(6):
        whose, one = to_think(room.bot, served)[0]
        served[whose] = served[line(one)] = float(now)
        thought.append(one.plan_id)
        room.store.stall(one.plan_id, actor="planner", reason="no")
        if now == 2:
            eves.append(wish(room, "EVE"))

    assert thought.index(eves[0]) == 3


def test_a_wish_waits_for_a_database_that_is_away(room):
    def away(*_: object) -> None:
        raise Unavailable("away")

    refused = list[str]()
    one = Work(1, away, lambda *said: refused.append(said[2]), lambda *_: refused.append("broke"))
    with pytest.raises(Unavailable):
        attempt(room.bot, one)
    assert refused == []
