"""`[inventory.sources.*]`: an HTTP source that is only read, and one request to it."""

import json
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import urlencode

from pydantic import Field, model_validator

from workers.builtin.shared.http_origin import Answer, Origin, OriginEntry, UrlPath


class SourceEntry(OriginEntry):
    """What the name of a source stands for. POST to `post_reads` changes nothing.

    Where the next page is told: a Link header if nothing else is said. `next_field` holds a link;
    `cursor_field` holds what goes into `cursor_param`; `page_param` counts up.
    """

    next_field: str = ""
    cursor_field: str = ""
    cursor_param: str = ""
    page_param: str = ""
    first_page: int = Field(default=1, ge=0)
    timeout: float = Field(default=30.0, gt=0, le=300)
    max_bytes: int = Field(default=5 * 1024 * 1024, gt=0, le=50 * 1024 * 1024)
    pages: int = Field(default=10, ge=1, le=1000)
    post_reads: tuple[UrlPath, ...] = ()

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
