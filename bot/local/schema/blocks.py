"""The blocks this workspace knows, field by field. What is not written here is refused."""

from typing import Any

from bot.local.schema.checks import (
    Check,
    Wrong,
    among,
    boolean,
    both,
    list_of,
    number,
    one_of,
    record,
    string,
    typed,
)
from bot.local.schema.elements import ACCESSORY, ACTION, ID, INPUT, plain, text
from bot.local.schema.rich_text import RICH_TEXT


def _has_any(*names: str) -> Check:
    def check(value: Any, path: str) -> None:
        if not any(name in value for name in names):
            raise Wrong(path, f"missing required field: {' or '.join(names)}")

    return check


def _not_both(first: str, second: str) -> Check:
    def check(value: Any, path: str) -> None:
        if value.get(first) and value.get(second):
            raise Wrong(path, f"{first} cannot go with {second}")

    return check


_SOURCE = typed("url", {"url": string(3000), "text": string(3000)})
# The length of titles is undocumented; reference/slack.md §9 says to keep them within 150.
_TASK = record(
    {
        "task_id": ID,
        "title": string(150),
        "status": one_of("pending", "in_progress", "complete", "error"),
    },
    {"type": one_of("task_card"), "details": RICH_TEXT, "output": RICH_TEXT, "sources": list_of(_SOURCE, 50)},
)
_CELL = among(
    {
        "raw_text": typed("raw_text", {"text": string(10_000)}),
        "raw_number": typed("raw_number", {"value": number, "text": string(100)}),
        "rich_text": RICH_TEXT,
    }
)
_COLUMN = record({}, {"align": one_of("left", "center", "right"), "is_wrapped": boolean})

_SIMPLE: dict[str, Check] = {
    "section": both(
        typed(
            "section",
            {},
            {
                "block_id": ID,
                "text": text(3000),
                "fields": list_of(text(2000), 10),
                "accessory": ACCESSORY,
                "expand": boolean,
            },
        ),
        _has_any("text", "fields"),
    ),
    "header": typed("header", {"text": plain(150)}, {"block_id": ID}),
    "context": typed("context", {"elements": list_of(text(3000), 10)}, {"block_id": ID}),
    "divider": typed("divider", {}, {"block_id": ID}),
    "actions": typed("actions", {"elements": list_of(ACTION, 25, unique="action_id")}, {"block_id": ID}),
    "rich_text": RICH_TEXT,
    "image": typed(
        "image",
        {"alt_text": string(2000), "slack_file": record({"id": ID})},
        {"block_id": ID, "title": plain(2000)},
    ),
}
_TABLE = typed(
    "table",
    {"rows": list_of(list_of(_CELL, 20), 100)},
    {"block_id": ID, "column_settings": list_of(_COLUMN, 20)},
)
_CONTAINER = both(
    typed(
        "container",
        {"child_blocks": list_of(among(_SIMPLE | {"table": _TABLE}), 10)},
        {
            "block_id": ID,
            "title": plain(150),
            "rich_text_title": RICH_TEXT,
            "is_collapsible": boolean,
            "default_collapsed": boolean,
            "has_header_divider": boolean,
        },
    ),
    _has_any("title", "rich_text_title"),
    _not_both("has_header_divider", "is_collapsible"),
)
_PLAN = typed("plan", {"title": string(150), "tasks": list_of(_TASK, 50, unique="task_id")}, {"block_id": ID})
_INPUT = typed(
    "input",
    {"label": plain(2000), "element": INPUT},
    {"block_id": ID, "hint": plain(2000), "optional": boolean, "dispatch_action": boolean},
)
_ALERT = typed(
    "alert",
    {"text": text(200)},
    {"block_id": ID, "level": one_of("default", "info", "warning", "error", "success")},
)

_MESSAGE = _SIMPLE | {"table": _TABLE, "container": _CONTAINER, "plan": _PLAN}
MESSAGE_BLOCKS = frozenset(_MESSAGE)
MESSAGE_BLOCK = among(_MESSAGE)
MODAL_BLOCK = among(_SIMPLE | {"input": _INPUT, "alert": _ALERT})
HOME_BLOCK = among(_SIMPLE | {"table": _TABLE, "container": _CONTAINER})


def _blocks_later(value: Any, path: str) -> None:
    if not isinstance(value, list):
        raise Wrong(path, "must be an array")


_VIEW = {
    "private_metadata": string(3000, 0),
    "callback_id": string(255, 0),
    "external_id": string(255, 0),
}
HOME = typed("home", {"blocks": _blocks_later}, _VIEW)
MODAL = typed(
    "modal",
    {"title": plain(24), "blocks": _blocks_later},
    {
        **_VIEW,
        "submit": plain(24),
        "close": plain(24),
        "clear_on_close": boolean,
        "notify_on_close": boolean,
        "submit_disabled": boolean,
    },
)
