"""A cron job for each recurring plan, in the process whose act it is to ask for it.

Rows are the truth, jobs are memory: one only has the rows looked at in time. The round stands behind it.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from bot.context import Bot
from bot.times.recurrence import next_run
from bot.turns.recurring_runs import ahead, recur
from storage.clock import wall
from storage.database.tables import Recurring
from storage.errors import BadTime, SignoffError

LOOK = 1.0  # seconds between two looks at what recurs
JUMP = timedelta(seconds=1)  # that the demo's clock moves at least
logger = logging.getLogger(__name__)


class Cron(BaseTrigger):  # type: ignore[misc] # APScheduler carries no types
    """When one recurs. APScheduler's own cron comes twice in autumn, and an hour late in spring."""

    def __init__(self, one: Recurring, shift: timedelta) -> None:
        self._one, self._shift = one, shift  # of the wall clock, which is the scheduler's, from ours

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
        one, shift = self._one, self._shift
        if previous is None:
            return one.next_at + shift if one.next_at else None
        try:
            return next_run(one.cron, one.zone, previous - shift).at + shift
        except BadTime:
            return None  # no more jobs: the look pauses it, and says why


class CronJobs:
    """The jobs of one bot, kept in step with the rows."""

    def __init__(self, bot: Bot) -> None:
        self._bot, self._known = bot, dict[str, tuple[object, ...]]()
        self._shift = timedelta()
        self._hands = ThreadPoolExecutor()
        self.scheduler = BackgroundScheduler(
            timezone="UTC",
            executors={"default": self._hands},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self.scheduler.add_job(self._keep, "interval", seconds=LOOK, id="keep", next_run_time=wall())

    def keep(self) -> None:
        """A job for each that is active, at the time that its row names."""
        active = {f"recurring-{one.id}": one for one in self._bot.store.recurring() if one.next_at}
        for name in self._known.keys() - active.keys():
            self._known.pop(name)
            if self.scheduler.get_job(name):
                self.scheduler.remove_job(name)
        shift = wall() - self._bot.store.clock()
        self._shift = shift if abs(shift - self._shift) > JUMP else self._shift
        for name, one in active.items():
            facts = (one.cron, one.zone, one.next_at, self._shift)
            if self._known.get(name) != facts:
                self._known[name] = facts
                early = self._shift - ahead(self._bot)  # it is planned and shown before its time
                self.scheduler.add_job(self._ring, Cron(one, early), id=name, replace_existing=True)

    def end(self) -> None:
        """When its jobs have ended; the scheduler itself waits with a lock that they may need to end."""
        self.scheduler.shutdown(wait=False)
        self._hands.shutdown(wait=True)

    def _keep(self) -> None:
        _safely(self.keep)

    def _ring(self) -> None:
        _safely(lambda: recur(self._bot))


def _safely(work: Callable[[], None]) -> None:
    """What goes wrong here is met again by the next look, or by the bot's round."""
    try:
        work()
    except SignoffError as error:
        logger.info("what recurs is looked at again: %s", error)
    except Exception:
        logger.exception("looking at what recurs broke")


@contextmanager
def ringing(bot: Bot) -> Iterator[CronJobs]:
    """While the bot lives."""
    jobs = CronJobs(bot)
    jobs.scheduler.start()
    try:
        yield jobs
    finally:
        jobs.end()
