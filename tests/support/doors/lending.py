"""A whole Signoff whose workers lend tools of MCP servers, as an operator pins them."""

import json
import tomllib
from pathlib import Path
from typing import Any

import urllib3

from tests.support.world import World
from workers.builtin.mcp.pin import pinned_lines

Servers = dict[str, dict[str, Any]]


def lending(home: Path, servers: Servers, tools: dict[str, tuple[str, ...]]) -> World:
    """These servers, and of each these tools; pinned now."""
    return World(home, config=lambda text: lent(text, servers, tools))


def lent(text: str, servers: Servers, tools: dict[str, tuple[str, ...]]) -> str:
    named = "".join(f'"mcp-{name}", ' for name in servers)
    blocks = [block(name, entry, tools[name]) for name, entry in servers.items()]
    return "\n".join([text.replace("workers = [", f"workers = [{named}", 1), *blocks])


def block(name: str, entry: dict[str, Any], tools: tuple[str, ...]) -> str:
    """What an operator keeps of what `signoff mcp pin` prints."""
    given = [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
    pinned = "\n".join(pinned_lines(name, entry)).split("\n\n")
    kept = [one for one in pinned if any(f'tools."{tool}"]' in one for tool in tools)]
    found = "\n\n".join([f"[inventory.mcp.{name}]", *given, *kept])
    assert len(tomllib.loads(found)["inventory"]["mcp"][name]["tools"]) == len(tools), found
    return found


def step(key: str, server: str, tool: str, *after: str, **given: Any) -> dict[str, Any]:
    return {"id": key, "worker": f"mcp-{server}", "action": tool, "parameters": {"server": server} | given,
            "depends_on": [*after]}  # fmt: skip


def asked(world: World, goal: str, *steps: dict[str, Any]) -> int:
    """A machine asks for it; the plan's number."""
    headers = {
        "Authorization": f"Bearer {world.demo.token().read_text().strip()}",
        "Idempotency-Key": goal.replace(" ", "-"),
    }
    url = f"http://127.0.0.1:{world.demo.seed.doors}/api/v1/plans"
    body = {"plan": {"goal": goal, "steps": steps}}
    answer = urllib3.request("POST", url, json=body, headers=headers, retries=False, timeout=30)
    assert answer.status == 202, answer.data
    return int(world.until(lambda plan: plan.text == goal and plan.card, f"the card of {goal}").id)
