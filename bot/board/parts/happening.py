"""One event of the journal in a sentence: the fields of its data that say what happened."""

from collections.abc import Callable
from typing import Any

from bot.untrusted import clip
from storage.board.happenings import Happening

FIRST = (
    "step",
    "attempt",
    "revision",
    "given",
    "needed",
    "verb",
    "choice",
    "answer",
    "outcome",
    "scope",
    "summary",
    "reason",
    "changes",
    "text",
    "digest",
    "policy",
    "risk",
    "factor",
    "usd",
    "model",
    "way",
    "name",
)
PEOPLE = {"approvers", "authors"}
LONG = {"digest": 12, "report": 12, "shown": 12}
LEFT_OUT = {
    "words",
    "report",
    "shown",
    "via",
    "channel",
    "rules",
    "policy",
    "contract",
    "visit",
    "basis",
    "preview",
}
KINDS = {
    "claim": "run",
    "start": "run",
    "succeed": "ok",
    "approve": "ok",
    "finish": "ok",
    "resolve": "ok",
    "permit": "ok",
    "fail": "bad",
    "refuse": "bad",
    "reject": "skip",
    "lose": "unknown",
    "stop": "hold",
    "withhold": "hold",
    "halt": "hold",
    "stall": "ask",
    "decide": "ask",
    "expire": "skip",
    "cancel": "skip",
}


def kind(one: Happening) -> str:
    return KINDS.get(one.verb, "wait")


def said(one: Happening, who: Callable[[str], str]) -> str:
    """What it was about, as short as its data allow."""
    names = [name for name in FIRST if name in one.data and name not in LEFT_OUT]
    names += [name for name in one.data if name not in FIRST and name not in LEFT_OUT]
    parts = [_part(name, one.data[name], who) for name in names]
    return clip(" · ".join(filter(None, parts)), 400)


def _part(name: str, value: Any, who: Callable[[str], str]) -> str:
    if value in (None, "", [], {}) or value is False:
        return ""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = ", ".join(map(who, value)) if name in PEOPLE else "; ".join(value)
    if name == "text":
        return clip(" ".join(str(value).split()), 160)
    if name in {"step", "summary", "reason", "text", "outcome", "choice", "answer", "scope", "verb"}:
        return str(value)
    if name in {"changes", "found"}:
        return clip(str(value), 160)
    if name == "user":
        return who(str(value))
    text = str(value)
    return f"{name} {text[: LONG[name]]}…" if name in LONG else f"{name} {clip(text, 120)}"
