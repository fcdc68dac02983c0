"""Input elements: find them in blocks, and turn what a person typed into Slack's `state.values`."""

from collections.abc import Iterator
from typing import Any

from bot.local.shapes import Json

REQUIRED = "Please complete this required field."


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


def state_values(blocks: list[Json], typed: Json) -> Json:
    """`state.values`: what was typed, by block id, over what the elements held at first."""
    values: Json = {}
    for block, element in elements(blocks):
        if element["type"] == "button":
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
    if kind in ("static_select", "radio_buttons"):
        return {"type": kind, "selected_option": _option(element, plain)}
    name = {"timepicker": "selected_time", "datepicker": "selected_date"}.get(kind, "value")
    return {"type": kind, name: plain or None}


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
        return element["initial_option"]["value"]
    names = ("initial_value", "initial_time", "initial_date")
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
    if len(value) < element.get("min_length", 0):
        return f"Must be at least {element['min_length']} characters."
    if isinstance(value, str) and len(value) > element.get("max_length", 3000):
        return f"Must be at most {element.get('max_length', 3000)} characters."
    return ""
