"""Plans in figures, from the journal alone: what failed on the way, and what went well without a person."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, select
from sqlmodel import col

from storage.database.tables import TROUBLE, TROUBLED, Event

RUNGS = ("retry", "alternative", "simplify")
STANDING_IN = frozenset({"alternative", "simplify"})
OURS = frozenset({"planner", "rules", "policy", "clock", "bot", "breaker"})
ENDS = {"finish": "", "reject": "rejected", "expire": "expired", "cancel": "cancelled"}
# What a person does to a plan that has failed on the way: each of it helps.
HELPING = frozenset(
    {"answer", "resolve", "approve", "amend", "propose", "revise", "take_over", "postpone", "break_glass"}
)


@dataclass(frozen=True)
class Story:
    """One plan, as its journal tells it."""

    outcome: str = "open"
    failures: int = 0  # attempts that failed, or were lost: each once
    rungs: tuple[str, ...] = ()  # what was tried after a failure, in order, by the planner or by the engine
    helped: bool = False  # whether a person had a part in it after the first failure
    evaded: bool = False  # whether something stood in for a failed step that does not do what it should have
    asked: bool = False  # whether a person was asked how it goes on, with a cause and something to choose
    answered: bool = False  # whether a person said how it goes on

    @property
    def recovered(self) -> bool:
        """Ended well after a failure, and nobody helped: an approval after it is help, too."""
        well = self.outcome == "succeeded" and self.failures > 0
        return well and not self.helped and not self.evaded


@dataclass(frozen=True)
class Recovery:
    """The sums that `/metrics`, `signoff stats` and the home tab say alike."""

    failed_attempts: int = 0
    troubled: int = 0  # plans with a failed attempt
    ended: int = 0  # of these, those that have ended
    recovered: int = 0  # of these, ended well without a person

    def __add__(self, story: Story) -> "Recovery":
        if not story.failures:
            return self
        return Recovery(
            self.failed_attempts + story.failures,
            self.troubled + 1,
            self.ended + (story.outcome != "open"),
            self.recovered + story.recovered,
        )


NO_FAILURES = Recovery()


def story(events: Sequence[Any]) -> Story:
    """Of one plan's events, in their order."""
    failures, first, rungs, evaded, since = 0, len(events), list[str](), False, set[str]()
    for number, event in enumerate(events):
        step = str(event.data.get("step", ""))
        if event.verb == "claim":
            since.discard(step)
        elif event.verb in TROUBLE and step not in since:
            since.add(step)  # what a probe says of a lost attempt is no other attempt
            failures, first = failures + 1, min(first, number)
            rungs += ["retry"] if event.verb == "retry" else []
        elif event.verb == "decide" and event.data["verb"] in RUNGS:
            rungs.append(event.data["verb"])
            evaded |= event.data["verb"] in STANDING_IN and not event.data.get("meets")
    later = [event for event in events[first:] if event.actor not in OURS]
    decided = [event.data for event in events if event.verb == "decide"]
    return Story(
        outcome=next((_end(event) for event in reversed(events) if event.verb in ENDS), "open"),
        failures=failures,
        rungs=tuple(rungs),
        helped=any(event.verb in HELPING for event in later),
        evaded=evaded,
        asked=any(data["verb"] == "ask" and data["reason"] and data.get("options") for data in decided),
        answered=any(e.verb in {"answer", "resolve"} and e.actor not in OURS for e in events),
    )


def recovery(connection: Connection) -> Recovery:
    """Over all plans that failed on the way; what went smoothly is not even read."""
    # In the words of the index: a plan that is made once for any verbs would read every event.
    troubled = select(col(Event.plan_id)).where(TROUBLED, col(Event.plan_id) > 0)
    wanted = (col(Event.plan_id), col(Event.verb), col(Event.actor), col(Event.data))
    query = select(*wanted).where(col(Event.plan_id).in_(troubled))
    return summed(connection.execute(query.order_by(col(Event.plan_id), col(Event.seq))))


def summed(events: Iterable[Any]) -> Recovery:
    found = Recovery()
    for _, one in groupby(events, key=lambda event: event.plan_id):
        found = found + story([*one])
    return found


def _end(event: Any) -> str:
    return ENDS[event.verb] or str(event.data.get("outcome", "done"))
