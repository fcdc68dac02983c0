"""Run a trial: every task several times; cost, time and calls counted, failures of the API apart."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

from bot.planner.model.claude import Claude
from bot.planner.model.usage import ModelFailed, ModelUnavailable, Usage
from bot.planner.trials.tasks import Task
from storage.config import Purpose
from storage.contract.capability import Document

# (for what, what hears of each call's cost) → the model to be tried
Made = Callable[[Purpose, Callable[[str, Usage], None]], Claude]


class Sample(Document):
    """One answer to one task."""

    kind: str
    name: str
    wrong: tuple[str, ...] = ()
    failed: str = ""  # why the API gave no answer: that says nothing about the model
    usd: float = 0.0
    seconds: float = 0.0
    calls: int = 0
    repairs: int = 0  # calls that were made since an answer could not be used
    prompts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        return not self.wrong and not self.failed


def run(
    made: Made,
    tasks: Sequence[Task],
    *,
    samples: int,
    at_once: int,
    clock: Callable[[], float] = time.monotonic,
) -> list[Sample]:
    """Every task so many times, several at once."""
    wanted = [task for task in tasks for _ in range(samples)]
    with ThreadPoolExecutor(at_once, "trial") as pool:
        return [*pool.map(lambda task: _one(made, task, clock), wanted)]


def _one(made: Made, task: Task, clock: Callable[[], float]) -> Sample:
    booked: list[tuple[str, Usage]] = []
    began = clock()
    wrong, failed = tuple[str, ...](), ""
    try:
        wrong = task.ask(lambda purpose: made(purpose, lambda *call: booked.append(call)))
    except ModelUnavailable as error:
        failed = str(error)
    except ModelFailed as error:
        wrong = (str(error).partition("\n")[0],)
    return Sample(
        kind=task.kind, name=" ".join(task.name.split()), wrong=wrong, failed=failed,
        usd=sum(one.usd for _, one in booked), seconds=round(clock() - began, 3), calls=len(booked),
        repairs=sum(one.repair for _, one in booked), prompts=tuple({one.prompt for _, one in booked}),
        models=tuple({model for model, _ in booked}),
    )  # fmt: skip


def figures(samples: Sequence[Sample], *, model: str, floor: float) -> dict[str, Any]:
    """The report as plain fields: shares with what they are shares of, nothing of it rounded away."""
    kinds = list(dict.fromkeys(one.kind for one in samples))
    total = _sums(samples)
    return {
        "model": model,
        "models": sorted({name for one in samples for name in one.models}),
        "prompts": sorted({name for one in samples for name in one.prompts if name}),
        "floor": floor,
        "below": [kind for kind in kinds if _share(kind, samples) < floor],
        "failures": sum(bool(one.failed) for one in samples),
        "why_failed": sorted({one.failed for one in samples if one.failed})[:5],
        "total": total,
        "kinds": {kind: _sums([one for one in samples if one.kind == kind]) for kind in kinds},
        "wrong": [{"kind": o.kind, "name": o.name, "wrong": [*o.wrong]} for o in samples if o.wrong],
    }


def _sums(samples: Sequence[Sample]) -> dict[str, Any]:
    answered = [one for one in samples if not one.failed]
    by_case: dict[str, list[bool]] = {}
    for one in samples:
        by_case.setdefault(f"{one.kind} {one.name}", []).append(one.right)
    times = sorted(one.seconds for one in answered)
    return {
        "cases": len(by_case),
        "samples": len(samples),
        "answered": len(answered),
        "right": sum(one.right for one in answered),
        "pass_at_1": round(sum(o.right for o in answered) / len(answered), 4) if answered else 0.0,
        "pass_all": sum(all(found) for found in by_case.values()),  # pass^n: right every time
        "usd": round(sum(one.usd for one in samples), 6),
        "calls": sum(one.calls for one in samples),
        "repairs": sum(one.repairs for one in samples),
        "seconds_median": round(median(times), 3) if times else None,
        "seconds_p90": round(times[min(int(len(times) * 0.9), len(times) - 1)], 3) if times else None,
    }


def _share(kind: str, samples: Sequence[Sample]) -> float:
    return float(_sums([one for one in samples if one.kind == kind])["pass_at_1"])


def code(found: dict[str, Any]) -> int:
    """0 only when every call was answered, and enough of each kind was right: plans hide no bad review."""
    return int(bool(found["failures"] or found["below"]))
