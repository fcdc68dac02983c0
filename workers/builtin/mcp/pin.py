"""`signoff mcp pin NAME`: what a server has now, as the lines of signoff.toml that would lend it."""

import json
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workers.base import Context, Permanent
from workers.builtin.mcp.lend import Lent, action_name, answer_in, reach, run_child
from workers.builtin.mcp.pinned import TOOL, Server, digest_of, takes
from workers.builtin.shared.entries import read_entry


def pinned_lines(server: str, raw: dict[str, Any]) -> list[str]:
    """A block for each tool; the operator strikes what is not wanted, and says what changes nothing."""
    entry = read_entry(Server, "mcp", server, raw)
    lines = [
        f"# The tools of {server}. Strike what nobody needs; say changes = false only where you know it."
    ]
    for tool in tools_of(server, entry):
        lines += _block(server, tool)
    return lines


def tools_of(server: str, entry: Server) -> list[dict[str, Any]]:
    reach(server, entry)
    with tempfile.TemporaryDirectory() as place:
        ctx = Context(0, "pin", 1, f"pin-{server}", Path(place) / "x", lambda: datetime.now(UTC))
        done, _ = run_child(server, entry, "", None, {}, ctx)
        answer = answer_in(ctx.scratch)
    if "tools" not in answer:
        raise Permanent(f"{server} could not be asked: {answer.get('problem') or done.text()[-500:]}")
    found: list[dict[str, Any]] = answer["tools"]
    return found


def _block(server: str, tool: dict[str, Any]) -> list[str]:
    name = str(tool.get("name", ""))
    if not TOOL.fullmatch(name) or hasattr(Lent, action_name(name)):
        return [f"# left out: a tool whose name cannot stand in a plan ({_plain(name)})"]
    try:
        given = takes(tool)
    except Permanent as error:
        return [f"# left out: {name}: {_plain(str(error))}"]
    said = _plain(str(tool.get("description") or ""))
    values = ", ".join(
        f"{one} = {json.dumps(kind)}" for one, kind in given.items() if not isinstance(kind, list)
    )
    listed = [(one, kind) for one, kind in given.items() if isinstance(kind, list)]
    values = ", ".join(filter(None, [values, *[f"{one} = {_choices(kind)}" for one, kind in listed]]))
    return [
        "", f"# it says of itself: {said}", f'[inventory.mcp.{server}.tools."{name}"]', "changes = true",
        'repeat = "unsafe"', f'digest = "{digest_of(tool)}"', f"takes = {{ {values} }}",
    ]  # fmt: skip


def _choices(kind: list[Any]) -> str:
    """TOML has no null: an optional choice is a text."""
    return json.dumps("string?") if None in kind else json.dumps(kind)


def _plain(text: str) -> str:
    """A server's words in a comment: one line, nothing that a terminal obeys."""
    line = " ".join(re.sub(r"[^\x20-\x7e]", " ", text).split())
    return line[:120]
