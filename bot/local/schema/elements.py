"""Texts, buttons and inputs, field by field. What is not written here is refused."""

from decimal import Decimal
from typing import Any

from bot.local.schema.checks import (
    Check,
    Wrong,
    among,
    between,
    boolean,
    both,
    day,
    list_of,
    matching,
    one_of,
    record,
    string,
    typed,
    zone,
)


def text(most: int) -> Check:
    return among({"plain_text": plain(most), "mrkdwn": mrkdwn(most)})


def plain(most: int) -> Check:
    return typed("plain_text", {"text": string(most)}, {"emoji": boolean})


def mrkdwn(most: int) -> Check:
    return typed("mrkdwn", {"text": string(most)}, {"verbatim": boolean})


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


def _option(label: Check, **more: Check) -> Check:
    return record({"text": label, "value": string(150)}, {"description": text(75), **more})


def _options(option: Check, most: int, *, least: int = 1) -> Check:
    return list_of(option, most, least=least, unique="value")


_ANY = {"action_id": ID, "confirm": CONFIRM, "focus_on_load": boolean}
_LISTED = _ANY | {"placeholder": plain(150)}
SELECT = both(
    typed(
        "static_select",
        {"options": _options(_option(plain(75)), 100)},
        _LISTED | {"initial_option": _option(plain(75))},
    ),
    _initial_is_an_option,
)
RADIO = both(
    typed(
        "radio_buttons",
        {"options": _options(_option(text(75)), 10)},
        _ANY | {"initial_option": _option(text(75))},
    ),
    _initial_is_an_option,
)
CHECKBOXES = both(
    typed(
        "checkboxes",
        {"options": _options(_option(text(75)), 10)},
        _ANY | {"initial_options": _options(_option(text(75)), 10)},
    ),
    _initial_is_an_option,
)
# What the app answers when somebody types into the second of them.
SUGGESTED = _options(_option(plain(75)), 100, least=0)
OVERFLOW = typed(
    "overflow",
    {"options": _options(_option(plain(75), url=string(3000)), 5)},
    {"action_id": ID, "confirm": CONFIRM},
)
EXTERNAL = typed(
    "external_select",
    {},
    _LISTED | {"initial_option": _option(plain(75)), "min_query_length": between(0, 150)},
)
TIME = typed(
    "timepicker",
    {},
    _LISTED | {"initial_time": matching(r"([01]\d|2[0-3]):[0-5]\d", "a time as HH:mm"), "timezone": zone},
)
DATE = typed("datepicker", {}, _LISTED | {"initial_date": day})
_DIGITS = matching(r"-?\d+(\.\d+)?", "a number in a string")
_DISPATCH = record(
    {"trigger_actions_on": list_of(one_of("on_enter_pressed", "on_character_entered"), 2)},
)


def _instant(value: Any, path: str) -> None:
    # Ten digits: seconds since 1970, as Slack's own rule has it.
    if isinstance(value, bool) or not isinstance(value, int) or len(str(value)) != 10:
        raise Wrong(path, "must be a UNIX timestamp of 10 digits")


def _text_fits(value: Any, path: str) -> None:
    """What stands in a field at first is within the field's own bounds."""
    least, most = value.get("min_length", 0), value.get("max_length", 3000)
    if least > most:
        raise Wrong(f"{path}/min_length", "must not be more than max_length")
    if value.get("initial_value") and not least <= len(value["initial_value"]) <= most:
        raise Wrong(f"{path}/initial_value", f"must have between {least} and {most} characters")


def _number_fits(value: Any, path: str) -> None:
    first = value.get("initial_value", value.get("min_value", value.get("max_value", "0")))
    least, most = (Decimal(value.get(name, first)) for name in ("min_value", "max_value"))
    if not least <= Decimal(first) <= most:
        raise Wrong(f"{path}/initial_value", f"must be between {least} and {most}")


TEXT_INPUT = both(
    typed(
        "plain_text_input",
        {},
        {
            "action_id": ID,
            "initial_value": string(3000, 0),
            "multiline": boolean,
            "min_length": between(0, 3000),
            "max_length": between(1, 3000),
            "placeholder": plain(150),
            "focus_on_load": boolean,
            "dispatch_action_config": _DISPATCH,
        },
    ),
    _text_fits,
)
NUMBER_INPUT = both(
    typed(
        "number_input",
        {"is_decimal_allowed": boolean},
        {
            "action_id": ID,
            "initial_value": _DIGITS,
            "min_value": _DIGITS,
            "max_value": _DIGITS,
            "placeholder": plain(150),
            "focus_on_load": boolean,
            "dispatch_action_config": _DISPATCH,
        },
    ),
    _number_fits,
)
DATETIME = typed("datetimepicker", {}, _ANY | {"initial_date_time": _instant})
PEOPLE = typed(
    "multi_users_select",
    {},
    _LISTED | {"initial_users": list_of(ID, 100, least=0), "max_selected_items": between(1, 100)},
)
_CHOICES = {
    "static_select": SELECT,
    "external_select": EXTERNAL,
    "radio_buttons": RADIO,
    "checkboxes": CHECKBOXES,
    "timepicker": TIME,
    "datepicker": DATE,
}
ACTION = among({"button": BUTTON, "overflow": OVERFLOW, "datetimepicker": DATETIME, **_CHOICES})
ACCESSORY = among({"button": BUTTON, "overflow": OVERFLOW, "multi_users_select": PEOPLE, **_CHOICES})
INPUT = among(
    {
        "plain_text_input": TEXT_INPUT,
        "number_input": NUMBER_INPUT,
        "datetimepicker": DATETIME,
        "multi_users_select": PEOPLE,
        **_CHOICES,
    }
)
