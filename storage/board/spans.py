"""How long actions take: the median and the 90th percentile of what they took lately."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlmodel import col

from storage.contract.states import StepState
from storage.database.tables import Step
from storage.memory import Memory

LATELY = 200  # runs of one action that count
FEW = 5  # with fewer runs, what its contract says is the better guess
Action = tuple[str, str]  # worker, action


@dataclass(frozen=True)
class Span:
    """Seconds that an action usually takes, and at most in nine of ten runs."""

    p50: float
    p90: float
    runs: int
    last: float = 0.0

    @property
    def estimated(self) -> bool:
        """Whether it is what the contract says, and not what was measured."""
        return self.runs < FEW


def spans(memory: Memory, actions: Iterable[Action]) -> dict[Action, Span]:
    """Of those of these actions that ran well often enough."""
    found = {action: took(memory, action) for action in {*actions}}
    return {action: measured(runs) for action, runs in found.items() if len(runs) >= FEW}


def took(memory: Memory, action: Action) -> list[float]:
    """Seconds of its last successful runs, the latest first."""
    worker, name = action
    mine = (col(Step.worker) == worker, col(Step.action) == name, col(Step.state) == StepState.succeeded)
    times = select(col(Step.started_at), col(Step.ended_at)).where(*mine)
    with memory.read() as t:
        rows = t.execute(times.order_by(col(Step.id).desc()).limit(LATELY)).all()
    return [(end - start).total_seconds() for start, end in rows if start and end]


def measured(runs: Sequence[float]) -> Span:
    return Span(percentile(runs, 50), percentile(runs, 90), len(runs), runs[0])


def percentile(values: Sequence[float], share: int) -> float:
    """The smallest value that so many percent of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]
