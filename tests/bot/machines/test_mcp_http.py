"""MCP with the real client, in both protocol versions: five tools that ask and look, and nothing else."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
import urllib3
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from bot.machines.mcp_door import PATH
from tests.support.doors.asking import CHANGE
from tests.support.doors.served import Doors, new_token, open_doors
from tests.support.fakes import real_contracts
from tests.support.room import Room
from tests.support.store import Store

pytestmark = pytest.mark.machines
ERAS = ("auto", "legacy")
TOOLS = {"propose_plan", "plan_status", "wait_for_plan", "cancel_plan", "list_runbooks"}


@pytest.fixture
def room(on_disk: Store) -> Room:
    on_disk.publish(real_contracts())
    return Room(on_disk)


@pytest.fixture
def doors(room: Room) -> Iterator[Doors]:
    with open_doors(room.bot, new_token(room.store)) as found:
        yield found


def spoken(doors: Doors, era: str, *calls: tuple[str, dict[str, Any]], token: str = "") -> list[Any]:
    """What a real client gets for these calls, one after the other."""

    async def speak() -> list[Any]:
        headers = {"Authorization": f"Bearer {token or doors.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:
            transport = streamable_http_client(doors.url + PATH, http_client=http)
            async with Client(transport, mode=era) as client:  # type: ignore[arg-type] # by its own types
                tools = await client.list_tools()
                return [tools, *[await client.call_tool(name, given) for name, given in calls]]

    return anyio.run(speak)


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_asks_waits_and_cancels(doors, era):
    _, asked, waited, again, ended = spoken(
        doors, era,
        ("propose_plan", {"plan": CHANGE, "idempotency_key": "k"}),
        ("wait_for_plan", {"plan": 1, "seconds": 1}),
        ("propose_plan", {"plan": CHANGE, "idempotency_key": "k"}),
        ("cancel_plan", {"plan": 1, "reason": "enough"}),
    )  # fmt: skip

    assert asked.structured_content["state"] == waited.structured_content["state"] == "proposed"
    assert again.structured_content["plan"] == asked.structured_content["plan"] == 1
    assert ended.structured_content["state"] == "cancelled"


@pytest.mark.parametrize("era", ERAS)
def test_there_are_five_tools_and_none_decides(doors, era):
    (listed,) = spoken(doors, era)

    assert {tool.name for tool in listed.tools} == TOOLS
    said = json.dumps([tool.input_schema for tool in listed.tools]).lower()
    assert not any(word in said for word in ("approve", "override", "break_glass", "resolve", "amend"))


@pytest.mark.parametrize("era", ERAS)
def test_what_is_refused_is_a_sentence_and_no_fault(doors, era, caplog):
    _, found, wrong, missing = spoken(
        doors, era,
        ("plan_status", {"plan": 7}),
        ("propose_plan", {"text": "x", "runbook": "y"}),
        ("propose_plan", {"runbook": "deploy-service", "slots": {"service": "auth-service"}}),
    )  # fmt: skip

    assert found.is_error
    assert "There is no plan 7 that this token asked for." in found.content[0].text
    assert wrong.is_error
    assert missing.structured_content["state"] in {"planning", "accepted"}
    assert "Traceback" not in caplog.text


def test_an_agent_that_names_no_key_and_says_it_twice_has_one_plan(doors, room):
    spoken(doors, "auto", *[("propose_plan", {"plan": CHANGE})] * 2)

    assert len(room.store.recent(9)) == 1


def test_nobody_speaks_without_a_token(doors):
    answer = urllib3.request("POST", doors.url + PATH, json={}, retries=False)

    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_a_page_in_a_browser_reaches_nothing(doors, headers):
    own = {"Authorization": f"Bearer {doors.token}", "Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = urllib3.request("POST", doors.url + PATH, json=body, headers=own | headers, retries=False)

    assert answer.status in {403, 421}


def test_too_large_an_ask_is_refused(doors):
    own = {"Authorization": f"Bearer {doors.token}", "Accept": "application/json, text/event-stream",
           "Content-Type": "application/json"}  # fmt: skip
    answer = urllib3.request("POST", doors.url + PATH, body=b"[" + b" " * 300_000, headers=own, retries=False)

    assert answer.status == 413
