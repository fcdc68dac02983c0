"""`signoff stats`: figures from the journal alone: how plans ended, what recovered by itself, time, money."""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from statistics import median
from typing import Any

from bot.board.api.models import figures_out
from bot.cards.phrases import lasting
from bot.cli.sources import open_to_read
from bot.config import BotSettings
from storage.board.stories import all_opened, cost, rows, waited
from storage.board.sums import sums_of
from storage.journal.stories import Recovery, story


@dataclass(frozen=True)
class Stats:
    """Sums over all plans. The three of recovery have one denominator: plans with a failed attempt."""

    plans: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    failed_attempts: int = 0  # each attempt that failed or was lost, once
    failed_on_the_way: int = 0  # plans with such an attempt
    ended: int = 0  # of these, those that have ended
    recovered: int = 0  # of these, ended well, and no person helped after the failure
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
    store = open_to_read(settings)
    if as_json:
        told = sums_of(rows(store.journal(), all_opened(store)))
        found = replace(told, outcomes=stats(store.journal()).outcomes)  # with those that are open
        print(figures_out(found, None, store.clock()).model_dump_json())
    else:
        print(table(stats(store.journal())))
    return 0


def stats(events: Iterable[Any]) -> Stats:
    """Of a journal in the order of plans and their events: one plan at a time is held in memory."""
    counts, outcomes, rungs = Counter[str](), Counter[str](), Counter[str]()
    waits, usd, failed = array("d"), 0.0, Recovery()
    for _, found in groupby(events, key=lambda event: event.plan_id):
        told = [*found]
        usd += cost(told)
        if _no_plan(told):
            continue
        one = story(told)
        outcomes[one.outcome] += 1
        counts += Counter(name for name in ("asked", "answered") if getattr(one, name))
        failed = failed + one
        rungs += Counter((one.rungs or ("probe",))[-1:] if one.recovered else ())
        long = waited(told)
        waits.extend(() if long is None else (long,))
    return Stats(
        plans=outcomes.total(),
        outcomes=dict(outcomes),
        failed_attempts=failed.failed_attempts,
        failed_on_the_way=failed.troubled,
        ended=failed.ended,
        recovered=failed.recovered,
        recovered_by=dict(rungs),
        asked=counts["asked"],
        answered=counts["answered"],
        approve_seconds=median(waits) if waits else None,
        approve_longest=max(waits, default=None),
        usd=round(usd, 6),
    )


def _no_plan(events: Sequence[Any]) -> bool:
    """A question of one person, or a sentence that was refused before there was a plan."""
    verbs = {event.verb for event in events}
    asked = events[0].verb == "request" and events[0].data.get("private")
    return bool(asked) or ("cancel" in verbs and "propose" not in verbs)


def table(found: Stats) -> str:
    """For a terminal; every share with what it is a share of."""
    rungs = ", ".join(f"{verb} {number}" for verb, number in sorted(found.recovered_by.items()))
    lines = [f"{'plans':<28}{found.plans}"]
    lines += [f"  {outcome:<26}{number}" for outcome, number in sorted(found.outcomes.items())]
    share = f"{found.recovered} of {found.ended}"
    lines += [
        f"{'failed attempts':<28}{found.failed_attempts}",
        f"{'plans with one':<28}{found.failed_on_the_way} of {found.plans}; {found.ended} have ended",
        f"{'recovered without a person':<28}{share}{f' ({rungs})' if rungs else ''}",
        f"{'reached a person':<28}{found.asked} of {found.plans}; a person answered in {found.answered}",
        f"{'time to approve':<28}{_long(found.approve_seconds)}, at most {_long(found.approve_longest)}",
        f"{'cost of thinking':<28}{found.usd:.2f} USD",
    ]
    return "\n".join(lines)


def _long(seconds: float | None) -> str:
    return "–" if seconds is None else lasting(seconds)
