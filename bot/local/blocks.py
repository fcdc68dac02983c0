"""The blocks this workspace knows, field by field. What is not written here is refused."""

from typing import Any

from bot.local.rules import Check, Wrong, among, boolean, both, list_of, number, one_of, record, string, typed


def text(most: int) -> Check:
    return among({"plain_text": plain(most), "mrkdwn": mrkdwn(most)})


def plain(most: int) -> Check:
    return typed("plain_text", {"text": string(most)}, {"emoji": boolean})


def mrkdwn(most: int) -> Check:
    return typed("mrkdwn", {"text": string(most)}, {"verbatim": boolean})


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


def _initial_is_an_option(value: Any, path: str) -> None:
    chosen = value.get("initial_options", [value["initial_option"]] if "initial_option" in value else [])
    if any(option not in value["options"] for option in chosen):
        raise Wrong(path, "initial options must be among the options")


ID = string(255)
CONFIRM = record(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    {"style": one_of("primary", "danger")},
)
BUTTON = typed(
    "button",
    {"text": plain(75)},
    {
        "action_id": ID,
        "value": string(2000),
        "url": string(3000),
        "style": one_of("primary", "danger"),
        "confirm": CONFIRM,
        "accessibility_label": string(75),
    },
)


def _option(label: Check) -> Check:
    return record({"text": label, "value": string(150)}, {"description": text(75)})


_ANY = {"action_id": ID, "confirm": CONFIRM, "focus_on_load": boolean}
_LISTED = _ANY | {"placeholder": plain(150)}
SELECT = both(
    typed(
        "static_select",
        {"options": list_of(_option(plain(75)), 100)},
        _LISTED | {"initial_option": _option(plain(75))},
    ),
    _initial_is_an_option,
)
RADIO = both(
    typed(
        "radio_buttons",
        {"options": list_of(_option(text(75)), 10)},
        _ANY | {"initial_option": _option(text(75))},
    ),
    _initial_is_an_option,
)
CHECKBOXES = both(
    typed(
        "checkboxes",
        {"options": list_of(_option(text(75)), 10)},
        _ANY | {"initial_options": list_of(_option(text(75)), 10)},
    ),
    _initial_is_an_option,
)
TIME = typed("timepicker", {}, _LISTED | {"initial_time": string(5, 5), "timezone": string(64)})
DATE = typed("datepicker", {}, _LISTED | {"initial_date": string(10, 10)})
TEXT_INPUT = typed(
    "plain_text_input",
    {},
    {
        "action_id": ID,
        "initial_value": string(3000, 0),
        "multiline": boolean,
        "min_length": number,
        "max_length": number,
        "placeholder": plain(150),
        "focus_on_load": boolean,
    },
)
CHOICES = {
    "static_select": SELECT,
    "radio_buttons": RADIO,
    "checkboxes": CHECKBOXES,
    "timepicker": TIME,
    "datepicker": DATE,
}
ELEMENT = among({"button": BUTTON, **CHOICES})

_STYLE = record(
    {}, {"bold": boolean, "italic": boolean, "strike": boolean, "code": boolean, "underline": boolean}
)
_INLINE = among(
    {
        "text": typed("text", {"text": string(100_000)}, {"style": _STYLE}),
        "link": typed(
            "link", {"url": string(3000)}, {"text": string(3000), "style": _STYLE, "unsafe": boolean}
        ),
        "user": typed("user", {"user_id": ID}, {"style": _STYLE}),
        "channel": typed("channel", {"channel_id": ID}, {"style": _STYLE}),
        "emoji": typed("emoji", {"name": string(100)}, {"unicode": string(100)}),
        "broadcast": typed("broadcast", {"range": one_of("here", "channel", "everyone")}),
        "date": typed(
            "date",
            {"timestamp": number, "format": string(200)},
            {"url": string(3000), "fallback": string(200)},
        ),
    }
)
_INLINES = list_of(_INLINE, 1000, least=0)
_RICH_SECTION = typed("rich_text_section", {"elements": _INLINES})
RICH_TEXT = typed(
    "rich_text",
    {
        "elements": list_of(
            among(
                {
                    "rich_text_section": _RICH_SECTION,
                    "rich_text_list": typed(
                        "rich_text_list",
                        {"style": one_of("bullet", "ordered"), "elements": list_of(_RICH_SECTION, 1000)},
                        {"indent": number, "offset": number, "border": number},
                    ),
                    "rich_text_preformatted": typed(
                        "rich_text_preformatted",
                        {"elements": _INLINES},
                        {"border": number, "language": string(50)},
                    ),
                    "rich_text_quote": typed("rich_text_quote", {"elements": _INLINES}, {"border": number}),
                }
            ),
            1000,
        )
    },
    {"block_id": ID},
)

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
                "accessory": ELEMENT,
                "expand": boolean,
            },
        ),
        _has_any("text", "fields"),
    ),
    "header": typed("header", {"text": plain(150)}, {"block_id": ID}),
    "context": typed("context", {"elements": list_of(text(3000), 10)}, {"block_id": ID}),
    "divider": typed("divider", {}, {"block_id": ID}),
    "actions": typed("actions", {"elements": list_of(ELEMENT, 25, unique="action_id")}, {"block_id": ID}),
    "rich_text": RICH_TEXT,
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
    {"label": plain(2000), "element": among({"plain_text_input": TEXT_INPUT, **CHOICES})},
    {"block_id": ID, "hint": plain(2000), "optional": boolean, "dispatch_action": boolean},
)
_ALERT = typed(
    "alert",
    {"text": text(200)},
    {"block_id": ID, "level": one_of("default", "info", "warning", "error", "success")},
)

MESSAGE_BLOCK = among(_SIMPLE | {"table": _TABLE, "container": _CONTAINER, "plan": _PLAN})
VIEW_BLOCK = among(_SIMPLE | {"input": _INPUT, "alert": _ALERT})


def _blocks_later(value: Any, path: str) -> None:
    if not isinstance(value, list):
        raise Wrong(path, "must be an array")


VIEW = typed(
    "modal",
    {"title": plain(24), "blocks": _blocks_later},
    {
        "submit": plain(24),
        "close": plain(24),
        "private_metadata": string(3000, 0),
        "callback_id": string(255, 0),
        "external_id": string(255, 0),
        "clear_on_close": boolean,
        "notify_on_close": boolean,
        "submit_disabled": boolean,
    },
)
