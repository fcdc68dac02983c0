"""One run: a person approves, processes die where they were told to, others take over, the oracle looks."""

import os
import signal
import time
from dataclasses import dataclass, field

from bot.turns.rounds import tend
from storage.contract.states import PlanState
from storage.database.tables import Event
from storage.reading.plan_view import PlanView
from tests.crash.oracle import Fault, Seen, faults
from tests.crash.stage import Stage
from tests.support.fakes import targets

BREATH = 0.02
DRAINED = 120.0  # seconds in which whoever was told to stop has ended
OVER = frozenset({PlanState.done, PlanState.proposed})  # proposed: the approval is lost, and all is over


@dataclass(frozen=True)
class Death:
    """How a process ends before its time: at a point, or after some seconds. `frozen`: it comes back."""

    point: str = ""
    after: float = 0.0
    frozen: bool = False

    def __str__(self) -> str:
        where = self.point or f"after {self.after * 1000:.0f} ms"
        return f"stopped {where}" if self.frozen else where


@dataclass
class Played:
    """What a run showed. `later` are the points that were reached after the last death."""

    kills: int
    later: list[str]
    faults: list[Fault]
    verbs: list[str]


@dataclass
class Play:
    """One run over a stage; each process that starts takes the next death."""

    stage: Stage
    variant: str
    deaths: list[Death]
    kills: int = 0
    seen: int = 0  # points of the trace that were reached before the last death
    plan_id: int = 0
    clicks: int = 0
    stopped: str = ""
    frozen: list[int] = field(default_factory=list)

    def run(self) -> Played:
        stage = self.stage
        self.plan_id = stage.propose(self.variant)
        self._click("approve")
        self._finish()
        for pid in self.frozen:
            self._thaw(pid)
        later = stage.points.reached()[self.seen :]
        seen = self._look()
        return Played(self.kills, later, faults(seen), [event.verb for event in seen.events])

    def _look(self) -> Seen:
        store, record = self.stage.store, self.stage.record
        view, events = store.view(self.plan_id), store.events(self.plan_id)
        acked = self.stage.acked(1)  # the first click approves
        return Seen(self.variant, view, events, record.effects(), targets(store), acked, self.stopped)

    def _finish(self) -> None:
        """Workers run until the plan ends; whoever dies is followed by another."""
        until, pid, ends = time.monotonic() + self.stage.patience, 0, 0.0
        while time.monotonic() < until and (view := self._view()).state not in OVER:
            self._answer(view)
            pid, ends = (pid, ends) if pid else self._start()
            if ends and time.monotonic() > ends:
                os.kill(pid, signal.SIGKILL)
            pid = 0 if self._gone(pid) else pid
        self._end(pid)

    def _start(self) -> tuple[int, float]:
        death = self.deaths[0] if self.deaths else Death()
        how = signal.SIGSTOP if death.frozen else signal.SIGKILL
        freezes = bool(self.frozen) or any(one.frozen for one in self.deaths)
        pid = self.stage.workers(death.point, how, alone=self.stage.alone and not freezes)
        return pid, time.monotonic() + death.after if death.after else 0.0

    def _gone(self, pid: int) -> bool:
        """Whether the process has died or stands still; then its leases lapse."""
        found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if not found:
            time.sleep(BREATH)
            return False
        if os.WIFSTOPPED(status):
            self.frozen.append(pid)
            self.stopped = self.deaths[0].point
            self.stage.record.hold.touch()
        self._died(status)
        self.stage.let_leases_lapse()
        return True

    def _died(self, status: int) -> None:
        stopped = os.WIFSTOPPED(status)
        if not stopped and not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            raise RuntimeError(f"a child ended by itself, with status {status}; its words are above")
        self.kills += 1
        self.stage.let_claims_lapse()
        self.seen = len(self.stage.points.reached())
        del self.deaths[:1]

    def _view(self) -> PlanView:
        """The plan as it stands. The bot gives its permits; who stood still comes back in a takeover."""
        if self.frozen and any(event.data.get("attempt", 0) > 1 for event in self._taken()):
            self._thaw(self.frozen.pop())
        view = self.stage.store.view(self.plan_id)
        if not any(
            step.state in {"running", "unknown"} for step in view.steps
        ):  # what waits may need a permit
            tend(self.stage.bot(self.stage.store))
        return view

    def _taken(self) -> list[Event]:
        return [e for e in self.stage.store.events(self.plan_id) if e.verb in {"claim", "look"}]

    def _thaw(self, pid: int) -> None:
        """Let a stopped process go on, say what it has to say, and end."""
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
        self._wait(pid)
        self.stage.record.hold.unlink(missing_ok=True)

    def _answer(self, view: PlanView) -> None:
        """The person says truthfully what the witness knows, and has failed steps tried again."""
        for step in view.steps:
            key = step.spec.id
            if step.state == "unknown" and not step.probing:
                self._click(f"resolve_{'ran' if self.stage.record.has(key) else 'did_not'}", key)
            elif view.state == PlanState.stalled and "retry" in step.choices:
                self._click("answer_retry", key)

    def _click(self, action: str, step: str = "") -> None:
        """Who sees no ack clicks again; who saw one does not. A bot that dies is followed by another."""
        self.clicks += 1
        status = -1
        while status:
            death = self.deaths[0] if self.deaths else Death()
            target = "" if death.frozen else death.point
            pid = self.stage.click(self.plan_id, action, step, self.clicks, target)
            _, status = os.waitpid(pid, 0)
            if status:
                self._died(status)

    def _end(self, pid: int) -> None:
        if pid:
            os.kill(pid, signal.SIGTERM)
            self._wait(pid)

    def _wait(self, pid: int) -> None:
        """Until it has ended. On its way out it may still reach its point."""
        status, until = -1, time.monotonic() + DRAINED
        while status:
            found, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
            if not found:
                status = self._breathe(pid, until)
                continue
            if status:
                self._died(status)
            if os.WIFSIGNALED(status):
                return
            if os.WIFSTOPPED(status):
                os.kill(pid, signal.SIGCONT)

    def _breathe(self, pid: int, until: float) -> int:
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            raise RuntimeError(f"a process that was told to stop has not ended after {DRAINED:.0f} s")
        time.sleep(BREATH)
        return -1
