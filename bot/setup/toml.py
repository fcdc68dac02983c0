"""Words of TOML: values and names as the file writes them, whatever they hold. Pure."""

import json
import re
from collections.abc import Mapping, Sequence

BARE = re.compile(r"[A-Za-z0-9_-]+")


def value(given: object) -> str:
    """A string, a number, a truth value or a list of them; what is between quotes cannot get out."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, Sequence) and not isinstance(given, str):
        return f"[{', '.join(map(value, given))}]"
    # A basic string of TOML is one of JSON, but for a character that only JSON takes as it is.
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")


def key(name: str) -> str:
    return name if BARE.fullmatch(name) else value(name)


def remark(text: str) -> str:
    """One line behind a #, without what could begin another."""
    return "# " + " ".join("".join(c if c.isprintable() else " " for c in text).split())


def table(path: Sequence[str], values: Mapping[str, object], notes: Mapping[str, str] | None = None) -> str:
    """A table of simple values; `notes` stand behind them."""
    lines = [f"{key(name)} = {value(given)}" for name, given in values.items()]
    said = [f"{line:<44}  {remark(notes[name])}" if notes and name in notes else line
            for name, line in zip(values, lines, strict=True)]  # fmt: skip
    return "\n".join([f"[{'.'.join(map(key, path))}]", *said])


def silent(text: str) -> str:
    """The same, as comments."""
    return "\n".join(f"# {line}".rstrip() for line in text.splitlines())
