"""A job for each step that waits for its time. Rows are the truth, jobs are memory that wakes the loop."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from apscheduler.executors.debug import DebugExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.base import BaseScheduler

from storage.clock import wall
from storage.execution import Execution
from storage.settling.schedule import Scheduled

ALARMS = "alarms"  # the executor of these jobs: in the scheduler's own thread, for all they do is wake
AFRESH = 60.0  # seconds after which all rows are compared, whatever has stirred
NEARLY = timedelta(milliseconds=1)  # apart, and two instants are the same
NEVER = datetime.min.replace(tzinfo=UTC)


class Schedule:
    """The jobs of one workers process, kept in step with the rows: the next by its loop, all by a job."""

    def __init__(self, scheduler: BaseScheduler, store: Execution, wake: Callable[[], None]) -> None:
        self._scheduler, self._store, self._wake = scheduler, store, wake
        self._jobs: dict[str, datetime] = {}  # when each rings, by the wall clock
        self._seen: tuple[int, ...] = ()
        self._looked = float("-inf")
        scheduler.add_executor(DebugExecutor(), ALARMS)

    def set_next(self, after: datetime) -> None:
        """The soonest after an instant has its job before the loop sleeps, and so starts in time."""
        self._set(self._store.soonest(after))

    def keep(self) -> None:
        """All of them, if something has stirred. While it looks, the loop may set the next one."""
        now, seen, known = time.monotonic(), self._store.stirred(), {*self._jobs}
        if seen != self._seen or now - self._looked > AFRESH:
            waiting = self._store.scheduled()
            self._drop(known - {one.name for one in waiting})
            self._set(waiting)
            self._seen, self._looked = seen, now

    def _set(self, waiting: Sequence[Scheduled]) -> None:
        shift = wall() - self._store.clock()  # the demo's clock may have jumped; the scheduler's never does
        rings = {one.name: one.at + shift for one in waiting}
        for name, at in rings.items():
            if abs(at - self._jobs.get(name, NEVER)) > NEARLY:
                self._jobs[name] = at
                how = {"id": name, "executor": ALARMS, "replace_existing": True}
                self._scheduler.add_job(self._wake, "date", run_date=at, **how)

    def _drop(self, names: set[str]) -> None:
        """These wait no longer. One whose time has come rings by itself."""
        for name in names:
            if self._jobs.pop(name) > wall():
                with suppress(JobLookupError):
                    self._scheduler.remove_job(name)
