"""One attempt: run the action (or its probe), judge what it answered, and put that on record."""

import logging
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from threading import Event
from typing import TypeVar

from pydantic import ValidationError

from storage.contract.report import CHECKPOINT, AnyReport, Fault, storable
from storage.contract.spec import holds
from storage.errors import Unavailable
from storage.execution import Execution
from storage.steps.claims import Claim, Ending, Taker
from storage.steps.previews import basis_hash
from workers.base import Asks, Context, Params, Permanent, Preview, Transient, Unsure, Verdict
from workers.engine.artefacts import only_fit
from workers.registry import Registry

LEASE = timedelta(seconds=15)
PAUSE = 2.0  # seconds between two words about progress
AGAIN = 0.5  # seconds after which a database that is away is asked again
T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Running:
    """A claim that this process holds. `lost` is set when the lease is gone: the action must stop."""

    claim: Claim
    probe: bool = False
    lost: Event = field(default_factory=Event)
    began: float = field(default_factory=time.monotonic)

    def cancelled(self) -> bool:
        return self.lost.is_set() or time.monotonic() - self.began > self.claim.timeout


@dataclass(frozen=True)
class Attempts:
    """What running an attempt needs."""

    store: Execution
    registry: Registry
    owner: str
    scratch: Path

    @cached_property
    def taker(self) -> Taker:
        contracts = {(one.worker, one.action): one for one in self.registry.contracts()}
        return Taker(self.owner, contracts, LEASE)

    def run(self, running: Running) -> Ending | None:
        """Run one claim to its end. Nothing escapes: it has an ending, or a doubt on record."""
        claim = running.claim
        try:
            if running.probe:
                return self._found(running, self._probe(running))
            return judge(claim, self._act(running))
        except Transient as error:
            fault = Fault(kind="transient", message=str(error), after=error.after)
            report = AnyReport(status="failed", summary=str(error), error=fault)
            return self._failed(running, storable(report))
        except Lost:
            logger.warning("plan=%s step=%s is no longer ours; it ends here", claim.plan_id, claim.key)
            return None
        except Unsure as error:
            return self._broke(running, storable(AnyReport.failed(str(error))))
        except (Asks, Moved) as error:
            return Ending(claim, "fail", question(error), choice="ask")
        except Permanent as error:
            return self._failed(running, storable(AnyReport.failed(str(error))))
        except Exception as error:
            logger.exception("plan=%s step=%s attempt=%s broke", claim.plan_id, claim.key, claim.attempt)
            broken = AnyReport.failed(f"{claim.worker} broke: {type(error).__name__}: {error}")
            return self._broke(running, storable(broken))

    def _act(self, running: Running) -> AnyReport:
        claim = running.claim
        worker, action, params_type = self.registry.action(claim.worker, claim.action)
        params, context = _valid(params_type, claim), self._context(running)
        if claim.basis:
            _check_unmoved(claim, action.hooks["preview"](worker, params, context))
        if claim.basis or ("before" in action.hooks and not claim.previous):
            found = action.hooks["before"](worker, params, context) if "before" in action.hooks else {}
            patiently(partial(self.store.start, claim, claim.previous or found))
        if (action.changes or action.drafts) and not patiently(partial(self.store.holds, claim)):
            raise Lost
        return only_fit(storable(action.run(worker, params, context)), context.place.parent)

    def _probe(self, running: Running) -> AnyReport | Verdict:
        claim = running.claim
        worker, action, params_type = self.registry.action(claim.worker, claim.action)
        params = _valid(params_type, claim)
        context = self._context(running)
        found = action.hooks["probe"](worker, params, context)
        return found if isinstance(found, Verdict) else only_fit(storable(found), context.place.parent)

    def _context(self, running: Running) -> Context:
        claim = running.claim
        place = self.scratch / f"plan-{claim.plan_id}" / claim.key / str(claim.attempt)
        return Context(
            plan=claim.plan_id, step=claim.key, attempt=claim.attempt, key=claim.token, place=place,
            now=self.store.clock, previous=dict(claim.previous), cancelled=running.cancelled,
            progress=self._progress(running), hold=partial(self._hold, claim),
            approvers=partial(patiently, partial(self.store.approvers, claim.plan_id)),
        )  # fmt: skip

    def _hold(self, claim: Claim) -> None:
        """A process that stood still inside an action does nothing more, if somebody else has found its step.

        Renewed first: for the length of a lease from here, nobody does.
        """
        patiently(partial(self.store.renew, self.owner, LEASE, {claim.step_id}))
        if not patiently(partial(self.store.holds, claim)):
            raise Lost

    def _progress(self, running: Running) -> Callable[[str], None]:
        """How an action says how far it is: put on record now and then."""
        told = [running.began - PAUSE]

        def tell(text: str) -> None:
            if time.monotonic() - told[0] >= PAUSE:
                told[0] = time.monotonic()
                with suppress(Unavailable):  # the next word will do
                    self.store.advance(running.claim, text)

        return tell

    def _found(self, running: Running, found: AnyReport | Verdict) -> Ending | None:
        claim = running.claim
        if found is Verdict.cannot_tell:
            self._unknown(claim, "the worker cannot tell whether it ran")
            return None
        if isinstance(found, Verdict):
            again = AnyReport.failed("interrupted before it was done, so it runs again", kind="transient")
            return Ending(claim, "retry", again)
        return judge(claim, found)

    def _failed(self, running: Running, report: AnyReport) -> Ending | None:
        if not running.probe:
            return judge(running.claim, report)
        self._unknown(running.claim, report.summary)
        return None

    def _unknown(self, claim: Claim, reason: str) -> None:
        patiently(partial(self.store.cannot_tell, claim, actor=self.owner, reason=reason))

    def _broke(self, running: Running, report: AnyReport) -> Ending | None:
        """A worker's bug says nothing about the effect: only a repeat-safe step may be called failed."""
        if running.probe or running.claim.repeat == "safe":
            return self._failed(running, report)
        patiently(partial(self.store.doubt, running.claim, actor=self.owner, reason=report.summary))
        return None


