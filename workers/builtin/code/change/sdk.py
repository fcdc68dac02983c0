"""The driver on claude-agent-sdk: its whole client lives in the box, and asks its model by way of a proxy."""

import asyncio
import json
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workers.base import Permanent, Transient, missing
from workers.builtin.code.change.desk import TESTS, Desk
from workers.builtin.code.change.loop import SAME, SYSTEM
from workers.builtin.code.change.port import Ended, Spent, Stalled, Task, Why
from workers.builtin.code.change.proxy import Proxy
from workers.commands.box import Box, interpreter
from workers.commands.leftovers import KEY, sweep
from workers.commands.process import dying

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient

GONE = 0.05  # seconds in which the loop hears that its child has ended
LOOK = 0.5  # seconds between two looks at the bounds
PORT = 8080  # of the box's own loopback
SERVER = "agents"
BUILT_IN = ["Read", "Edit", "Write", "Glob", "Grep"]  # nothing that runs anything
QUIET = {
    "ANTHROPIC_API_KEY": "none",  # the proxy has it
    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_REFUSAL_RETRY": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
}


class Sdk:
    """One conversation with one client. Bounded by turns, time, money and repetition."""

    def __init__(self, task: Task) -> None:
        self.task, self.home = task, task.place.parent / "client"
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        self.proxy = Proxy(task.entry, task.model, self.home, task.clock)
        self.until = task.clock() + task.entry.seconds
        self.desk = Desk(task)
        self.seen: dict[str, int] = {}
        self.said, self.client, self.testing = "", None, False
        self.heard = task.clock()
        self._loop: asyncio.Runner = asyncio.Runner()

    client: "ClaudeSDKClient | None"

    @property
    def spent(self) -> Spent:
        return self.proxy.spent

    def say(self, text: str) -> Ended:
        try:
            return self._loop.run(self._say(f"{text}\nYour folder is {self.task.place}."))
        except (Permanent, Transient):
            raise
        except Exception as error:  # noqa: BLE001 # the SDK's own faults: its client died, or spoke nonsense
            raise self.proxy.fault or Transient(
                f"The agent's client broke ({type(error).__name__})."
            ) from None

    def close(self) -> None:
        """Nothing of it is left: not the client, not the proxy."""
        if self.client:
            with suppress(Exception):  # it is gone already
                self._loop.run(self.client.disconnect())
        sweep(self.task.marks.get(KEY, ""))
        self._loop.run(asyncio.sleep(GONE))
        self._loop.close()
        self.proxy.close()

    async def _say(self, text: str) -> Ended:
        if self.client is None:
            self.client = _client(_options(self))
            await self.client.connect()
        self.heard = self.task.clock()
        await self.client.query(text)
        turn = asyncio.ensure_future(self._turn(self.client))
        why: Why | None = None
        while not turn.done() and not why:
            await asyncio.wait({turn}, timeout=LOOK)
            why = None if turn.done() else self._bound()
        if not turn.done():
            turn.cancel()
            await asyncio.wait({turn})
        return Ended(why or self._ended(turn.result()), self.said[:1000], self.spent)

    async def _turn(self, client: "ClaudeSDKClient") -> str:
        """What it does, until it stops; the name that the client gives to its end."""
        from claude_agent_sdk import AssistantMessage, ResultMessage, TextBlock, ToolUseBlock

        async for message in client.receive_response():
            self.heard = self.task.clock()
            if isinstance(message, AssistantMessage):
                for block in message.content:
                    if isinstance(block, ToolUseBlock):
                        self._does(block.name, block.input)
                    elif isinstance(block, TextBlock):
                        self.said = block.text
            elif isinstance(message, ResultMessage):
                return str(message.subtype)
        return "ended"

    def _does(self, name: str, given: dict[str, Any]) -> None:
        key = json.dumps([name, given], sort_keys=True, default=str)
        self.seen[key] = self.seen.get(key, 0) + 1
        self.task.told(f"{name.rpartition('__')[2]} {given.get('file_path', '')}"[-100:])

    def _bound(self) -> Why | None:
        if self.task.cancelled():
            raise Transient("The agent was stopped.")
        if self.proxy.fault:
            raise self.proxy.fault
        if self.task.clock() > self.until:
            return "time"
        if self.proxy.over:
            return "money"
        if self._quiet() > self.task.entry.silence():
            return "stalled"
        return "repetition" if max(self.seen.values(), default=0) > SAME else None

    def _quiet(self) -> float:
        """Seconds without a word of it. While its model is asked, the silence is not its own."""
        if self.testing:
            return 0.0
        quiet = self.task.clock() - max(self.heard, self.proxy.heard)
        if self.proxy.asked and quiet > self.task.entry.silence():
            raise Stalled(quiet)
        return quiet

    def _ended(self, subtype: str) -> Why:
        """Its “success” means that the program ended."""
        if why := self._bound():
            return why
        if self.proxy.refused:
            return "refusal"
        return {"error_max_turns": "turns", "error_max_budget_usd": "money"}.get(subtype, "finished")  # type: ignore[return-value]

    async def rule(self, used: Any, *_: Any) -> dict[str, Any]:
        """The same rule of paths as at our own desk; what gets past it is found when the work is judged."""
        given = used.get("tool_input") or {}
        if not (why := self.desk.refusal(str(given.get("file_path", "")))):
            return {}
        denied = {"permissionDecision": "deny", "permissionDecisionReason": why}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **denied}}

    async def tests(self, _: dict[str, Any]) -> dict[str, Any]:
        self.testing = True
        try:
            verdict = await asyncio.to_thread(self.task.tests)
        finally:
            self.testing, self.heard = False, self.task.clock()
        said = "All of these tests pass." if verdict.green else f"Not yet:\n{verdict.said}"
        return {"content": [{"type": "text", "text": said}]}


