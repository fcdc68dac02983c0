"""How a source hands out its pages: by a link, by a cursor, or by number."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlencode

from pydantic import Field, JsonValue, model_validator

from workers.base import Permanent
from workers.builtin.data.rows import pick
from workers.builtin.shared.http_origin import Answer, Origin, OriginEntry

LINK = re.compile(r"<([^>]*)>([^<]*)")
NEXT = re.compile(r';\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\b)', re.IGNORECASE)


class Paged(OriginEntry):
    """Where the next page is told: a Link header if nothing else is said.

    `next_field` holds a link; `cursor_field` holds what goes into `cursor_param`; `page_param` counts up.
    """

    next_field: str = ""
    cursor_field: str = ""
    cursor_param: str = ""
    page_param: str = ""
    first_page: int = Field(default=1, ge=0)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.cursor_field) != bool(self.cursor_param):
            raise ValueError("cursor_field and cursor_param need each other")
        if sum(map(bool, (self.next_field, self.cursor_field, self.page_param))) > 1:
            raise ValueError("only one of next_field, cursor_field and page_param can tell the next page")
        return self


@dataclass(frozen=True)
class Ask:
    """One request: an address, what is added to its query, and for a POST the document as JSON."""

    url: str
    query: tuple[tuple[str, str], ...] = ()
    body: str = ""

    def address(self) -> str:
        return (
            f"{self.url}{'&' if '?' in self.url else '?'}{urlencode(self.query)}" if self.query else self.url
        )

    def send(self, origin: Origin, limit: int) -> Answer:
        url = self.address()
        return (
            origin.post(url, json.loads(self.body), limit=limit)
            if self.body
            else origin.get(url, limit=limit)
        )

    def having(self, name: str, value: str | int) -> "Ask":
        """The same, but with this parameter: in the document of a POST, else in the query."""
        if self.body:
            return replace(self, body=json.dumps(json.loads(self.body) | {name: value}))
        return replace(self, query=tuple((dict(self.query) | {name: str(value)}).items()))


def first(entry: Paged, url: str, query: dict[str, str], body: dict[str, JsonValue] | None) -> Ask:
    ask = Ask(url, tuple(query.items()), "" if body is None else json.dumps(body))
    return ask.having(entry.page_param, entry.first_page) if entry.page_param else ask


def following(entry: Paged, ask: Ask, answer: Answer, document: Any, origin: Origin) -> Ask | None:
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


def _linked(entry: Paged, link: Any, answer: Answer, origin: Origin) -> str:
    if not isinstance(link, str):
        raise Permanent(f"{origin.name}: next_field '{entry.next_field}' holds no link.")
    return origin.inside(answer.url, link)


def _cursor(entry: Paged, cursor: Any, origin: Origin) -> str | int:
    if isinstance(cursor, bool) or not isinstance(cursor, str | int):
        raise Permanent(f"{origin.name}: cursor_field '{entry.cursor_field}' holds no cursor.")
    return cursor


def _number(entry: Paged, ask: Ask) -> int:
    given = json.loads(ask.body) if ask.body else dict(ask.query)
    return int(given[entry.page_param])
