"""One attempt: run the action (or its probe), judge what it answered, and put that on record."""

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

from pydantic import ValidationError

from storage.report import AnyReport, Fault
from storage.spec import holds
from storage.steps import Claim
from storage.store import Store
from workers.base import Context, Params, Permanent, Report, Transient, Verdict
from workers.registry import Registry

LEASE = timedelta(seconds=15)
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Running:
    """A claim in this process's hands. `lost` is set when the lease is gone: the action must stop."""

    claim: Claim
    probe: bool = False
    lost: Event = field(default_factory=Event)
    began: float = field(default_factory=time.monotonic)

    def cancelled(self) -> bool:
        return self.lost.is_set() or time.monotonic() - self.began > self.claim.timeout


@dataclass(frozen=True)
class Attempts:
    """What running an attempt needs."""

    store: Store
    registry: Registry
    owner: str
    scratch: Path

    def run(self, running: Running) -> None:
        """Run one claim to its end. Nothing escapes: an attempt always ends on record."""
        claim = running.claim
        try:
            if running.probe:
                self._record_probe(running, self._probe(running))
            else:
                self._record(claim, judge(claim, self._act(running)))
        except Transient as error:
            fault = Fault(kind="transient", message=str(error), after=error.after)
            self._failed(running, AnyReport(status="failed", summary=str(error), error=fault))
        except Permanent as error:
            self._failed(running, AnyReport.failed(str(error)))
        except Exception as error:
            logger.exception("plan=%s step=%s attempt=%s broke", claim.plan_id, claim.key, claim.attempt)
            self._broke(running, f"{claim.worker} broke: {type(error).__name__}: {error}")

    def _act(self, running: Running) -> AnyReport:
        claim = running.claim
        worker, action, params_type = self.registry.action(claim.worker, claim.action)
        params = _valid(params_type, claim)
        if "before" in action.hooks and not claim.previous:
            self.store.start(claim, action.hooks["before"](worker, params, self._context(running)))
        report: Report[Any] = action.run(worker, params, self._context(running))
        return AnyReport.model_validate(report.model_dump(mode="json"))

    def _probe(self, running: Running) -> AnyReport | Verdict:
        claim = running.claim
        worker, action, params_type = self.registry.action(claim.worker, claim.action)
        params = _valid(params_type, claim)
        found = action.hooks["probe"](worker, params, self._context(running))
        return (
            found if isinstance(found, Verdict) else AnyReport.model_validate(found.model_dump(mode="json"))
        )

    def _context(self, running: Running) -> Context:
        claim = running.claim
        scratch = self.scratch / f"plan-{claim.plan_id}" / claim.key / str(claim.attempt)
        scratch.mkdir(parents=True, exist_ok=True)
        return Context(
            plan=claim.plan_id, step=claim.key, attempt=claim.attempt, key=claim.token, scratch=scratch,
            now=self.store.clock, previous=dict(claim.previous), cancelled=running.cancelled,
        )  # fmt: skip

    def _record(self, claim: Claim, judged: tuple[str, AnyReport, float]) -> None:
        verb, report, wait = judged
        if verb == "retry":
            self.store.retry(claim, report, actor=self.owner, wait=wait)
        else:
            end: Callable[..., bool] = self.store.succeed if verb == "succeed" else self.store.fail
            end(claim, report, actor=self.owner)

    def _record_probe(self, running: Running, found: AnyReport | Verdict) -> None:
        claim = running.claim
        if found is Verdict.cannot_tell:
            self.store.cannot_tell(claim, actor=self.owner, reason="the worker cannot tell whether it ran")
        elif isinstance(found, Verdict):
            again = AnyReport.failed("interrupted; it did not run, so it runs now", kind="transient")
            self.store.retry(claim, again, actor=self.owner, wait=0)
        else:
            self._record(claim, judge(claim, found))

    def _failed(self, running: Running, report: AnyReport) -> None:
        if running.probe:
            self.store.cannot_tell(running.claim, actor=self.owner, reason=report.summary)
        else:
            self._record(running.claim, judge(running.claim, report))

    def _broke(self, running: Running, message: str) -> None:
        """A worker's bug says nothing about the effect: only a repeat-safe step may be called failed."""
        if running.probe or running.claim.repeat == "safe":
            self._failed(running, AnyReport.failed(message))
        else:
            self.store.doubt(running.claim, actor=self.owner, reason=message)


def _valid(params_type: type[Params], claim: Claim) -> Params:
    """The parameters; refused ones are a failure before any effect. Elsewhere such an error is a bug."""
    try:
        return params_type.model_validate(claim.parameters)
    except ValidationError as error:
        raise Permanent(f"{claim.worker}.{claim.action} refused its parameters: {error}") from None


def judge(claim: Claim, report: AnyReport) -> tuple[str, AnyReport, float]:
    """The verb that a report earns. A false criterion is a failure, whatever the worker says."""
    if report.status == "succeeded":
        missed = [c for c in claim.criteria if not holds(c, report.data or {})]
        if not missed:
            return "succeed", report, 0.0
        names = ", ".join(c.name or f"{c.field} {c.op} {c.value}" for c in missed)
        summary = f"{report.summary} (but not met: {names})"
        report = report.model_copy(update={"status": "failed", "summary": summary})
    wait = retry_wait(claim, report)
    return ("fail", report, 0.0) if wait is None else ("retry", report, wait)


def retry_wait(claim: Claim, report: AnyReport) -> float | None:
    """Seconds until the next try, or None. Doubling, with jitter, never sooner than the worker asked."""
    if report.error is None or report.error.kind != "transient":
        return None
    if claim.repeat != "safe" or claim.attempt >= claim.retries.attempts:
        return None
    jitter = random.uniform(0.8, 1.2)  # noqa: S311 # spreads retries; guards nothing
    return max(claim.retries.wait * 2.0 ** (claim.attempt - 1) * jitter, report.error.after or 0.0)
