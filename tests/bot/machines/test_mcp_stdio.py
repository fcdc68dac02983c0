"""`signoff mcp serve` as an agent starts it: a real client over stdio, a Signoff elsewhere that answers."""

import sys
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.support.doors.asking import CHANGE
from tests.support.doors.served import Doors, new_token, open_doors
from tests.support.fakes import real_contracts
from tests.support.room import Room
from tests.support.store import Store

pytestmark = pytest.mark.machines


def spoken(doors: Doors, era: str) -> list[Any]:
    async def speak() -> list[Any]:
        env = {"SIGNOFF_URL": doors.url, "SIGNOFF_TOKEN": doors.token}
        started = StdioServerParameters(command=sys.executable, args=["-m", "bot", "mcp", "serve"], env=env)
        async with Client(stdio_client(started), mode=era) as client:  # type: ignore[arg-type] # by its own types
            asked = await client.call_tool("propose_plan", {"plan": CHANGE, "idempotency_key": era})
            number = asked.structured_content["plan"]
            waited = await client.call_tool("wait_for_plan", {"plan": number, "seconds": 1})
            wrong = await client.call_tool("plan_status", {"plan": 999})
            return [asked.structured_content, waited.structured_content, wrong]

    return anyio.run(speak)


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_an_agent_on_a_laptop_asks_by_its_token(on_disk: Store, era: str) -> None:
    on_disk.publish(real_contracts())
    room = Room(on_disk)
    with open_doors(room.bot, new_token(room.store)) as doors:
        asked, waited, wrong = spoken(doors, era)

    assert asked["state"] == waited["state"] == "proposed"
    assert room.view().machine == "token:ci"
    assert wrong.is_error
    assert "There is no plan 999" in wrong.content[0].text
