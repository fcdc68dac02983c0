"""Input elements: find them in blocks, and turn what a person typed into Slack's `state.values`."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from bot.local.shapes import Json

REQUIRED = "Please complete this required field."
# These say what they are for when they are used, and hold nothing besides.
STATELESS = ("button", "overflow")


def elements(blocks: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Every interactive element with the block it stands in."""
    for block in blocks:
        if block["type"] == "actions":
            yield from ((block, element) for element in block["elements"])
        for name in ("accessory", "element"):
            if name in block:
                yield block, block[name]
        yield from elements(block.get("child_blocks", []))


def find(blocks: list[Json], action_id: str, block_id: str | None = None) -> tuple[Json, Json] | None:
    for block, element in elements(blocks):
        if element["action_id"] == action_id and block_id in (None, block["block_id"]):
            return block, element
    return None


def option(blocks: list[Json], label: str) -> tuple[Json, Json, str] | None:
    """What a menu behind dots offers in these words: the block, the menu, the value."""
    for block, element in elements(blocks):
        for offered in element["options"] if element["type"] == "overflow" else ():
            if offered["text"]["text"] == label:
                return block, element, offered["value"]
    return None


def state_values(blocks: list[Json], typed: Json) -> Json:
    """`state.values`: what was typed, by block id, over what the elements held at first."""
    values: Json = {}
    for block, element in elements(blocks):
        if element["type"] in STATELESS:
            continue
        given = typed.get(block["block_id"], {})
        mine = given.get(element["action_id"], _FIRST) if isinstance(given, dict) else given
        values.setdefault(block["block_id"], {})[element["action_id"]] = expand(element, mine)
    return values


_FIRST = object()


def expand(element: Json, plain: Any) -> Json:
    """One element's value in Slack's shape; a plain value stands for an option, a time, a text."""
    if plain is _FIRST:
        plain = _initial(element)
    kind = element["type"]
    if kind == "checkboxes":
        chosen = [option for option in element["options"] if option["value"] in (plain or [])]
        return {"type": kind, "selected_options": chosen}
    if kind in ("static_select", "radio_buttons", "overflow"):
        return {"type": kind, "selected_option": _option(element, plain)}
    if kind == "external_select":
        return {"type": kind, "selected_option": plain or None}
    if kind == "multi_users_select":
        return {"type": kind, "selected_users": list(plain or [])}
    value = str(plain) if kind == "number_input" and plain not in (None, "") else plain
    return {"type": kind, _NAMES.get(kind, "value"): value or None}


_NAMES = {
    "timepicker": "selected_time",
    "datepicker": "selected_date",
    "datetimepicker": "selected_date_time",
}


def _option(element: Json, value: Any) -> Json | None:
    for option in element["options"]:
        if option["value"] == value:
            return dict(option)
    if value:
        offered = ", ".join(option["value"] for option in element["options"])
        raise ValueError(f"{value} is not among the options of {element['action_id']}: {offered}")
    return None


def _initial(element: Json) -> Any:
    if "initial_options" in element:
        return [option["value"] for option in element["initial_options"]]
    if "initial_option" in element:
        option = element["initial_option"]
        return option if element["type"] == "external_select" else option["value"]
    names = ("initial_value", "initial_time", "initial_date", "initial_date_time", "initial_users")
    return next((element[name] for name in names if name in element), None)


def mistakes(blocks: list[Json], values: Json) -> dict[str, str]:
    """What Slack's client refuses before it asks the app: by block id, a sentence."""
    found: dict[str, str] = {}
    for block in blocks:
        if block["type"] == "input":
            value = values[block["block_id"]][block["element"]["action_id"]]
            sentence = _mistake(block, next(part for name, part in value.items() if name != "type"))
            found |= {block["block_id"]: sentence} if sentence else {}
    return found


def _mistake(block: Json, value: Any) -> str:
    if not value:
        return "" if block.get("optional") else REQUIRED
    element = block["element"]
    if element["type"] == "number_input":
        return _number_mistake(element, value)
    if element["type"] == "multi_users_select":
        most = element.get("max_selected_items", len(value))
        return f"Choose at most {most}." if len(value) > most else ""
    return _length_mistake(element, value) if isinstance(value, str) else ""


def _length_mistake(element: Json, value: str) -> str:
    least, most = element.get("min_length", 0), element.get("max_length", 3000)
    if len(value) < least:
        return f"Must be at least {least} characters."
    return f"Must be at most {most} characters." if len(value) > most else ""


def _number_mistake(element: Json, value: str) -> str:
    try:
        number = Decimal(value)
    except InvalidOperation:
        return "Please enter a number."
    if number % 1 and not element["is_decimal_allowed"]:
        return "Please enter a whole number."
    if number < Decimal(element.get("min_value", value)):
        return f"Please enter a number of at least {element['min_value']}."
    if number > Decimal(element.get("max_value", value)):
        return f"Please enter a number of at most {element['max_value']}."
    return ""
