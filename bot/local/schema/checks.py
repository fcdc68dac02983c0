"""Small checks that combine: what a value may be, and where it breaks the rule."""

import re
from collections.abc import Callable
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

Check = Callable[[Any, str], None]


class Wrong(Exception):
    """One value breaks one rule."""

    def __init__(self, path: str, rule: str) -> None:
        super().__init__(f"[ERROR] {rule} [json-pointer:{path or '/'}]")


def string(most: int, least: int = 1) -> Check:
    def check(value: Any, path: str) -> None:
        if not isinstance(value, str):
            raise Wrong(path, "must be a string")
        if len(value) > most:
            raise Wrong(path, f"must be less than {most + 1} characters")
        if len(value) < least:
            raise Wrong(path, f"must be more than {least - 1} characters")

    return check


def matching(pattern: str, what: str) -> Check:
    """A string that looks like this as a whole."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise Wrong(path, f"must be {what}")

    return check


def day(value: Any, path: str) -> None:
    """A date that the calendar has."""
    matching(r"\d{4}-\d\d-\d\d", "a date as YYYY-MM-DD")(value, path)
    try:
        date.fromisoformat(value)
    except ValueError:
        raise Wrong(path, "must be a date that exists") from None


def zone(value: Any, path: str) -> None:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, TypeError, OSError):
        raise Wrong(path, "must be a name of the IANA time zone database") from None


def boolean(value: Any, path: str) -> None:
    if not isinstance(value, bool):
        raise Wrong(path, "must be a boolean")


def number(value: Any, path: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(path, "must be a number")


def between(least: int, most: int) -> Check:
    def check(value: Any, path: str) -> None:
        number(value, path)
        if not least <= value <= most:
            raise Wrong(path, f"must be between {least} and {most}")

    return check


def one_of(*values: str) -> Check:
    def check(value: Any, path: str) -> None:
        if value not in values:
            raise Wrong(path, f"must be one of {', '.join(values)}")

    return check


def record(required: dict[str, Check], optional: dict[str, Check] | None = None) -> Check:
    """An object with these fields and no other."""
    known = required | (optional or {})

    def check(value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise Wrong(path, "must be an object")
        for name in required:
            if name not in value:
                raise Wrong(path, f"missing required field: {name}")
        for name, part in value.items():
            if name not in known:
                raise Wrong(f"{path}/{name}", f"unknown field: {name}")
            known[name](part, f"{path}/{name}")

    return check


def typed(name: str, required: dict[str, Check], optional: dict[str, Check] | None = None) -> Check:
    return record({"type": one_of(name), **required}, optional)


def among(kinds: dict[str, Check]) -> Check:
    """An object whose type is one of these kinds."""

    def check(value: Any, path: str) -> None:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in kinds:
            raise Wrong(path, f"unsupported type: {kind}")
        kinds[kind](value, path)

    return check


def list_of(item: Check, most: int, *, least: int = 1, unique: str = "") -> Check:
    def check(value: Any, path: str) -> None:
        if not isinstance(value, list):
            raise Wrong(path, "must be an array")
        if not least <= len(value) <= most:
            raise Wrong(path, f"must have between {least} and {most} items")
        for index, part in enumerate(value):
            item(part, f"{path}/{index}")
        if unique:
            all_different([part[unique] for part in value if unique in part], path, unique)

    return check


def both(*checks: Check) -> Check:
    def check(value: Any, path: str) -> None:
        for each in checks:
            each(value, path)

    return check


def all_different(values: list[Any], path: str, name: str) -> None:
    if len(set(values)) < len(values):
        raise Wrong(path, f"{name} must be unique")
