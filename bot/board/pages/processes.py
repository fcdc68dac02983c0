"""Processes: problems first, then who is alive, what is held, and what is stopped."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.board.html import Safe, joined, tag
from bot.board.pages.now import Vital
from bot.board.parts.frame import empty, heading, panel, shell
from bot.board.parts.status import status
from bot.board.parts.telling import Telling, row, slim
from storage.database.tables import Process, Stop

FRESH = timedelta(seconds=30)
FORGOTTEN = timedelta(days=2)


@dataclass(frozen=True)
class Holding:
    """What a step touches and so holds; of a hidden plan only that something is held."""

    target: str
    plan: int
    since: datetime
    unknown: bool


@dataclass(frozen=True)
class ProcessesFacts:
    processes: Sequence[Process]
    running: dict[str, int]  # steps by the process that runs them
    stops: Sequence[Stop]
    holdings: Sequence[Holding]
    vitals: Sequence[Vital]


def problems(facts: ProcessesFacts, now: datetime) -> list[tuple[str, str, str, str]]:
    """(kind, word, what, about): what somebody should look at."""
    alive = [one for one in facts.processes if now - one.seen_at <= FRESH]
    found = [
        (
            "bad",
            "Gone",
            one.name,
            f"gave no sign since {one.seen_at:%H:%M:%S} UTC, and {facts.running[one.name]} steps were its",
        )
        for one in facts.processes
        if one not in alive and facts.running.get(one.name)
    ]
    if not any(one.kind == "workers" for one in alive):
        found.append(("bad", "No workers", "Nothing can run", "no workers process gives a sign of life"))
    releases = {one.release for one in alive}
    if len(releases) > 1:
        found.append(("ask", "Releases", "Processes of several releases", ", ".join(sorted(releases))))
    found += [("hold", "Stopped", stop.scope, stop.reason) for stop in facts.stops]
    found += [("ask", one.name, one.about, one.value) for one in facts.vitals if one.kind != "ok"]
    return found


def processes_page(facts: ProcessesFacts, tell: Telling) -> Safe:
    said = "Who is alive, what is held, what is stopped. Problems first; everything is read from the rows."
    found = problems(facts, tell.now.at)
    rows = [row(kind, word, tag("span", what, class_="t"), about) for kind, word, what, about in found]
    first = panel(
        "Problems",
        tag("ol", *rows, class_="rows") if rows else empty("There is none."),
        aside=f"{len(rows)} now",
    )
    left = tag("div", first, _table(facts, tell), class_="stack")
    right = tag(
        "div",
        _vitals(facts.vitals),
        _holdings(facts.holdings, tell),
        _stops(facts.stops, tell),
        class_="stack",
    )
    return shell(joined(heading("Processes", said), tag("div", left, right, class_="cols")))


def _table(facts: ProcessesFacts, tell: Telling) -> Safe:
    names = ("State", "Process", "Release", "Up since", "Last sign", "Steps now")
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    lately = [one for one in facts.processes if tell.now.at - one.seen_at < FORGOTTEN]
    rows = [_process(one, facts, tell) for one in lately]
    table = tag(
        "div",
        tag("table", head, tag("tbody", *rows), class_="proc"),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Processes",
    )
    return panel("Processes", table if rows else empty("No process has given a sign of life yet."))


def _process(one: Process, facts: ProcessesFacts, tell: Telling) -> Safe:
    alive = tell.now.at - one.seen_at <= FRESH
    mark = status("ok", "Alive") if alive else status("bad", "Gone")
    ago = f"{tell.now.ago(one.seen_at)}{'' if alive else ' ago'}"
    cells = [
        tag("td", mark),
        tag("td", one.name),
        tag("td", one.release, class_="mono"),
        tag("td", tell.now.clock(one.started_at)),
        tag("td", ago),
        tag("td", str(facts.running.get(one.name, 0)) if one.kind == "workers" else "–"),
    ]
    return tag("tr", *cells)


def _vitals(vitals: Sequence[Vital]) -> Safe:
    rows = [
        slim(tag("span", one.name, class_="t"), one.about, tag("div", one.value, class_=one.kind))
        for one in vitals
    ]
    return panel("Signoff itself", tag("ol", *rows, class_="rows slim"))


def _holdings(holdings: Sequence[Holding], tell: Telling) -> Safe:
    rows = []
    for one in holdings:
        mark = status("unknown", "Unknown") if one.unknown else status("run", "Running")
        since = f"since {tell.now.clock(one.since)}"
        about: Safe | str = (
            joined(tag("a", f"#{one.plan}", href=f"/plans/{one.plan}"), f" {since}") if one.plan else since
        )
        rows.append(slim(tag("span", one.target or "a private plan's target", class_="t"), about, mark))
    return panel("Targets held", tag("ol", *rows, class_="rows slim") if rows else empty("Nothing is held."))


def _stops(stops: Sequence[Stop], tell: Telling) -> Safe | None:
    rows = [
        slim(
            tag("span", one.scope, class_="t"),
            f"by {tell.who(one.by)}, {tell.now.clock(one.since)}: “{one.reason}”",
            status("hold", "Stopped"),
        )
        for one in stops
    ]
    return panel("Stops", tag("ol", *rows, class_="rows slim")) if rows else None
