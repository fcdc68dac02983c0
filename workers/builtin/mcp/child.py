"""One call of one tool, in a process of its own: compare the pin, say that it starts, call, write the answer.

`python -P -m workers.builtin.mcp.child ASK.json`. Without a tool it lists what the server has.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from workers.builtin.mcp.pinned import STARTED, digest_of
from workers.commands.output import plain

PAGES = 20
TEXT = 20_000  # characters of an answer that a report holds
WHOLE = 5_000_000  # bytes of it that are kept as a file


def main() -> int:
    ask = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    place = Path(sys.argv[1]).parent
    try:
        answer = anyio.run(speak, ask, place)
    except BaseException as error:  # noqa: BLE001 # whatever it was, the parent must hear of it
        answer = {"problem": _said(error)}
    made = place / "answer.part"
    made.write_text(json.dumps(answer), encoding="utf-8")
    made.rename(place / "answer.json")
    return 0


def _said(error: BaseException) -> str:
    """The first error that says something: groups wrap what went wrong."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:500]


async def speak(ask: dict[str, Any], place: Path) -> dict[str, Any]:
    if ask["url"]:
        token = os.environ.get("MCP_TOKEN", "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with httpx2.AsyncClient(headers=headers, timeout=ask["timeout"], trust_env=False) as http:
            return await _with(streamable_http_client(ask["url"], http_client=http), ask, place)
    program, *rest = ask["command"]
    env = {name: os.environ[name] for name in ask["env"] if name in os.environ}
    return await _with(stdio_client(StdioServerParameters(command=program, args=rest, env=env)), ask, place)


async def _with(transport: Any, ask: dict[str, Any], place: Path) -> dict[str, Any]:
    async with Client(transport, read_timeout_seconds=ask["timeout"]) as client:
        tools = await listed(client)
        if not ask["tool"]:
            return {"tools": tools}
        found = next((tool for tool in tools if tool["name"] == ask["tool"]), None)
        if found is None or digest_of(found) != ask["digest"]:
            return {"changed": "is gone" if found is None else "is not the one that was pinned"}
        start()
        result = await client.call_tool(ask["tool"], ask["arguments"])
        return kept(result.model_dump(mode="json", by_alias=True), place)


async def listed(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        found += [tool.model_dump(mode="json", by_alias=True) for tool in page.tools]
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def start() -> None:
    """From here on nobody knows what has happened, until there is an answer.

    Said aloud, on a line of its own: a file could be taken away again by what is called.
    """
    os.write(sys.stdout.fileno(), f"\n{STARTED}\n".encode())


def kept(result: dict[str, Any], place: Path) -> dict[str, Any]:
    """The answer in bounds: its words, the rest as a file; what is no text is named."""
    parts = [_part(one) for one in result.get("content") or ()]
    text = plain("\n".join(parts).encode(errors="replace"))
    if len(text) > TEXT:
        (place / "answer.txt").write_bytes(text.encode()[:WHOLE])
    structured = result.get("structuredContent")
    small = structured if len(json.dumps(structured)) <= TEXT else None
    return {
        "text": text[:TEXT],
        "whole": len(text),
        "failed": bool(result.get("isError")),
        "structured": small,
    }


def _part(one: dict[str, Any]) -> str:
    return str(one["text"]) if one.get("type") == "text" else f"[{one.get('type')} {one.get('mimeType', '')}]"


if __name__ == "__main__":
    sys.exit(main())
