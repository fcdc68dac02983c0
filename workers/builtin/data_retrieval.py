"""Fetches rows over HTTP from sources that the operator named: all to a file, the first to the report."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import BaseModel, Field

from workers.base import Context, Named, Params, Permanent, Report, Transient, Worker, action, check
from workers.builtin.origin import Answer, Origin, OriginEntry, UrlPath, read_entry
from workers.builtin.rows import (
    WIDEST,
    Cell,
    Format,
    Row,
    Unreadable,
    columns_of,
    pick,
    preview,
    read_csv,
    read_json,
    read_text,
    render,
    shorten,
)
from workers.output import plain

UNITS = ("bytes", "kB", "MB", "GB")
LINK = re.compile(r"<([^>]*)>([^<]*)")
NEXT = re.compile(r';\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\b)', re.IGNORECASE)


class FetchParams(Params):
    source: Annotated[str, Named("sources")]
    path: UrlPath = "/"
    query: dict[str, str] = Field(default_factory=dict)
    format: Format = "json"
    rows: str = Field(default="", max_length=200, description="dotted path to the list inside the JSON")


class SourceEntry(OriginEntry):
    """`[inventory.sources.*]`: what the name of a source stands for."""

    timeout: float = Field(default=30.0, gt=0, le=300)
    max_bytes: int = Field(default=5 * 1024 * 1024, gt=0, le=50 * 1024 * 1024)
    pages: int = Field(default=10, ge=1, le=1000)
    next_field: str = ""


class FetchData(BaseModel):
    """`rows` are the first ones, cut for reading; `file` has all. `truncated`: the source had more."""

    rows_count: int
    columns: list[str]
    rows: list[dict[str, Cell]]
    bytes: int
    pages: int
    truncated: bool
    file: str


@dataclass
class Fetched:
    """What the pages gave so far."""

    rows: list[Row] = field(default_factory=list)
    bytes: int = 0
    seen: set[str] = field(default_factory=set)
    truncated: bool = False


class DataRetrieval(Worker):
    """Fetches JSON, CSV or text from an HTTP source that the operator named."""

    name = "data-retrieval"

    @action(
        changes=False,
        repeat="safe",
        timeout=1800,
        typical=10,
        criteria={
            "has_rows": (check("rows_count", "gt", 0),),
            "complete": (check("truncated", "eq", False),),
        },
    )
    def fetch(self, params: FetchParams, ctx: Context) -> Report[FetchData]:
        raw = self.entry("sources", params.source)
        entry = read_entry(SourceEntry, f"sources.{params.source}", raw)
        origin = Origin(params.source, entry, ctx.cancelled)
        fetched = collect(origin, entry, params, ctx)
        columns = columns_of(fetched.rows)
        file = ctx.scratch / f"fetched.{'txt' if params.format == 'text' else params.format}"
        _write(file, origin.hide(render(params.format, fetched.rows)))
        data = FetchData(
            rows_count=len(fetched.rows),
            columns=[shorten(name, origin.hide) for name in columns[:WIDEST]],
            rows=list(preview(fetched.rows, origin.hide)),
            bytes=fetched.bytes,
            pages=len(fetched.seen),
            truncated=fetched.truncated,
            file=str(file),
        )
        return Report.ok(summary(params, data, len(columns)), data, artifacts=(str(file),))


def collect(origin: Origin, entry: SourceEntry, params: FetchParams, ctx: Context) -> Fetched:
    """Page after page, until there is no next one or a limit is reached."""
    fetched, url = Fetched(), _address(origin, params)
    while url:
        if ctx.cancelled():
            raise Transient(f"{_name(params)}: stopped after {_count(len(fetched.seen), 'page')}.")
        if url in fetched.seen:
            raise Permanent(f"{_name(params)}: its link to the next page leads back to an earlier one.")
        if len(fetched.seen) == entry.pages:
            fetched.truncated = True
            break
        answer = origin.get(url, limit=entry.max_bytes - fetched.bytes)
        refuse(answer, origin, params)
        if not answer.whole:
            _too_long(fetched, entry, params)
            break
        fetched.seen.add(url)
        fetched.bytes += len(answer.body)
        rows, url = _page(answer, origin, entry, params)
        fetched.rows += rows
        ctx.progress(f"{_count(len(fetched.rows), 'row')} so far")
    return fetched


def refuse(answer: Answer, origin: Origin, params: FetchParams) -> None:
    """Raise what any other status than 200 means."""
    if answer.status == 200:
        return
    said = origin.hide(" ".join(plain(answer.body).split()))[:200] or "it says nothing more"
    text = f"{_name(params)} answered {answer.status}: {said}"
    if answer.status == 429 or answer.status >= 500:
        after = answer.headers.get("Retry-After", "")
        raise Transient(text, after=float(after) if after.isdecimal() else None)
    if answer.status in (401, 403):
        text += f" (check headers_env under [inventory.sources.{params.source}])"
    raise Permanent(text)


def next_link(header: str) -> str:
    """The target of rel="next" in a Link header (RFC 8288), or ""."""
    return next((target for target, rest in LINK.findall(header) if NEXT.search(rest)), "")


def summary(params: FetchParams, data: FetchData, columns: int) -> str:
    counts = [_count(data.rows_count, "line" if params.format == "text" else "row")]
    counts += [_count(columns, "column")] if params.format != "text" else []
    more = "; the source has more (truncated)" if data.truncated else ""
    return f"{_name(params)}: {', '.join([*counts, _size(data.bytes), _count(data.pages, 'page')])}{more}"


def _page(answer: Answer, origin: Origin, entry: SourceEntry, params: FetchParams) -> tuple[list[Row], str]:
    """The rows of one answer and the address of the next, or ""."""
    link: Any = next_link(answer.headers.get("Link", ""))
    try:
        if params.format == "json":
            document = read_json(answer.body)
            rows = _listed(document, params)
            link = pick(document, entry.next_field) if entry.next_field else link
        else:
            rows = read_csv(answer.body) if params.format == "csv" else read_text(answer.body)
    except Unreadable as error:
        raise Permanent(f"{_name(params)} did not answer with {error}.") from None
    if link and not isinstance(link, str):
        raise Permanent(f"{_name(params)}: next_field '{entry.next_field}' holds no link.")
    return rows, origin.inside(answer.url, link) if link else ""


def _listed(document: Any, params: FetchParams) -> list[Row]:
    found = pick(document, params.rows)
    if isinstance(found, dict) and not params.rows:
        found = [found]
    if not isinstance(found, list):
        raise Permanent(f"{_name(params)}: there is no list at '{params.rows or '(top)'}' in the JSON.")
    return [row if isinstance(row, dict) else {"value": row} for row in found]


def _too_long(fetched: Fetched, entry: SourceEntry, params: FetchParams) -> None:
    """Whole pages that fit are kept; half a page is of no use."""
    if not fetched.seen:
        raise Permanent(
            f"{_name(params)} answered with more than {_size(entry.max_bytes)}, the limit in signoff.toml "
            "(max_bytes). Ask for less."
        )
    fetched.truncated = True


def _address(origin: Origin, params: FetchParams) -> str:
    url = origin.url(params.path)
    return f"{url}{'&' if '?' in url else '?'}{urlencode(params.query)}" if params.query else url


def _write(file: Path, text: str) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:  # a cell's own line ends stay as they are
        out.write(text)


def _name(params: FetchParams) -> str:
    return f"{params.source} {params.path}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _size(size: int) -> str:
    power = min((len(str(size)) - 1) // 3, len(UNITS) - 1)
    return f"{size / 1000**power:.1f} {UNITS[power]}" if power else _count(size, "byte")
