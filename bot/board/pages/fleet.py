"""Fleet: problems first, then agents at work, who is alive, what is held, and what is stopped."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.board.html import Safe, joined, tag
from bot.board.pages.now import Vital
from bot.board.parts.cells import cells, climb
from bot.board.parts.frame import empty, heading, panel, shell, tile
from bot.board.parts.status import status
from bot.board.parts.telling import Telling, row, slim
from bot.board.parts.times import brief, share, usd
from storage.board.agents import Agent, most_at_once
from storage.board.sums import Sums
from storage.database.tables import Process, Stop
from storage.monitoring.fleet import Fleet

FRESH = timedelta(seconds=30)
FORGOTTEN = timedelta(days=2)
LATELY = timedelta(hours=8)


@dataclass(frozen=True)
class Holding:
    """What a step touches and so holds; of a hidden plan only that something is held."""

    target: str
    plan: int
    since: datetime
    unknown: bool


@dataclass(frozen=True)
class FleetFacts:
    processes: Sequence[Process]
    running: dict[str, int]  # steps by the process that runs them
    stops: Sequence[Stop]
    holdings: Sequence[Holding]
    vitals: Sequence[Vital]
    agents: Sequence[Agent] = ()  # at work, waiting, and those of the last hours
    hidden: int = 0  # agents at work for plans that they may not see
    week: Sums = field(default_factory=Sums)
    drafted: Fleet = field(default_factory=Fleet)  # of the last week
    late: float = 0.0  # seconds that a step could have started by now


def problems(facts: FleetFacts, now: datetime) -> list[tuple[str, str, str, str]]:
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
    found += [
        (
            "ask",
            "Late",
            f"agent · {one.key}",
            f"plan #{one.plan}, attempt {one.number}: past the end of its time",
        )
        for one in facts.agents
        if one.works and one.overran
    ]
    found += [("hold", "Stopped", stop.scope, stop.reason) for stop in facts.stops]
    found += [("ask", one.name, one.about, one.value) for one in facts.vitals if one.kind != "ok"]
    return found


def fleet_page(facts: FleetFacts, tell: Telling) -> Safe:
    said = "Processes and agents, problems first. Nothing is counted apart: all is read from the rows."
    found = problems(facts, tell.now.at)
    rows = [row(kind, word, tag("span", what, class_="t"), about) for kind, word, what, about in found]
    first = panel(
        "Problems",
        tag("ol", *rows, class_="rows") if rows else empty("There is none."),
        aside=f"{len(rows)} now",
    )
    left = tag("div", first, _at_work(facts, tell), _table(facts, tell), class_="stack")
    right = [
        _cells(facts),
        _climb(facts, tell),
        _vitals(facts.vitals),
        _holdings(facts.holdings, tell),
        _stops(facts.stops, tell),
    ]
    columns = tag("div", left, tag("div", *right, class_="stack"), class_="cols")
    return shell(joined(heading("Fleet", said), _tiles(facts, tell), columns))


def _tiles(facts: FleetFacts, tell: Telling) -> Safe:
    moves, week, drafted = most_at_once(facts.agents, tell.now.at), facts.week, facts.drafted
    at, most = max(moves, key=lambda one: one[1], default=(tell.now.at, 0))
    works = sum(one.works for one in facts.agents)
    each = f"; {usd(drafted.usd / drafted.landed)} for each" if drafted.landed and drafted.usd else ""
    tiles = [
        (
            "Agents at once",
            str(works),
            f"most {most}, at {tell.now.clock(at)}" if most else "none in 8 hours",
        ),
        (
            "Recovered without a person",
            share(week.recovered, week.troubled),
            f"{week.recovered} of {week.troubled} plans with a failure on the way, 7 days",
        ),
        ("Landed", str(drafted.landed), f"of {drafted.subtasks} subtasks, 7 days{each}"),
        ("Starts late by", brief(facts.late), "of the oldest step that nothing holds back"),
    ]
    return tag("div", *(tile(*one) for one in tiles), class_="tiles")


def _at_work(facts: FleetFacts, tell: Telling) -> Safe | None:
    """Each agent that works, with how far it says it is."""
    rows = [
        row(
            "ask" if one.overran else "run",
            "Late" if one.overran else "Works",
            tag("a", f"agent · {one.key}", class_="t", href=f"/plans/{one.plan}#s-{one.key}"),
            one.progress or f"on {one.owner}",
            aside=[
                f"plan #{one.plan}",
                f"attempt {one.number}, {tell.now.ago(one.started_at or tell.now.at)}",
            ],
        )
        for one in facts.agents
        if one.works
    ]
    return (
        panel("Agents at work", tag("ol", *rows, class_="rows"), aside=f"{len(rows)} now") if rows else None
    )


def _cells(facts: FleetFacts) -> Safe:
    """One cell for each agent: at work, past its time, waiting; hatched where the plan is hidden."""
    works = [one for one in facts.agents if one.works]
    late = sum(one.overran for one in works)
    waits = sum(one.waits for one in facts.agents)
    counts = (("run", len(works) - late, "work"), ("ask", late, "late"), ("idle", waits, "wait"))
    drawn = cells([*counts, ("hidden", facts.hidden, "of private plans")])
    return panel("Agents", drawn or empty("No agent works or waits."), aside=str(len(works) + facts.hidden))


def _climb(facts: FleetFacts, tell: Telling) -> Safe | None:
    """How many worked at once over the last hours."""
    moves = most_at_once(facts.agents, tell.now.at)
    if not moves:
        return None
    drawn = climb(moves, tell.now.at - LATELY, tell.now.at)
    now, most = sum(one.works for one in facts.agents), max(count for _, count in moves)
    about = tag("p", f"most {most} · now {now}", class_="mute")
    return panel("Agents at once, 8 h", tag("div", drawn, about, class_="pad"))


def _table(facts: FleetFacts, tell: Telling) -> Safe:
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


def _process(one: Process, facts: FleetFacts, tell: Telling) -> Safe:
    alive = tell.now.at - one.seen_at <= FRESH
    mark = status("ok", "Alive") if alive else status("bad", "Gone")
    ago = f"{tell.now.ago(one.seen_at)}{'' if alive else ' ago'}"
    cells = [
        tag("td", mark),
        tag("td", one.name),
        tag("td", one.release, class_="mono"),
        tag("td", tell.now.clock(one.started_at)),
        tag("td", ago, class_="ago"),
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
