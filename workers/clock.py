"""The alarm clock: APScheduler wakes the loop when a step is due, and runs attempts. Rows are the truth."""

import logging
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from storage.clock import wall
from storage.engine import Bell
from workers.attempt import LEASE, Attempts, Running
from workers.turn import Crew, heartbeat, take_turn

TICK = 1.0
logger = logging.getLogger(__name__)


class Clock:
    """The loop of a workers process."""

    def __init__(
        self,
        attempts: Attempts,
        crew: Crew,
        *,
        alone: bool,
        alive: Callable[[], None],
        orphaned: Callable[[], bool] = lambda: False,
    ) -> None:
        self.attempts, self.crew, self.alone, self.orphaned = attempts, crew, alone, orphaned
        self._wake, self._stop = Event(), Event()
        self._scheduler = BackgroundScheduler(
            timezone="UTC",
            executors={"default": ThreadPoolExecutor(4), "attempts": ThreadPoolExecutor(crew.size)},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._scheduler.add_job(self._wake.set, "interval", seconds=TICK, id="tick")
        beat = LEASE.total_seconds() / 3
        self._scheduler.add_job(heartbeat, "interval", [attempts, crew], seconds=beat, id="heartbeat")
        self._scheduler.add_job(alive, "interval", seconds=10, id="alive")

    def run(self) -> None:
        """Until `stop`: whenever something was committed or is due, take a turn."""
        self._scheduler.start()
        Thread(target=self._listen, name="bell", daemon=True).start()
        while not self._stop.is_set() and not self.orphaned():
            if not self._wake.wait(timeout=10 * TICK):
                # The scheduler's thread can die silently; a process without an alarm clock must not live on.
                raise RuntimeError("the scheduler has stopped ticking")
            self._wake.clear()
            for running in take_turn(self.attempts, self.crew, alone=self.alone):
                self._start(running)
            self._set_alarm()
        self._scheduler.shutdown(wait=True)

    def stop(self) -> None:
        """No new claims; attempts under way finish and report."""
        self._stop.set()
        self._wake.set()

    def _start(self, running: Running) -> None:
        name = f"step-{running.claim.step_id}-{running.claim.attempt}"
        self._scheduler.add_job(self._attempt, args=[running], executor="attempts", id=name)

    def _attempt(self, running: Running) -> None:
        try:
            self.attempts.run(running)
        finally:
            self.crew.leave(running)
            self._wake.set()

    def _listen(self) -> None:
        bell = Bell(self.attempts.store.engine)
        while not self._stop.is_set():
            bell.wait(TICK, self._stop.is_set)
            self._wake.set()

    def _set_alarm(self) -> None:
        due = self.attempts.store.next_due()
        if due is None:
            return
        left = due - self.attempts.store.clock()
        if left < timedelta(days=1):
            at = wall() + left  # the demo's clock may have jumped; the scheduler's never does
            self._scheduler.add_job(self._wake.set, "date", run_date=at, id="alarm", replace_existing=True)
