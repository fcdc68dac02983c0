"""What the model is told: rules and catalogue first and frozen, foreign words last and marked as data."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bot.untrusted import clip, inert
from storage.config import SignoffConfig, Window, local
from storage.contract.capability import Contract
from storage.errors import Issue

Ground = Mapping[str, Any]  # tag → what it holds, bounded and redacted: thread, earlier, known, looked
NOTHING: Ground = MappingProxyType({})
HERE = Path(__file__).parent
LONGEST = 4_000  # characters of a request
PREVIOUS = 20_000  # characters of an answer that is sent back for repair
MAX_NAMES = 200  # inventory names listed for one parameter
MAX_ISSUES = 20
PROSE = 300


def system(
    contracts: Sequence[Contract],
    config: SignoffConfig,
    name: str = "prompt",
    books: Sequence[Mapping[str, Any]] = (),
) -> tuple[str, str]:
    """The cached parts: what both prompts share, and the task. The same bytes for the same installation."""
    parts = {
        "catalogue": "\n\n".join(sorted(map(_entry, contracts))),
        "windows": "\n".join(_window(name, found) for name, found in sorted(config.windows.items())),
        "inventory": "\n".join(sorted(_links(config.inventory))),
        "runbooks": _data("runbooks", [*books]) if books else "",
    }
    shared = re.sub(r"\{(\w+)\}$", lambda found: parts[found[1]] or "none", _text("shared"), flags=re.M)
    return shared, _text(name)


@cache
def version(name: str, form: str = "") -> str:
    """Names what a model was told, and in which form it answers: the texts, not the installation."""
    told = "\0".join((_text("shared"), _text(name), form))
    return f"{name}-{hashlib.sha256(told.encode()).hexdigest()[:10]}"


def request(text: str, config: SignoffConfig, now: datetime, ground: Ground = NOTHING) -> str:
    """The user message: the request and what is known besides, as data, then what time it is."""
    around = [_data(tag, value) for tag, value in ground.items() if value]
    return "\n\n".join([_data("request", inert(clip(text, LONGEST))), *around, _today(config, now)])


def change(
    plan: Mapping[str, Any], text: str, config: SignoffConfig, now: datetime, ground: Ground = NOTHING
) -> str:
    """The user message of an edit: the proposal and what shall become of it, as data."""
    return f"{_data('plan', plan)}\n\n{request(text, config, now, ground)}"


def state(value: Mapping[str, Any], config: SignoffConfig, now: datetime, ground: Ground = NOTHING) -> str:
    """The user message of a review: the plan as it stands, as data."""
    around = [_data(tag, part) for tag, part in ground.items() if part]
    return "\n\n".join([_data("state", value), *around, _today(config, now)])


def repair(asked: str, said: str, issues: Sequence[Issue]) -> str:
    """The same question, with the answer that was not good enough and what is wrong with it."""
    found = [
        {"code": one.code, "path": plain(one.path), "message": plain(one.message)}
        for one in issues[:MAX_ISSUES]
    ]
    return "\n\n".join([
        asked,
        _data("previous_answer", inert(clip(said, PREVIOUS))),
        _data("issues", found),
        "The previous answer cannot be used. Answer again, whole, with every issue mended.",
    ])  # fmt: skip


def examples(name: str = "prompt") -> list[tuple[str, str]]:
    """Each example's request and answer, as they stand in the text."""
    return re.findall(r"^(?:Request|State): (.+)\nAnswer:\n```json\n([^`]+)\n```$", _text(name), re.M)


def plain(text: str, limit: int = PROSE) -> str:
    """Foreign prose as one bounded line that cannot mention or link in Slack."""
    line = " ".join(inert(text[: 4 * limit]).split())
    return clip(line.replace("<", "‹").replace(">", "›"), limit)


def word(text: str) -> str:
    """A name or a rule as others wrote it, fit to stand inside a line: the rest is shown escaped."""
    line = "".join(
        ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text[: 2 * PROSE]
    )
    return plain(line)


