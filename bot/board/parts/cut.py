"""The time of one plan: what was planned and what happened, with long pauses cut short."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.board.parts.lanes import Scale
from bot.board.parts.telling import Telling
from bot.cards.timeline import Axis, axis
from storage.contract.states import StepState
from storage.reading.plan_view import PlanView, StepView

SHORTEST = timedelta(seconds=2)


@dataclass(frozen=True)
class Planned:
    """When a step would run: usually, and in a long run."""

    start: datetime
    p50: datetime
    p90: datetime
    guess: bool


@dataclass(frozen=True)
class Cut(Scale):
    """A stretch of time in pieces."""

    pieces: Axis

    def at(self, moment: datetime) -> float:
        return min(100.0, max(0.0, 100 * self.pieces.at(moment) / self.pieces.length))

    def holds(self, moment: datetime) -> bool:
        return any(start <= moment <= end for start, end in self.pieces.pieces)

    def ticks(self) -> list[datetime]:
        """Where each piece begins; in a single one, as on any scale."""
        if len(self.pieces.pieces) == 1:
            return super().ticks()
        return [start for start, _ in self.pieces.pieces]


def plans(view: PlanView, tell: Telling) -> dict[str, Planned]:
    """Each step, from when its own turn would come."""
    begun = min((step.started_at for step in view.steps if step.started_at), default=None)
    origin = begun or view.starts_at or tell.now.at
    found: dict[str, Planned] = {}
    for step in view.steps:
        if step.undo:
            continue
        ends = [found[key] for key in step.spec.depends_on if key in found]
        times = [moment for moment in (step.spec.schedule.not_before, step.not_before) if moment]
        start = max([origin, *(end.p50 for end in ends), *times])
        span = tell.span(view, step.spec)
        p50, p90 = (max(timedelta(seconds=seconds), SHORTEST) for seconds in (span.p50, span.p90))
        found[step.spec.id] = Planned(start, start + p50, start + p90, span.estimated)
    return found


def actual(step: StepView, now: datetime) -> tuple[datetime, datetime] | None:
    """From when to when it ran; what still runs has no end, and is drawn until now."""
    if not step.started_at:
        return None
    running = step.state in {StepState.running, StepState.unknown}
    return step.started_at, (step.ended_at or (now if running else step.started_at))


def scale(steps: Sequence[StepView], planned: Mapping[str, Planned], now: datetime) -> Cut:
    spans = [(one.start, one.p90) for one in planned.values()]
    spans += [span for step in steps if (span := actual(step, now))]
    spans = [(start, max(end, start + SHORTEST)) for start, end in spans] or [
        (now, now + timedelta(minutes=5))
    ]
    made = axis(spans)
    return Cut(made.pieces[0][0], made.pieces[-1][1], made)