def _client(options: "ClaudeAgentOptions") -> "ClaudeSDKClient":
    from claude_agent_sdk import ClaudeSDKClient

    return ClaudeSDKClient(options)


def _options(agent: Sdk) -> "ClaudeAgentOptions":
    from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, create_sdk_mcp_server, tool

    about = "Run the tests that decide whether the subtask is done. Takes no arguments."
    run_tests = tool(TESTS, about, {})(agent.tests)
    return ClaudeAgentOptions(
        tools=BUILT_IN,
        allowed_tools=[*BUILT_IN, f"mcp__{SERVER}__{TESTS}"],
        mcp_servers={SERVER: create_sdk_mcp_server(SERVER, tools=[run_tests])},
        strict_mcp_config=True,
        hooks={"PreToolUse": [HookMatcher(matcher="Edit|Write", hooks=[agent.rule])]},
        setting_sources=[],
        system_prompt=SYSTEM,
        permission_mode="bypassPermissions",  # it is boxed, and its work is judged
        max_turns=agent.task.entry.turns,
        model=agent.task.model.name,
        cwd=agent.task.place,
        cli_path=_script(agent),
        stderr=lambda line: None,
    )


def _script(agent: Sdk) -> Path:
    """What the SDK starts instead of its client: the client, in the box."""
    client, bridge = _bundled(), Path(__file__).with_name("bridge.py")
    model = agent.task.model.name
    env = QUIET | dict.fromkeys(("ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL"), model)
    box = Box(agent.task.place, (*interpreter(), client, bridge, agent.home), env)
    inside = [sys.executable, "-I", "-B", str(bridge), str(agent.home), str(PORT), str(client)]
    words = shlex.join([*dying(), *box.argv(), *inside])
    marks = " ".join(shlex.quote(f"{name}={value}") for name, value in agent.task.marks.items())
    script = agent.home / "client"
    script.write_text(f'#!/bin/sh\nexec env -i {marks} {words} "$@"\n')
    script.chmod(0o700)
    return script


def _bundled() -> Path:
    """The client that comes with the SDK."""
    if said := missing("claude_agent_sdk"):
        raise Permanent(said)
    import claude_agent_sdk

    found = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    if not found.is_file():
        raise Permanent("The agents' SDK came without its client for this machine.")
    return found
