"""Fetches rows over HTTP from sources that the operator named: all to a file, the first to the report."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue

from workers.base import Context, Named, Params, Permanent, Report, Transient, Worker, action, check
from workers.builtin.data.paging import first, following
from workers.builtin.data.rows import (
    WIDEST,
    Format,
    Row,
    columns_of,
    preview,
    read_csv,
    read_text,
    render,
)
from workers.builtin.shared.http_origin import Answer, Origin, UrlPath, read_origin
from workers.builtin.shared.http_source import Ask, SourceEntry
from workers.builtin.shared.json_values import Cell, Unreadable, pick, read_json, shorten
from workers.commands.output import plain

UNITS = ("bytes", "kB", "MB", "GB")


class FetchParams(Params):
    source: Annotated[str, Named("sources")]
    path: UrlPath = "/"
    query: dict[str, str] = Field(default_factory=dict)
    format: Format = "json"
    rows: str = Field(default="", max_length=200, description="dotted path to the list inside the JSON")
    body: dict[str, JsonValue] | None = Field(
        default=None, description="sent by POST; only where the operator says that this reads"
    )


class FetchData(BaseModel):
    """`sample` is the first rows, cut for reading; `file` has all. `truncated`: the source had more."""

    rows_count: int
    columns: list[str]
    sample: list[dict[str, Cell]]
    bytes: int
    pages: int
    truncated: bool
    file: str


@dataclass
class Fetched:
    """What the pages gave so far."""

    rows: list[Row] = field(default_factory=list)
    size: int = 0
    seen: set[Ask] = field(default_factory=set)
    last: bytes = b""
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
        says="*Fetch* from {source}",
    )
    def fetch(self, params: FetchParams, ctx: Context) -> Report[FetchData]:
        """Fetches rows page by page from a source of the operator."""
        raw = self.entry("sources", params.source)
        entry = read_origin(SourceEntry, f"sources.{params.source}", raw)
        origin = Origin(params.source, entry, ctx.cancelled)
        fetched = collect(origin, entry, params, ctx)
        columns = columns_of(fetched.rows)
        file = ctx.scratch / f"fetched.{'txt' if params.format == 'text' else params.format}"
        _write(file, origin.hide(render(params.format, fetched.rows)))
        data = FetchData(
            rows_count=len(fetched.rows),
            columns=[shorten(name, origin.hide) for name in columns[:WIDEST]],
            sample=list(preview(fetched.rows, origin.hide)),
            bytes=fetched.size,
            pages=len(fetched.seen),
            truncated=fetched.truncated,
            file=str(file),
        )
        return Report.ok(summary(params, data, len(columns)), data, artifacts=(str(file),))


def collect(origin: Origin, entry: SourceEntry, params: FetchParams, ctx: Context) -> Fetched:
    """Page after page, until there is no next one or a limit is reached."""
    _check_may_post(entry, params)
    fetched = Fetched()
    ask: Ask | None = first(entry, origin.url(params.path), params.query, params.body)
    while ask:
        if ctx.cancelled():
            raise Transient(f"{_name(params)}: stopped after {_count(len(fetched.seen), 'page')}.")
        if len(fetched.seen) == entry.pages:
            fetched.truncated = True
            break
        answer = ask.send(origin, entry.max_bytes - fetched.size)
        refuse(answer, origin, params)
        if not answer.whole:
            _cut_short(fetched, entry, params)
            break
        ask = _take(fetched, ask, answer, origin, entry, params)
        ctx.progress(f"{_count(len(fetched.rows), 'row')} so far")
    return fetched


def _take(
    fetched: Fetched, ask: Ask, answer: Answer, origin: Origin, entry: SourceEntry, params: FetchParams
) -> Ask | None:
    """Keep what one answer gave; what to ask next."""
    document, rows = _read(answer, params)
    if entry.page_param and rows and answer.body == fetched.last:
        raise Permanent(f"{_name(params)} answers every {entry.page_param} alike; it has no such pages.")
    fetched.seen.add(ask)
    fetched.size += len(answer.body)
    fetched.rows += rows
    fetched.last = answer.body
    after = following(entry, ask, answer, document, origin) if rows or not entry.page_param else None
    if after in fetched.seen:
        raise Permanent(f"{_name(params)}: its link to the next page leads back to an earlier one.")
    return after


def _check_may_post(entry: SourceEntry, params: FetchParams) -> None:
    if params.body is not None and params.path not in entry.post_reads:
        raise Permanent(
            f"{_name(params)} is not among post_reads of [inventory.sources.{params.source}]: nobody says "
            "that a POST there only reads. Nothing was sent."
        )


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


def summary(params: FetchParams, data: FetchData, columns: int) -> str:
    counts = [_count(data.rows_count, "line" if params.format == "text" else "row")]
    counts += [_count(columns, "column")] if params.format != "text" else []
    more = "; the source has more (truncated)" if data.truncated else ""
    return f"{_name(params)}: {', '.join([*counts, _size(data.bytes), _count(data.pages, 'page')])}{more}"


def _read(answer: Answer, params: FetchParams) -> tuple[Any, list[Row]]:
    """The document, where there is one, and its rows."""
    try:
        if params.format == "json":
            document = read_json(answer.body)
            return document, _listed(document, params)
        return None, read_csv(answer.body) if params.format == "csv" else read_text(answer.body)
    except Unreadable as error:
        raise Permanent(f"{_name(params)} did not answer with {error}.") from None


def _listed(document: Any, params: FetchParams) -> list[Row]:
    found = pick(document, params.rows)
    if isinstance(found, dict) and not params.rows:
        found = [found]
    if not isinstance(found, list):
        raise Permanent(f"{_name(params)}: there is no list at '{params.rows or '(top)'}' in the JSON.")
    return [row if isinstance(row, dict) else {"value": row} for row in found]


def _cut_short(fetched: Fetched, entry: SourceEntry, params: FetchParams) -> None:
    """Whole pages that fit are kept; half a page is of no use."""
    if not fetched.seen:
        raise Permanent(
            f"{_name(params)} answered with more than {_size(entry.max_bytes)}, the limit in signoff.toml "
            "(max_bytes). Ask for less."
        )
    fetched.truncated = True


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
