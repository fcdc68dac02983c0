"""The short way: one read or one known action is a plan of one step, and a read runs at once."""

import json
from typing import Any

import pytest

from bot.cards.card import card
from bot.planner.runbooks.book import Planned
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState
from tests.support.fakes import TEAM, real_contracts, taker
from tests.support.room import Room, think
from tests.support.store import Store


def wished(store: Store, text: str, ask: Any = None) -> Room:
    room = Room(store)
    object.__setattr__(room.bot, "ask_model", ask)
    store.publish(real_contracts())
    store.request(text, team=TEAM, user="ANN", channel="C1")
    think(room.bot)
    return room


@pytest.mark.parametrize("text", ["run the full tests on staging", "status of auth-service in production"])
def test_one_read_is_one_step_that_needs_nobody_and_starts_at_once(lite, text):
    room = wished(lite, text)
    blocks = json.dumps(card(room.view(), lite.clock())[1])

    assert (len(room.view().steps), room.view().state) == (1, PlanState.approved)
    assert "no approval needed" in blocks
    assert '"approve"' not in blocks
    assert len(lite.turn([], taker(*real_contracts()), 4)) == 1


def test_one_known_action_is_one_step_and_waits_for_its_approval(lite):
    room = wished(lite, "restart auth-service in production")

    assert (len(room.view().steps), room.view().state) == (1, PlanState.proposed)
    assert lite.turn([], taker(*real_contracts()), 4) == []


def test_a_model_that_finds_one_read_is_asked_once(lite):
    asked = list[str]()

    def ask(text: str, spend: Any, ground: Any) -> Planned:
        asked.append(text)
        step = {"id": "look", "worker": "k8s-deployer", "action": "rollout_status",
                "parameters": {"service": "auth-service"}}  # fmt: skip
        return Planned(PlanSpec.model_validate({"goal": "look at it", "steps": [step]}), "by a model")

    room = wished(lite, "how does auth-service fare, please have a look", ask)
    think(room.bot)

    assert len(asked) == 1
    assert (len(room.view().steps), room.view().state) == (1, PlanState.approved)