@cache
def _text(name: str) -> str:
    return (HERE / f"{name}.md").read_text(encoding="utf-8")


def _data(tag: str, value: Any) -> str:
    """JSON in which no tag can be closed or opened."""
    text = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<{tag}>\n{text}\n</{tag}>"


def _today(config: SignoffConfig, now: datetime) -> str:
    there = local(now, config.zone)
    return (
        f"It is {there:%A %Y-%m-%d %H:%M} in {config.zone} ({now.astimezone(UTC):%Y-%m-%d %H:%M} UTC). "
        f"A time without a zone is meant in {config.zone}."
    )


def _entry(contract: Contract) -> str:
    kind = "changes things" if contract.changes else "drafts things" if contract.drafts else "only reads"
    kind += ", may be looked at" if contract.planning else ""
    needed = contract.parameters.get("required", ())
    fields = contract.parameters.get("properties", {})
    lines = [
        f"### {word(contract.worker)}.{word(contract.action)} ({kind})",
        plain(contract.summary),
        *(_parameter(name, field, name in needed, contract) for name, field in fields.items()),
        f"reports: {', '.join(_reported(contract.data)) or 'nothing'}",
        f"criteria: {', '.join(map(word, contract.criteria)) or 'none'}",
        f"undone by: {word(f'{contract.worker}.{contract.undo}') if contract.undo else 'nothing'}",
    ]
    return "\n".join(lines)


def _parameter(name: str, field: Mapping[str, Any], needed: bool, contract: Contract) -> str:
    known = contract.names.get(name)
    kind = _names(known) if known is not None else _kind(field)
    default = f", default {_json(field['default'])}" if "default" in field else ""
    return f"- {word(name)}: {kind}{', required' if needed else default}"


def _names(known: Mapping[str, Any]) -> str:
    notes = {
        name: "; ".join(filter(None, map(plain, (one.environment, one.hint)))) for name, one in known.items()
    }
    said = [f"{word(name)} ({note})" if note else word(name) for name, note in notes.items()]
    more = f" and {len(said) - MAX_NAMES} more" if len(said) > MAX_NAMES else ""
    return f"one of {', '.join(sorted(said)[:MAX_NAMES]) or 'none'}{more}"


def _kind(field: Mapping[str, Any]) -> str:
    """A JSON schema in a few words."""
    if "anyOf" in field:
        return " or ".join(map(_kind, field["anyOf"]))
    if "const" in field or "enum" in field:
        return " | ".join(map(_json, field.get("enum", [field.get("const")])[:MAX_NAMES]))
    limits = ("pattern", "minimum", "maximum", "format")
    said = "".join(f", {name} {_said(field[name])}" for name in limits if name in field)
    return f"{_said(field.get('type', 'any JSON'))}{said}"


def _said(value: Any) -> str:
    """A word of a schema as one bounded line, whatever a worker put there."""
    return word(value) if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return word(json.dumps(value))


def _reported(data: Mapping[str, Any]) -> Iterator[str]:
    return (f"{word(name)} ({_kind(field)})" for name, field in data.get("properties", {}).items())


def _window(name: str, window: Window) -> str:
    days = "every day" if len(window.days) == 7 else ", ".join(window.days)
    return f"- {word(name)}: {days} from {window.start:%H:%M} for {window.hours:g} h, {window.zone}"


def _links(inventory: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Which name belongs to which: no commands, paths or addresses, only names of the inventory."""
    names = {name for table in inventory.values() for name in table}
    for table, entries in inventory.items():
        for name, fields in entries.items():
            known = [f"{field} {value}" for field, value in sorted(fields.items()) if _name(value, names)]
            place = [f"environment {fields['environment']}"] if "environment" in fields else []
            if known or place:
                yield f"- {word(f'{table} {name}')}: {', '.join(map(word, [*known, *place]))}"


def _name(value: Any, names: set[str]) -> bool:
    return isinstance(value, str) and value in names
