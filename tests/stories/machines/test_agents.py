"""A real coding agent asks through MCP and waits; a person approves in Chromium; the agent reads the end.

The Claude Agent SDK brings its client along, 160 MB that nothing else needs: `pip install 'signoff[agents]'`.
"""

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import shot, visit
from tests.support.doors.agent import Block, at_home, says, scripted_model, uses
from tests.support.world import World

pytestmark = [
    pytest.mark.machines,
    pytest.mark.browser,
    pytest.mark.skipif(
        not find_spec("claude_agent_sdk"), reason="needs signoff[agents], the Claude Agent SDK"
    ),
]
TOOLS = {
    f"mcp__signoff__{name}"
    for name in ("propose_plan", "plan_status", "wait_for_plan", "cancel_plan", "list_runbooks")
}
OVER = {"done", "rejected", "expired", "cancelled", "refused"}


def engineer(told: list[Any]) -> Block:
    """What the model would say: ask, wait until it has ended, and tell."""
    if not told:
        return uses(
            "mcp__signoff__propose_plan", text="restart auth-service in production", idempotency_key="a1"
        )
    last = told[-1]
    if isinstance(last, str):
        return says(f"It went wrong: {last}")
    if last["state"] in OVER:
        return says(f"Plan {last['plan']} is {last['state']}: {last['outcome']}.")
    return uses("mcp__signoff__wait_for_plan", plan=last["plan"], seconds=30)


def works(url: str, token: str, env: dict[str, str], cwd: Path) -> str:
    """The agent's last words."""
    sdk: Any = import_module("claude_agent_sdk")
    options = sdk.ClaudeAgentOptions(
        mcp_servers={"signoff": {
            "type": "http", "url": f"{url}/mcp", "headers": {"Authorization": f"Bearer {token}"},
        }},
        strict_mcp_config=True, setting_sources=[], tools=[], allowed_tools=["mcp__signoff"], cwd=cwd,
        env=env, max_turns=40, permission_mode="dontAsk", model="claude-opus-5-5",
    )  # fmt: skip

    async def talk() -> str:
        said = ""
        async for message in sdk.query(prompt="Restart auth-service in production, please.", options=options):
            if isinstance(message, sdk.ResultMessage):
                said = message.result or ""
        return said

    return anyio.run(talk)


def test_an_agent_asks_waits_and_hears_what_became_of_it(tmp_path: Path, browser: Browser) -> None:
    with World(tmp_path / "home") as world, scripted_model(engineer) as (model, asked):
        url, token = f"http://127.0.0.1:{world.demo.seed.doors}", world.demo.token().read_text().strip()
        env = at_home(tmp_path, model)
        with visit(browser, world.demo.slack.page_url, 1440, 1000) as page, ThreadPoolExecutor(1) as other:
            agent = other.submit(works, url, token, env, tmp_path)
            card = page.get_by_test_id("message").first
            expect(card).to_contain_text("the machine")
            shot(page, "agent-1-asks")
            page.locator('[data-testid="member"][data-user="U0BOB"]').click()
            page.locator('[data-testid="button"][data-action-id="approve"]').last.click()
            said = agent.result(timeout=120)
            shot(page, "agent-2-done")

        assert said == "Plan 1 is done: succeeded."
        assert world.plan().machine.startswith("token:")
        known = {tool["name"] for tool in asked[-1]["tools"]}
        assert {name for name in known if name.startswith("mcp__")} == TOOLS
