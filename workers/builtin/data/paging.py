"""How the next page of a source is found: by a link, by a cursor, or by number."""

import json
import re
from dataclasses import replace
from typing import Any

from pydantic import JsonValue

from workers.base import Permanent
from workers.builtin.shared.http_origin import Answer, Origin
from workers.builtin.shared.http_source import Ask, SourceEntry
from workers.builtin.shared.json_values import pick

LINK = re.compile(r"<([^>]*)>([^<]*)")
NEXT = re.compile(r';\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\b)', re.IGNORECASE)


def first(entry: SourceEntry, url: str, query: dict[str, str], body: dict[str, JsonValue] | None) -> Ask:
    ask = Ask(url, tuple(query.items()), "" if body is None else json.dumps(body))
    return ask.having(entry.page_param, entry.first_page) if entry.page_param else ask


def following(entry: SourceEntry, ask: Ask, answer: Answer, document: Any, origin: Origin) -> Ask | None:
    """What to ask for the next page, or None."""
    if entry.page_param:
        return ask.having(entry.page_param, _number(entry, ask) + 1)
    if entry.cursor_field:
        cursor = pick(document, entry.cursor_field)
        return ask.having(entry.cursor_param, _cursor(entry, cursor, origin)) if cursor else None
    link = pick(document, entry.next_field) if entry.next_field else next_link(answer.headers.get("Link", ""))
    return replace(ask, url=_linked(entry, link, answer, origin), query=()) if link else None


def next_link(header: str) -> str:
    """The target of rel="next" in a Link header (RFC 8288), or ""."""
    return next((target for target, rest in LINK.findall(header) if NEXT.search(rest)), "")


def _linked(entry: SourceEntry, link: Any, answer: Answer, origin: Origin) -> str:
    if not isinstance(link, str):
        raise Permanent(f"{origin.name}: next_field '{entry.next_field}' holds no link.")
    return origin.inside(answer.url, link)


def _cursor(entry: SourceEntry, cursor: Any, origin: Origin) -> str | int:
    if isinstance(cursor, bool) or not isinstance(cursor, str | int):
        raise Permanent(f"{origin.name}: cursor_field '{entry.cursor_field}' holds no cursor.")
    return cursor


def _number(entry: SourceEntry, ask: Ask) -> int:
    given = json.loads(ask.body) if ask.body else dict(ask.query)
    return int(given[entry.page_param])
