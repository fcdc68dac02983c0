"""The auditor's report: who asked, who approved exactly what, what ran, and the evidence's hashes."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from urllib.parse import urlencode

from bot.board.html import Safe, joined, tag
from bot.board.parts.frame import button, empty, heading, panel, shell
from bot.board.parts.status import ended
from bot.board.parts.telling import Telling
from bot.board.parts.times import brief

NAMES = (
    "plan",
    "asked by",
    "asked at (UTC)",
    "channel",
    "wish",
    "what",
    "targets",
    "risk",
    "revision",
    "digest",
    "approved by",
    "approved at (UTC)",
    "second factors",
    "approved exactly",
    "policy",
    "ran",
    "outcome",
    "ended at (UTC)",
    "journal head",
    "events",
)
RISKY = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes what begins so for a formula


@dataclass(frozen=True)
class Entry:
    """One plan, as an auditor asks for it."""

    plan: int
    state: str
    outcome: str
    asked_by: str
    asked_at: datetime
    channel: str
    wish: str
    what: str
    targets: tuple[str, ...]
    risk: str
    revision: int
    digest: str
    # Who, when, by which second factor, and to exactly what: a revision, and its digest.
    approvals: tuple[tuple[str, datetime, str, int, str], ...]
    policy: str
    ran: tuple[str, ...]  # each step and how it ended
    ended_at: datetime | None
    head: str
    events: int
    seconds: float = 0.0
    needed: int = 0  # approvals


@dataclass(frozen=True)
class ReportFacts:
    entries: Sequence[Entry]
    since: str
    until: str
    target: str
    older: int = 0  # below which number there are more
    before: int = 0  # which it begins below


def report_page(facts: ReportFacts, tell: Telling) -> Safe:
    query = urlencode({"since": facts.since, "until": facts.until, "target": facts.target})
    acts = [button("CSV", f"/report?{query}&form=csv", main=True), button("Journal", "/journal")]
    target = f", target {facts.target}" if facts.target else ""
    count = (
        f"{len(facts.entries)} plans" if facts.older or facts.before else f"all {len(facts.entries)} plans"
    )
    said = (
        f"{facts.since} to {facts.until}, UTC{target}: {count} that you may see. The file holds all of them."
    )
    rows = [_entry(one, tell) for one in facts.entries]
    first = button("Newest", f"/report?{query}") if facts.before else None
    older = button("Older ›", f"/report?{query}&before={facts.older}") if facts.older else None
    more = tag("div", first, older, class_="more") if first or older else None
    body = rows or [empty("No plan was asked for in this time that you may see.")]
    return shell(
        joined(
            heading("Report", said, *acts),
            tag("div", panel("Period and target", _form(facts)), *body, more, class_="stack"),
        )
    )


def _form(facts: ReportFacts) -> Safe:
    fields = (
        ("since", "date", "from", facts.since),
        ("until", "date", "until", facts.until),
        ("target", "search", "a target, as in auth_prod", facts.target),
    )
    parts = [
        joined(
            tag("label", hint, class_="sr", for_=f"r-{name}"),
            tag(
                "input", id=f"r-{name}", type=kind, name=name, value=value, placeholder=hint, maxlength="100"
            ),
        )
        for name, kind, hint, value in fields
    ]
    return tag(
        "form",
        *parts,
        tag("button", "Show", class_="btn", type="submit"),
        class_="filters",
        action="/report",
        role="search",
        aria_label="Period and target",
    )


def _entry(one: Entry, tell: Telling) -> Safe:
    approved = [
        joined(
            tag("b", tell.who(who)),
            f" at {at:%Y-%m-%d %H:%M:%S} UTC{f', {factor}' if factor else ''}, revision {revision}, digest ",
            tag("code", digest),
            tag("br"),
        )
        for who, at, factor, revision, digest in one.approvals
    ]
    ran = [joined(line, tag("br")) for line in one.ran]
    rows = [
        (
            "Asked",
            joined(
                tag("b", tell.who(one.asked_by)),
                f" in {tell.where(one.channel)} at {one.asked_at:%Y-%m-%d %H:%M:%S} UTC: “{one.wish}”",
            ),
        ),
        ("Approved", joined(*approved) if approved else joined(_unapproved(one))),
        ("The plan", joined(f"revision {one.revision}, digest ", tag("code", one.digest or "–"))),
        ("Risk, policy", joined(f"{one.risk or '–'}, version ", tag("code", one.policy or "–"))),
        ("Targets", joined(", ".join(one.targets) or "–")),
        ("Ran", joined(*ran) if ran else joined("nothing")),
        ("Evidence", joined(f"{one.events} events, head ", tag("code", one.head or "–"))),
    ]
    facts = [part for name, what in rows for part in (tag("dt", name), tag("dd", what))]
    took = f" · {brief(one.seconds)}" if one.ended_at else ""
    aside = joined(ended(one.state, one.outcome), took)
    link = tag("p", tag("a", "The plan's page", href=f"/plans/{one.plan}"), class_="mute")
    return panel(
        f"#{one.plan} {one.what}",
        tag("div", tag("dl", *facts, class_="facts"), link, class_="pad"),
        aside=aside,
    )


def _unapproved(one: Entry) -> str:
    if not one.revision:
        return "–"
    return f"by nobody; {one.needed} needed" if one.needed else "no approval was needed, says the policy"


def report_csv(facts: ReportFacts) -> str:
    """The same as a table; no cell is a formula."""
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(NAMES)
    for one in facts.entries:
        writer.writerow([harmless(cell) for cell in _cells(one)])
    return out.getvalue()


def _cells(one: Entry) -> list[str]:
    return [
        str(one.plan),
        one.asked_by,
        one.asked_at.isoformat(),
        one.channel,
        one.wish,
        one.what,
        "; ".join(one.targets),
        one.risk,
        str(one.revision),
        one.digest,
        "; ".join(given[0] for given in one.approvals),
        "; ".join(given[1].isoformat() for given in one.approvals),
        "; ".join(given[2] or "none" for given in one.approvals),
        "; ".join(f"revision {given[3]} {given[4]}" for given in one.approvals),
        one.policy,
        "; ".join(one.ran),
        one.outcome or one.state,
        one.ended_at.isoformat() if one.ended_at else "",
        one.head,
        str(one.events),
    ]


def harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(RISKY) else cell
