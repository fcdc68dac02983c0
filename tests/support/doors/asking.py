"""A machine of ANN's at a room's doors."""

from typing import Any

from bot.machines.asking import standing_of, take_in
from bot.machines.principal import Machine
from bot.machines.wire import Asked, Status
from tests.support.fakes import TEAM
from tests.support.room import Room, handle_all, think

CI = Machine("token:ci", TEAM, "ANN", ("C1",), ("propose", "look", "cancel"))
READ = {"goal": "Look", "steps": [{"id": "look", "worker": "k8s-deployer", "action": "rollout_status",
        "parameters": {"service": "auth-service", "environment": "production"}}]}  # fmt: skip
CHANGE = {"goal": "Restart", "steps": [{"id": "go", "worker": "k8s-deployer", "action": "restart",
          "parameters": {"service": "auth-service", "environment": "production"}}]}  # fmt: skip


def asks(room: Room, key: str = "k1", machine: Machine = CI, **given: Any) -> Status:
    """Through the door, handled, and planned."""
    found = take_in(room.bot, machine, Asked.model_validate(given), key)
    handle_all(room.bot)
    think(room.bot)
    status = standing_of(room.bot, machine, found)
    assert status
    return status
