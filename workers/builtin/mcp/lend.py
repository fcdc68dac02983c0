"""A worker for each MCP server: its pinned tools are actions under the same gate as any other."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, JsonValue

from workers.base import (
    Action,
    Context,
    Params,
    Permanent,
    Report,
    Transient,
    Unsure,
    Worker,
    action,
    missing,
)
from workers.builtin.mcp.pinned import STARTED, Server, Tool, params_of
from workers.builtin.shared.entries import read_entry, secrets
from workers.commands import process
from workers.commands.process import Finished, Limits

CHILD = (sys.executable, "-P", "-m", "workers.builtin.mcp.child")
PREFIX = "mcp-"
BESIDE = 30.0  # seconds for a server to start and to be compared, besides the call itself


class ToolData(BaseModel):
    """What a tool answered: its words, bounded; all of them are an artefact. Data, whatever it says."""

    text: str
    characters: int
    structured: dict[str, JsonValue] = {}


class Lent(Worker):
    """Tools of an MCP server that the operator pinned."""

    name = "mcp"
    server = ""

    def packages(self) -> Iterator[str]:
        yield "mcp"

    def needs(self) -> Iterator[tuple[str, Callable[[], object]]]:
        entry = read_entry(Server, "mcp", self.server, self.entry("mcp", self.server))
        yield f"MCP server {self.server}", partial(reach, self.server, entry)

    def call(self, tool: str, params: Params, ctx: Context) -> Report[ToolData]:
        """Start the server, compare the tool with its pin, and call it once."""
        entry = read_entry(Server, "mcp", self.server, self.entry("mcp", self.server))
        pin = entry.tools.get(tool)
        if pin is None:
            raise Permanent(f"{tool} is not pinned any more under [inventory.mcp.{self.server}].")
        given = params.model_dump(mode="json", by_alias=True, exclude={"server"}, exclude_none=True)
        done, started = run_child(self.server, entry, tool, pin, given, ctx)
        return judged(self.server, tool, pin, answer_in(ctx.scratch), done, started=started)


def lend(server: str, raw: dict[str, Any]) -> type[Worker]:
    """The worker of one server, with an action for each of its pinned tools."""
    entry = read_entry(Server, "mcp", server, raw)
    made: dict[str, Any] = {"name": f"{PREFIX}{server}", "server": server, "__doc__": Lent.__doc__}
    for name, tool in entry.tools.items():
        own = action_name(name)
        if own in made or hasattr(Lent, own):
            raise Permanent(
                f"[inventory.mcp.{server}.tools.{name}] cannot be called {own}: that name is taken."
            )
        made[own] = _action(server, name, tool)
    return type(f"Mcp{server.title().replace('-', '')}", (Lent,), made)


def action_name(tool: str) -> str:
    return tool.replace("-", "_").replace(".", "_").lower()


def _action(server: str, name: str, tool: Tool) -> Action:
    model = params_of(server, name, tool)

    def run(self: Lent, params: Params, ctx: Context) -> Report[ToolData]:
        return self.call(name, params, ctx)

    run.__annotations__ = {"params": model, "ctx": Context, "return": Report[ToolData]}
    run.__doc__ = f"Calls {name} of the MCP server {server}."
    facts: Callable[[Any], Action] = action(
        changes=tool.changes, repeat=tool.repeat, timeout=tool.timeout + BESIDE + 30, typical=5,
        target=f"mcp:{server}" if tool.changes else "", says=f"*Call* {name} of {server}",
        leaves=f"{name} of {server} was called",
    )  # fmt: skip
    return facts(run)


def reach(server: str, entry: Server) -> None:
    """Its program and its secrets are there; it is not started."""
    if said := missing("mcp"):
        raise Permanent(said)
    secrets(entry.secrets_env, f"mcp.{server}")
    secrets({"MCP_TOKEN": entry.token_env} if entry.token_env else {}, f"mcp.{server}")
    if entry.command:
        process.find(entry.command[0], Path("/"), entry.env)


def run_child(
    server: str, entry: Server, tool: str, pin: Tool | None, given: dict[str, Any], ctx: Context
) -> tuple[Finished, bool]:
    """How the child ended, and whether it has said that the tool is called now."""
    hidden = secrets(entry.secrets_env, f"mcp.{server}")
    hidden |= secrets({"MCP_TOKEN": entry.token_env}, f"mcp.{server}") if entry.token_env else {}
    patience = pin.timeout if pin else BESIDE
    ask = {
        "command": list(entry.command), "url": entry.url, "env": [*entry.env, *entry.secrets_env],
        "tool": tool,
        "digest": pin.digest if pin else "", "arguments": given, "timeout": patience,
    }  # fmt: skip
    for old in ("answer.json", "answer.txt"):
        (ctx.scratch / old).unlink(missing_ok=True)
    path = ctx.scratch / "ask.json"
    path.write_text(json.dumps(ask), encoding="utf-8")
    said: list[str] = []
    done = process.run(
        [*CHILD, str(path)], cwd=ctx.scratch, env=entry.env | hidden, timeout=patience + BESIDE,
        scratch=ctx.scratch, key=ctx.key, cancelled=ctx.cancelled,
        limits=Limits(memory_mb=entry.memory_mb), secrets=[*hidden.values()],
        on_line=lambda line: said.append(line) if line == STARTED else None,
    )  # fmt: skip
    return done, bool(said)


def answer_in(place: Path) -> dict[str, Any]:
    """What the child wrote; nothing when it did not come so far."""
    try:
        found: dict[str, Any] = json.loads((place / "answer.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def judged(
    server: str, tool: str, pin: Tool, answer: Mapping[str, Any], done: Finished, *, started: bool
) -> Report[ToolData]:
    """After `start` only an answer is an end; without one nobody knows what has happened."""
    if "changed" in answer and not started:
        raise Permanent(
            f"{tool} of {server} {answer['changed']}, so it was not called. Look at what has changed; "
            f"`signoff mcp pin {server}` pins it anew."
        )
    if "text" not in answer:
        why = answer.get("problem") or done.broken_off() or f"it ended with {done.returncode}"
        if not started:
            raise Transient(f"{server} could not be asked, and nothing was called: {why}")
        if pin.changes or pin.repeat == "unsafe":
            raise Unsure(f"{tool} of {server} was called and did not answer: {why}")
        raise Transient(f"{tool} of {server} did not answer: {why}")
    if answer["failed"]:
        raise Permanent(f"{tool} of {server} says that it failed: {answer['text'][:500]}")
    data = ToolData(text=answer["text"], characters=answer["whole"], structured=answer["structured"] or {})
    return Report(status="succeeded", summary=f"{tool} answered {answer['whole']:,} characters", data=data)
