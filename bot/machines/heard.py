"""What a call says, whichever source it is from: fields, one matter, how often, over or not. Pure."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from bot.untrusted import inert
from storage.contract.capability import Document

DEEP, MANY, LONG = 6, 300, 300  # of fields: how deep, how many, how long
WORDS = 600
LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,60}(\[bot\])?")
Headers = Mapping[str, str]


Text = Annotated[str, BeforeValidator(inert)]  # what nobody can see, no row and no card can hold


class Heard(Document):
    """One call, as handling needs it."""

    id: Text  # of the call, by its source
    key: Text  # of the matter
    open: bool = True  # False: it is over
    count: int = 1
    fields: dict[Text, Text]
    words: Text = ""  # what it says to people: foreign for ever
    sender: Text = ""  # who is behind it, elsewhere


def printed(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:32]


def fields_of(body: Mapping[str, Any]) -> dict[str, str]:
    """Every plain value by its dotted path, bounded."""
    found: dict[str, str] = {}
    for path, value in _walk(body, "", 0):
        if len(found) >= MANY:
            break
        found[path] = value[:LONG]
    return found


def _walk(value: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and depth < DEEP:
        for name, inner in value.items():
            yield from _walk(inner, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, str(value)


def alertmanager(headers: Headers, body: Mapping[str, Any], raw: bytes) -> Heard | None:
    """One group of alerts. What all of them say is a field; one alert's own only where it is alone."""
    listed = body.get("alerts")
    alerts = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    labels, notes = _dict(body, "commonLabels"), _dict(body, "commonAnnotations")
    if len(alerts) == 1:
        labels, notes = _dict(alerts[0], "labels") | labels, _dict(alerts[0], "annotations") | notes
    truncated = body.get("truncatedAlerts")
    count = len(alerts) + (truncated if isinstance(truncated, int) and truncated > 0 else 0)
    group = str(body.get("groupKey", ""))[:500]
    if not group or not alerts:
        return None
    plain = {"status": body.get("status"), "receiver": body.get("receiver"), "groupKey": group}
    return Heard(
        id=printed(raw), key=group, open=body.get("status") != "resolved",
        count=min(count, 1_000_000), fields=fields_of(plain | {"labels": labels}), words=_said(notes),
    )  # fmt: skip


def pagerduty(headers: Headers, body: Mapping[str, Any], raw: bytes) -> Heard | None:
    event = _dict(body, "event")
    data, kind = _dict(event, "data"), str(event.get("event_type", ""))
    if kind not in {"incident.triggered", "incident.reopened", "incident.escalated", "incident.resolved"}:
        return None
    id_, matter = str(event.get("id", ""))[:100], str(data.get("id", ""))[:100]
    if not id_ or not matter:
        return None
    said = {"title": str(data.get("title", ""))}
    fields = fields_of({**data, "event_type": kind})
    return Heard(id=id_, key=matter, open=kind != "incident.resolved", fields=fields, words=_said(said))


def github(headers: Headers, body: Mapping[str, Any], raw: bytes) -> Heard | None:
    """One delivery is one matter, unless the route says otherwise. Its sender is an author.

    GitHub signs its body only: under another number or event the same body is the same call.
    """
    id_, event = headers.get("X-GitHub-Delivery", "")[:100], headers.get("X-GitHub-Event", "")[:100]
    if not id_ or event in {"", "ping"}:
        return None
    login = str(_dict(body, "sender").get("login", ""))
    sender = f"github:{login if LOGIN.fullmatch(login) else 'nobody'}"
    return Heard(
        id=printed(raw), key=printed(id_.encode()), fields=fields_of(body) | {"event": event}, sender=sender
    )


def standard(headers: Headers, body: Mapping[str, Any], raw: bytes) -> Heard | None:
    id_ = headers.get("webhook-id", "")[:100]
    matter = str(body.get("key", ""))[:500] or printed(id_.encode())
    said = {"summary": str(body.get("summary", ""))}
    over = body.get("status") == "resolved"
    return Heard(id=id_, key=matter, open=not over, fields=fields_of(body), words=_said(said))


def _dict(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _said(notes: Mapping[str, Any]) -> str:
    words = [str(notes[name]) for name in ("summary", "title", "description") if notes.get(name)]
    return " · ".join(words)[:WORDS]


READERS = {"alertmanager": alertmanager, "pagerduty": pagerduty, "github": github, "standard": standard}
