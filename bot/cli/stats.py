"""`signoff stats`: figures from the journal alone: how plans ended, what recovered by itself, time, money."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import groupby
from statistics import median
from typing import Any

from bot.cards.phrases import lasting
from bot.cli.sources import open_store
from bot.config import BotSettings
from storage.database.tables import Event

RUNGS = ("retry", "alternative", "simplify")
OURS = frozenset({"planner", "rules", "policy", "clock", "bot"})
ENDS = ("finish", "reject", "expire", "cancel")


@dataclass(frozen=True)
class Story:
    """One plan, as its journal tells it."""

    outcome: str = "open"
    rungs: tuple[str, ...] = ()  # what the planner did by itself after a failure, in order
    asked: bool = False  # whether a person was asked how it goes on, with a cause and something to choose
    answered: bool = False  # whether a person said how it goes on
    waited: float | None = None  # seconds from the proposal to the approval by people
    usd: float = 0.0

    @property
    def recovered(self) -> bool:
        return bool(self.rungs) and self.outcome == "succeeded" and not self.answered


@dataclass(frozen=True)
class Stats:
    """Sums over all plans."""

    plans: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    failed_on_the_way: int = 0  # plans in which the planner acted on a failure, or asked
    recovered: int = 0  # of these, ended well without a person
    recovered_by: dict[str, int] = field(default_factory=dict)  # the last rung that it took
    asked: int = 0
    answered: int = 0
    approve_seconds: float | None = None  # median
    approve_longest: float | None = None
    usd: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def print_stats(settings: BotSettings, *, as_json: bool) -> int:
    """For people, or as JSON for programs."""
    found = stats(open_store(settings).journal())
    print(json.dumps(found.as_json()) if as_json else table(found))
    return 0


def stats(events: Iterable[Event]) -> Stats:
    """Of a journal in the order of plans and their events."""
    told = [story([*found]) for _, found in groupby(events, key=lambda event: event.plan_id)]
    waits = [one.waited for one in told if one.waited is not None]
    recovered = [one for one in told if one.recovered]
    return Stats(
        plans=len(told),
        outcomes=dict(Counter(one.outcome for one in told)),
        failed_on_the_way=sum(bool(one.rungs) or one.asked for one in told),
        recovered=len(recovered),
        recovered_by=dict(Counter(one.rungs[-1] for one in recovered)),
        asked=sum(one.asked for one in told),
        answered=sum(one.answered for one in told),
        approve_seconds=median(waits) if waits else None,
        approve_longest=max(waits, default=None),
        usd=round(sum(one.usd for one in told), 6),
    )


def story(events: Sequence[Event]) -> Story:
    decided = [event.data for event in events if event.verb == "decide"]
    choices = [event for event in events if event.verb in {"answer", "resolve"}]
    return Story(
        outcome=next((_end(event) for event in reversed(events) if event.verb in ENDS), "open"),
        rungs=tuple(data["verb"] for data in decided if data["verb"] in RUNGS),
        asked=any(data["verb"] == "ask" and data["reason"] and data.get("options") for data in decided),
        answered=any(event.actor not in OURS for event in choices),
        waited=_waited(events),
        usd=sum(float(event.data.get("usd", 0.0)) for event in events if event.verb == "book"),
    )


def table(found: Stats) -> str:
    """For a terminal."""
    rungs = ", ".join(f"{verb} {number}" for verb, number in sorted(found.recovered_by.items()))
    share = f"{found.recovered} of {found.failed_on_the_way}"
    lines = [f"{'plans':<28}{found.plans}"]
    lines += [f"  {outcome:<26}{number}" for outcome, number in sorted(found.outcomes.items())]
    lines += [
        f"{'with a failure on the way':<28}{found.failed_on_the_way}",
        f"{'recovered without a person':<28}{share}{f' ({rungs})' if rungs else ''}",
        f"{'reached a person':<28}{found.asked}, of which answered {found.answered}",
        f"{'time to approve':<28}{_long(found.approve_seconds)}, at most {_long(found.approve_longest)}",
        f"{'cost of thinking':<28}{found.usd:.2f} USD",
    ]
    return "\n".join(lines)


def _end(event: Event) -> str:
    ended = {"reject": "rejected", "expire": "expired", "cancel": "cancelled"}
    return ended.get(event.verb) or str(event.data.get("outcome", "done"))


def _waited(events: Sequence[Event]) -> float | None:
    """Until the first approval by a person."""
    since: datetime | None = None
    for event in events:
        if event.verb in {"propose", "amend"}:
            since = event.at
        elif event.verb == "approve" and event.actor not in OURS and since:
            return (event.at - since).total_seconds()
    return None


def _long(seconds: float | None) -> str:
    return "–" if seconds is None else lasting(seconds)
