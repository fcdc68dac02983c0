"""Slack's limits: each check refuses with Slack's own error code and the place of the fault."""

import json
from collections.abc import Iterator
from typing import Any

from bot.local.schema.blocks import HOME, HOME_BLOCK, MESSAGE_BLOCK, MODAL, MODAL_BLOCK
from bot.local.schema.checks import Check, Wrong, all_different, list_of, record, string
from bot.local.schema.elements import SUGGESTED
from bot.local.shapes import Json, Refused

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
# Undocumented, measured by others between 11,341 and 13,297.
MESSAGE_CHARACTERS = 12_000
TABLE_CHARACTERS = 10_000
POST_TEXT = 40_000
UPDATE_TEXT = 4_000
VIEW_BYTES = 250_000


def gather(node: Any, *names: str) -> Iterator[str]:
    """Every string that stands under one of these names, at any depth."""
    if isinstance(node, list):
        for part in node:
            yield from gather(part, *names)
    if isinstance(node, dict):
        for name, part in node.items():
            if isinstance(part, str):
                if name in names:
                    yield part
            else:
                yield from gather(part, *names)


def characters(blocks: list[Json]) -> int:
    return sum(len(text) for text in gather(blocks, "text", "title"))


def check_message(text: str | None, blocks: list[Json] | None, *, most_text: int = POST_TEXT) -> None:
    """Refuse what Slack refuses in chat.postMessage, chat.postEphemeral and chat.update."""
    if not text and not blocks:
        raise Refused("no_text")
    if text and len(text) > most_text:
        raise Refused("msg_too_long")
    if blocks:
        _check_blocks(blocks, MESSAGE_BLOCK, MESSAGE_BLOCKS, "invalid_blocks")
        _check_tables(blocks)
        if characters(blocks) > MESSAGE_CHARACTERS:
            raise Refused("msg_blocks_too_long")


def check_view(view: Any) -> None:
    """Refuse what Slack refuses of a modal in views.open and in an ack that updates or pushes one."""
    _check_view(view, MODAL, MODAL_BLOCK)
    if "submit" not in view and any(part["type"] == "input" for part in view["blocks"]):
        raise Refused(
            "invalid_arguments", "[ERROR] missing required field: submit [json-pointer:/view/submit]"
        )


def check_home(view: Any) -> None:
    """Refuse what Slack refuses in views.publish."""
    _check_view(view, HOME, HOME_BLOCK)


def _check_view(view: Any, frame: Check, block: Check) -> None:
    try:
        frame(view, "/view")
    except Wrong as wrong:
        raise Refused("invalid_arguments", str(wrong)) from None
    _check_blocks(view["blocks"], block, VIEW_BLOCKS, "invalid_arguments")
    if _count_focus(view["blocks"]) > 1:
        raise Refused("invalid_arguments", "[ERROR] only one element may have focus_on_load")
    if len(json.dumps(view, ensure_ascii=False).encode()) > VIEW_BYTES:
        raise Refused("view_too_large")


def _count_focus(blocks: list[Json]) -> int:
    elements = [
        part for block in blocks for part in (block.get("element"), *block.get("elements", ())) if part
    ]
    return sum(1 for element in elements if element.get("focus_on_load"))


def check_suggestions(answer: Any) -> list[Json]:
    """The options that an app has answered with; what Slack cannot show, it shows none of."""
    try:
        record({"options": SUGGESTED})(answer, "")
    except Wrong as wrong:
        raise Refused("invalid_response", str(wrong)) from None
    options: list[Json] = answer["options"]
    return options


def check_metadata(metadata: Any) -> None:
    try:
        record({"event_type": string(255), "event_payload": _object})(metadata, "/metadata")
    except Wrong as wrong:
        raise Refused("invalid_metadata_format", str(wrong)) from None


def _object(value: Any, path: str) -> None:
    if not isinstance(value, dict):
        raise Wrong(path, "must be an object")


def _check_blocks(blocks: list[Json], block: Check, most: int, code: str) -> None:
    try:
        list_of(block, most, least=0)(blocks, "/blocks")
        all_different(list(gather(blocks, "block_id")), "/blocks", "block_id")
    except Wrong as wrong:
        raise Refused(code, str(wrong)) from None


def _check_tables(blocks: list[Json]) -> None:
    tables = [block for block in blocks if block["type"] == "table"]
    if len(tables) > 1:
        raise Refused("invalid_attachments", "[ERROR] only_one_table_allowed")
    if characters(tables) > TABLE_CHARACTERS:
        raise Refused("invalid_blocks", "[ERROR] table has more than 10,000 characters")
