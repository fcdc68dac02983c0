"""How the client of the agents' SDK speaks to a model, in the scripted agent's own terms and back. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workers.practice.scripted import EDITOR, TESTS, Turn

RUN_TESTS = "mcp__agents__run_tests"
FOLDER = re.compile(r"Your folder is (\S+)\.")
Message = dict[str, Any]


def is_client(body: Mapping[str, Any]) -> bool:
    return any(tool.get("name") == RUN_TESTS for tool in body.get("tools") or ())


def heard(body: Mapping[str, Any]) -> list[Message]:
    """The conversation as the scripted agent knows one: two roles that take turns, one editor."""
    told: list[Message] = []
    for message in body["messages"]:
        if message["role"] == "system":
            continue
        content = [_known(block) for block in _blocks(message["content"])]
        if told and told[-1]["role"] == message["role"]:
            told[-1]["content"] += content
        else:
            told.append({"role": message["role"], "content": content})
    return told


def spoken(turn: Turn, messages: list[Message]) -> Turn:
    """The same turn with the client's own tools, and whole paths."""
    found = FOLDER.search(json.dumps(messages))
    folder = found[1] if found else "/"
    return replace(turn, content=tuple(_own(block, folder) for block in turn.content))


def stream(message: Mapping[str, Any]) -> Iterator[Message]:
    """A message as the events of a stream."""
    usage, blocks = message["usage"], message["content"]
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for number, block in enumerate(blocks):
        empty: Message = {"input": {}} if block["type"] == "tool_use" else {"text": ""}
        yield {"type": "content_block_start", "index": number, "content_block": block | empty}
        yield {"type": "content_block_delta", "index": number, "delta": _delta(block)}
        yield {"type": "content_block_stop", "index": number}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": usage["output_tokens"]}}
    yield {"type": "message_stop"}


def _delta(block: Mapping[str, Any]) -> Message:
    if block["type"] == "tool_use":
        return {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return {"type": "text_delta", "text": block["text"]}


def _blocks(content: Any) -> list[Message]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else [*content]


def _known(block: Message) -> Message:
    if block["type"] == "tool_result":
        parts = _blocks(block.get("content") or "")
        return block | {"content": "\n".join(part.get("text", "") for part in parts)}
    if block["type"] != "tool_use":
        return block
    given = block["input"]
    ways: dict[str, Message] = {
        "Read": {"name": EDITOR, "input": {"command": "view", "path": given.get("file_path")}},
        "Write": {"name": EDITOR, "input": {"command": "create", "file_text": given.get("content")}},
        RUN_TESTS: {"name": TESTS, "input": {}},
    }
    return block | ways.get(block["name"], {})


def _own(block: Message, folder: str) -> Message:
    if block["type"] != "tool_use" or block["name"] not in {EDITOR, TESTS}:
        return block
    given = block["input"]
    if block["name"] == TESTS:
        return block | {"name": RUN_TESTS, "input": {}}
    path = {"file_path": f"{folder}/{given['path']}"} if "path" in given else {}
    if given["command"] == "view":
        first = given.get("view_range", [0])[-1]
        return block | {"name": "Read", "input": path | ({"limit": first} if first else {})}
    text = {"content": given["file_text"]} if "file_text" in given else {}
    return block | {"name": "Write", "input": path | text}
