"""Figures: how plans ended, what recovered, how people decided, how long, how dear. Never a bare share."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.board.html import Safe, joined, tag
from bot.board.parts.frame import button, empty, heading, panel, shell, tile
from bot.board.parts.lanes import columns, p
from bot.board.parts.telling import Telling
from bot.board.parts.times import brief, day, share, usd
from storage.board.spans import Span
from storage.board.sums import Sums

PERIODS = (7, 30, 90)
RUNGS = {
    "retry": ("run", "retry"),
    "alternative": ("plan", "alternative"),
    "simplify": ("idle", "simplify"),
    "person": ("ask", "a person answered"),
    "nobody": ("bad", "not recovered"),
}
WAITS = (15, 30, 60, 120, 240, 480, 960, 1800, 3600, 7200, 14400, 28800)  # seconds, the upper ends
OUTCOMES = {
    "succeeded": "well",
    "rolled_back": "rolled back",
    "failed": "failed",
    "incomplete": "incomplete",
    "rejected": "rejected",
    "expired": "expired",
    "cancelled": "cancelled",
}


@dataclass(frozen=True)
class FiguresFacts:
    sums: Sums
    days: int
    since: datetime
    durations: Mapping[tuple[str, str], Span]
    calls: Sequence[tuple[str, int, float]]  # model, calls, USD: of the whole installation
    budget: float = 0.0


def figures_page(facts: FiguresFacts, tell: Telling) -> Safe:
    span = f"{day(facts.since, tell.now.zone)} to {day(tell.now.at, tell.now.zone)}"
    said = f"{span}, all channels that you may see. Every share names what it is a share of."
    acts = [button(f"{n} days", f"/figures?days={n}", current=n == facts.days) for n in PERIODS]
    acts.append(button("JSON", f"/api/figures?days={facts.days}"))
    panels = [_after(facts.sums), _approvals(facts.sums), _durations(facts.durations), _cost(facts, tell)]
    return shell(joined(heading("Figures", said, *acts), _tiles(facts), tag("div", *panels, class_="two")))


def _tiles(facts: FiguresFacts) -> Safe:
    sums = facts.sums
    ends = " · ".join(
        f"{sums.outcomes[key]:,} {word}" for key, word in OUTCOMES.items() if sums.outcomes.get(key)
    )
    half, most = sums.waited(50), sums.waited(95)
    waited = f"median of {len(sums.waits):,}; p95 {brief(most)}" if most is not None else "nobody was asked"
    each = f"{usd(sums.usd / sums.ended)} a plan, {sums.ended:,} ended" if sums.ended else "no plan ended"
    tiles = [
        ("Plans ended", f"{sums.ended:,}", ends or "none"),
        (
            "Recovered without a person",
            share(sums.recovered, sums.troubled),
            f"{sums.recovered} of {sums.troubled} plans with a failure on the way",
        ),
        ("Time to approve", brief(half) if half is not None else "–", waited),
        ("Cost of thinking", usd(sums.usd), each),
    ]
    return tag("div", *(tile(*one) for one in tiles), class_="tiles")


def _after(sums: Sums) -> Safe:
    if not sums.troubled:
        return panel("After a failure", empty("No plan had a failure on the way."))
    at, bars, rows = 0.0, [], []
    for key, (colour, word) in RUNGS.items():
        count, lost = sums.rungs.get(key, (0, None))
        width = 100 * count / sums.troubled
        if count:
            bars.append(
                tag(
                    "rect", class_=f"f-{colour}", x=p(at), width=p(max(0.0, width - 0.4)), height="18", rx="3"
                )
            )
        at += width
        square = tag(
            "svg",
            tag("rect", class_=f"f-{colour}", width="11", height="11", rx="3"),
            class_="sw",
            aria_hidden="true",
        )
        rows.append(
            (
                joined(square, word),
                f"{count} of {sums.troubled}",
                share(count, sums.troubled),
                brief(lost) if lost is not None else "–",
            )
        )
    said = "; ".join(f"{RUNGS[key][1]} {count}" for key, (count, _) in sums.rungs.items())
    bar = tag("div", tag("svg", *bars, class_="stackbar", role="img", aria_label=said), class_="pad")
    table = _table(("What ended it", "Plans", "Share", "Time lost, p50"), rows, "After a failure")
    return panel("After a failure", bar, table, aside=f"{sums.troubled} plans with a failure on the way")


def _approvals(sums: Sums) -> Safe:
    if not sums.wanted:
        return panel("Approvals", empty("Nobody was asked to approve anything."))
    counts = [0] * (len(WAITS) + 1)
    for seconds in sums.waits:
        counts[bisect_right(WAITS, seconds)] += 1
    ends = f"from under {brief(WAITS[0])} to over {brief(WAITS[-1])}"
    said = f"time to the first approval, {len(sums.waits)} plans: {ends}"
    labels = [(0, f"< {WAITS[0]} s"), (4, "2 min"), (8, "30 min"), (12, "> 8 h")]
    chart = tag("div", columns([float(n) for n in counts], said, labels), class_="pad")
    of_all = (
        ("Approved", sums.approved),
        ("Rejected", sums.rejected),
        ("Expired without an answer", sums.expired),
        ("Abandoned: nobody decided", sums.abandoned),
        ("Edited before it was decided", sums.edited),
    )
    rows: list[tuple[Safe | str, ...]] = [
        (name, f"{n} of {sums.wanted}", share(n, sums.wanted)) for name, n in of_all
    ]
    rows.append(
        (
            "Approved without opening the whole plan",
            f"{sums.unopened} of {sums.approvals} approvals",
            share(sums.unopened, sums.approvals),
        )
    )
    table = _table(("What people did", "Plans", "Share"), rows, "Approvals")
    return panel(
        "Approvals", chart, table, aside=f"{sums.wanted} plan{'s' * (sums.wanted != 1)} asked people"
    )


def _durations(found: Mapping[tuple[str, str], Span]) -> Safe:
    if not found:
        return panel("Durations", empty("No action has run often enough: five runs make a figure."))
    most = max(span.p90 for span in found.values()) or 1.0
    rows: list[tuple[Safe | str, ...]] = []
    for (worker, action), span in sorted(found.items(), key=lambda one: -one[1].p90):
        drawing = tag(
            "svg",
            tag("rect", class_="f-soft", width="100%", height="8", y="5", rx="4"),
            tag("rect", class_="f-plan2", width=p(100 * span.p90 / most), height="8", y="5", rx="4"),
            tag("rect", class_="f-plan", width=p(100 * span.p50 / most), height="8", y="5", rx="4"),
            tag(
                "rect", class_="f-run", x=p(min(98.5, 100 * span.last / most)), width="3", height="14", y="2"
            ),
            class_="bar",
            role="img",
            aria_label=f"p50 {brief(span.p50)}, p90 {brief(span.p90)}, last {brief(span.last)}",
        )
        rows.append(
            (
                joined(action, tag("br"), tag("small", worker)),
                drawing,
                brief(span.p50),
                brief(span.p90),
                f"{span.runs}",
            )
        )
    return panel(
        "Durations",
        _table(("Action", "of the longest p90", "p50", "p90", "Runs"), rows, "Durations"),
        aside="bar: p50, p90; mark: last",
    )


def _cost(facts: FiguresFacts, tell: Telling) -> Safe:
    sums, last = facts.sums, tell.now.at.date()
    days = [last - timedelta(days=n) for n in reversed(range(min(14, facts.days)))]
    values = [sums.by_day.get(one, 0.0) for one in days]
    if not sums.usd and not facts.calls:
        return panel("Cost of thinking", empty("No model was asked: the runbooks plan."))
    said = f"cost by day, {len(days)} days, {usd(sum(values))} in all"
    chart = tag(
        "div",
        columns(values, said, [(0, f"{days[0]:%d %b}"), (len(days) - 1, f"{days[-1]:%d %b}")]),
        class_="pad",
    )
    rows: list[tuple[Safe | str, ...]] = [
        (model, f"{count:,} calls", usd(cost)) for model, count, cost in facts.calls
    ]
    table = _table(("Model, all plans", "Calls", "USD"), rows, "Cost") if rows else None
    return panel("Cost of thinking", chart, table, aside=f"last {len(days)} days, by the plan's end")


def _table(names: Sequence[str], rows: Sequence[Sequence[Safe | str]], about: str) -> Safe:
    head = tag(
        "thead",
        tag("tr", *(tag("th", name, scope="col", class_="r" if n else None) for n, name in enumerate(names))),
    )
    body = [
        tag(
            "tr",
            *(
                tag("td", cell, class_="r" if n and not isinstance(cell, Safe) else None)
                for n, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    return tag(
        "div",
        tag("table", head, tag("tbody", *body)),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=f"{about}, as a table",
    )
