"""The alarm clock: APScheduler wakes the loop when a step's time comes; a thread pool runs attempts."""

import logging
import time
from collections.abc import Callable
from concurrent import futures
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from storage.clock import wall
from storage.database.commit_notices import CommitListener
from storage.errors import Unavailable
from storage.monitoring.health import Pulse
from storage.signal_flag import Flag
from storage.steps.claims import Ending
from storage.steps.planning_reads import Inquiry
from storage.steps.previews import Wanted
from workers.engine.attempt import LEASE, Attempts, Running
from workers.engine.carrier import Carrier
from workers.engine.planning_read import look
from workers.engine.preview import make
from workers.engine.schedule import Schedule
from workers.engine.turn import Crew, heartbeat, tend

TICK = 1.0
PULSE = {"turn": 30.0, "tick": 10.0}  # seconds that the loop and the scheduler may take for one turn
logger = logging.getLogger(__name__)


class Clock:
    """The loop of a workers process."""

    def __init__(
        self,
        attempts: Attempts,
        crew: Crew,
        carrier: Carrier,
        *,
        alone: bool,
        alive: Callable[[], None],
        orphaned: Callable[[], bool] = lambda: False,
        patience: float = 30.0,
    ) -> None:
        self.attempts, self.crew, self.alone, self.orphaned = attempts, crew, alone, orphaned
        self.carrier, self.patience, self.pulse = carrier, patience, Pulse(**PULSE)
        self._wake, self._stop, self._tick = Flag(), Flag(), Flag()
        self._until = 0.0  # how long to wait for what runs, once told to stop
        self._commits = CommitListener(attempts.store.engine, own=False)
        self._pool = futures.ThreadPoolExecutor(crew.total, "attempt")
        self._ended: SimpleQueue[tuple[Running, Ending | None]] = SimpleQueue()
        self._previewing: set[str] = set()
        self._endings: list[Ending] = []  # not yet on record
        self._turns = Lock()  # one at a time: the loop's, or a hand's
        self._hands = {"default": ThreadPoolExecutor(4), "previews": ThreadPoolExecutor(2)}
        self._scheduler = BackgroundScheduler(
            timezone="UTC",
            executors=self._hands,
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._schedule = Schedule(self._scheduler, attempts.store, self._wake.set)
        self._scheduler.add_job(self._ring, "interval", seconds=TICK, id="tick")
        beat = LEASE.total_seconds() / 3
        renew = partial(heartbeat, attempts, crew)
        self._scheduler.add_job(again_later(renew), "interval", seconds=beat, id="heartbeat")
        self._scheduler.add_job(again_later(alive), "interval", seconds=10, id="alive")
        keep = again_later(self._schedule.keep)
        self._scheduler.add_job(keep, "interval", seconds=TICK, id="keep", next_run_time=wall())

    def run(self) -> None:
        """Until `stop`: whenever something was committed, ended or is due, take a turn; then drain."""
        self._scheduler.start()
        self.carrier.start(self._wake.set)
        listening = Thread(target=self._listen, name="bell", daemon=True)
        listening.start()
        self._ring()
        while self._goes_on():
            self._take_turn()
        self._stop.set()
        self._drain()
        self._scheduler.shutdown(wait=False)  # while it waits, it holds a lock that a job may need to end
        for hands in self._hands.values():
            hands.shutdown(wait=True)
        listening.join()

    def _goes_on(self) -> bool:
        """Wait to be woken; whether there is a next turn."""
        # Twice: a process that was stopped, and goes on, finds its time over before its scheduler has run.
        if not (self._wake.wait(timeout=10 * TICK) or self._wake.wait(timeout=10 * TICK)):
            # The scheduler's thread can die silently; a process without an alarm clock must not live on.
            raise RuntimeError("the scheduler has stopped ticking")
        return not self._stop.is_set() and not self.orphaned()

    def stop(self, *, patience: float | None = None) -> None:
        """No new claims; attempts under way finish and report, as long as there is patience."""
        self._until = time.monotonic() + (self.patience if patience is None else patience)
        self._stop.set()
        self._wake.set()

    def _ring(self) -> None:
        self.pulse.beat("tick")
        self._tick.set()
        self._wake.set()

    def _take_turn(self) -> None:
        self._wake.clear()
        self.pulse.beat("turn")
        try:
            began = self.attempts.store.clock()
            with self._turns:
                if self._tick.is_set():
                    self._tick.clear()
                    self._start(tend(self.attempts, self.crew, alone=self.alone))
                    self._preview()
                claimed = self._turn()
            self._start(claimed)
            if not claimed:  # while there is work, the next turn comes anyhow
                self._schedule.set_next(began)
        except Unavailable as error:  # what has ended is kept, and put on record when the database is back
            logger.warning("the database does not answer, trying again: %s", error)

    def _turn(self) -> list[Running]:
        """What has ended goes on record; then what starts now."""
        self._collect()
        claimed = self.carrier.take(self._endings)
        self._endings.clear()
        return claimed

    def _preview(self) -> None:
        """Have wanted previews and planning reads made; each once, so that a slow one does not pile up."""
        for wanted in self.attempts.store.previews_wanted(self.attempts.registry.offers()):
            name = f"preview-{wanted.plan_id}-{wanted.revision}-{wanted.key}"
            if name not in self._previewing:
                self._previewing.add(name)
                self._scheduler.add_job(self._make, args=[name, wanted], id=name, executor="previews")

        for asked in self.attempts.store.inquiries(self.attempts.registry.offers()):
            name = f"look-{asked.plan_id}-{asked.number}"
            if name not in self._previewing:
                self._previewing.add(name)
                self._scheduler.add_job(self._look, args=[name, asked], id=name, executor="previews")

    def _make(self, name: str, wanted: Wanted) -> None:
        try:
            make(self.attempts, wanted)
        finally:
            self._previewing.discard(name)

    def _look(self, name: str, asked: Inquiry) -> None:
        try:
            look(self.attempts, asked)
        finally:
            self._previewing.discard(name)

    def _drain(self) -> None:
        """Let what runs finish. What takes longer is found by the next process, as after a crash."""
        self._until = self._until or time.monotonic() + self.patience
        self.carrier.stop()
        self._report()
        while (self.crew.members() or self._endings) and time.monotonic() < self._until:
            self._wake.wait(TICK)
            self._wake.clear()
            self._report()

    def _report(self) -> None:
        """What has ended goes on record; what cannot now is kept for the next time."""
        self.pulse.beat("turn")
        try:
            with self._turns:
                self._collect()
                self.attempts.store.turn(self._endings, self.attempts.taker, 0)
                self._endings.clear()
        except Unavailable as error:
            logger.warning("the database does not answer, trying again: %s", error)

    def _collect(self) -> None:
        while not self._ended.empty():
            running, ending = self._ended.get()
            self.crew.leave(running)
            self._endings += [ending] if ending else []

    def _start(self, started: list[Running]) -> None:
        for running in started:
            self._pool.submit(self._attempt, running)

    def _attempt(self, running: Running) -> None:
        """Run it, and then what follows from it, without waiting for the loop."""
        todo = [running]
        while todo:
            self._ended.put((todo[0], self._ran(todo[0])))
            todo = self._go_on()
            self._start(todo[1:])
        self._wake.set()

    def _ran(self, running: Running) -> Ending | None:
        """Whatever goes wrong, nobody holds on to it: its lease ends, and it is found as lost."""
        try:
            return self.attempts.run(running)
        except Exception:
            logger.exception("plan=%s step=%s has no ending", running.claim.plan_id, running.claim.key)
            return None

    def _go_on(self) -> list[Running]:
        """What starts now, if nothing else runs here that could share the commit, and nobody takes a turn.

        What goes wrong here, the loop meets again.
        """
        if self._stop.is_set() or len(self.crew.running) > 1 or not self._turns.acquire(blocking=False):
            return []
        try:
            return self._turn()
        except Unavailable:
            return []
        finally:
            self._turns.release()

    def _listen(self) -> None:
        while not self._stop.is_set():
            self._commits.wait(TICK, self._stop.is_set)
            self._wake.set()
        self._commits.close()


def again_later(work: Callable[[], None]) -> Callable[[], None]:
    """The same for a thread of the scheduler: while the database is away, a line says so."""

    def turn() -> None:
        try:
            work()
        except Unavailable as error:
            logger.warning("the database does not answer, trying again: %s", error)

    return turn