def patiently(ask: Callable[[], T]) -> T:
    """Ask our own database until it answers: that it is away says nothing about a step.

    Whether the step is still ours meanwhile, it says itself.
    """
    while True:
        try:
            return ask()
        except Unavailable as error:
            logger.warning("an attempt waits for the database: %s", error)
            time.sleep(AGAIN)


class Lost(Exception):
    """This process slept past its lease, and the step belongs to somebody else now."""


class Moved(Exception):
    """What people saw before they approved is no longer what would happen. Nothing was done."""

    def __init__(self, now: Preview) -> None:
        summary = f"not started: what it would do has changed since it was approved. Now: {now.text}"
        failed = AnyReport.failed(summary, {"basis": basis_hash(now.basis)})
        self.report = storable(failed)
        super().__init__(summary)


def question(error: Asks | Moved) -> AnyReport:
    """What a person must read before it goes on."""
    return (
        error.report
        if isinstance(error, Moved)
        else storable(AnyReport.failed(str(error), {CHECKPOINT: True}))
    )


def _check_unmoved(claim: Claim, now: Preview) -> None:
    if basis_hash(now.basis) != claim.basis:
        raise Moved(now)


def _valid(params_type: type[Params], claim: Claim) -> Params:
    """The parameters; refused ones are a failure before any effect. Elsewhere such an error is a bug."""
    try:
        return params_type.model_validate(claim.parameters)
    except ValidationError as error:
        raise Permanent(f"{claim.worker}.{claim.action} refused its parameters: {error}") from None


def judge(claim: Claim, report: AnyReport) -> Ending:
    """What a report earns. A false criterion is a failure, whatever the worker says."""
    if report.status == "succeeded":
        missed = [c for c in claim.criteria if not holds(c, report.data or {})]
        if not missed:
            return Ending(claim, "succeed", report)
        names = ", ".join(c.name or f"{c.field} {c.op} {c.value}" for c in missed)
        summary = f"{report.summary} (but not met: {names})"
        report = report.model_copy(update={"status": "failed", "summary": summary})
    wait = retry_wait(claim, report)
    return Ending(claim, "fail", report) if wait is None else Ending(claim, "retry", report, wait)


def retry_wait(claim: Claim, report: AnyReport) -> float | None:
    """Seconds until the next try, or None. Doubling, with jitter, never sooner than the worker asked."""
    if report.error is None or report.error.kind != "transient":
        return None
    if claim.repeat != "safe" or claim.attempt >= claim.retries.attempts:
        return None
    jitter = random.uniform(0.8, 1.2)  # noqa: S311 # spreads retries; guards nothing
    return max(claim.retries.wait * 2.0 ** (claim.attempt - 1) * jitter, report.error.after or 0.0)
