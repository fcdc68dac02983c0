"""A job for each step that waits for its time: as the rows say, and no more than a memory of them."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from apscheduler.schedulers.background import BackgroundScheduler

from storage.clock import wall
from tests.conftest import emptied
from tests.support.carriers import Shifted, Site, until
from tests.support.fakes import NOW, approved, later, plan_spec, propose, step
from tests.support.store import Store
from workers.engine import clock as engine_clock
from workers.engine import schedule
from workers.engine.schedule import Schedule

HOUR = timedelta(hours=1)
WALL = wall()


class Rung:
    """A schedule whose scheduler stands still: its jobs can be looked at."""

    def __init__(self, store: Store) -> None:
        self.scheduler, self.store = BackgroundScheduler(timezone="UTC"), store
        self.schedule = Schedule(self.scheduler, store, lambda: None)

    def jobs(self) -> dict[str, datetime]:
        """Each job's time, as the store's clock will show it then."""
        shift = self.store.clock() - WALL
        return {job.id: job.trigger.run_date + shift for job in self.scheduler.get_jobs()}

    def kept(self) -> dict[str, datetime]:
        self.schedule.keep()
        return self.jobs()


@pytest.fixture
def rung(lite: Store, monkeypatch: pytest.MonkeyPatch) -> Rung:
    """The wall clock stands still, as the store's does; they show different times."""
    monkeypatch.setattr(schedule, "wall", lambda: WALL)
    return Rung(lite)


def timed(key: str, hours: int, **fields: object):
    return step(key, schedule={"not_before": later(hours=hours)}, **fields)


def test_each_step_with_a_time_is_a_job_of_its_own_and_what_starts_at_once_is_none(rung):
    plan_id = approved(rung.store, timed("deploy", 8), step("now"), timed("check", 9, depends_on=("deploy",)))

    assert rung.kept() == {f"plan-{plan_id}:deploy": later(hours=8), f"plan-{plan_id}:check": later(hours=9)}


def test_what_nobody_approved_yet_is_no_job(rung):
    propose(rung.store, plan_spec(timed("deploy", 8)))

    assert rung.kept() == {}


def test_jobs_follow_what_is_committed(rung, clock):
    first = approved(rung.store, timed("deploy", 8))
    rung.kept()
    second = approved(rung.store, timed("deploy", 2))
    rung.store.cancel(first, user="ANN", reason="not today")

    assert rung.kept() == {f"plan-{second}:deploy": later(hours=2)}
    clock.advance(hours=2)
    approved(rung.store, step("anything"))
    assert rung.kept() == {}


def test_the_soonest_is_set_without_a_look_at_all_the_others(rung):
    approved(rung.store, timed("late", 8))
    plan_id = approved(rung.store, timed("soon", 2))

    rung.schedule.set_next(NOW)

    assert rung.jobs() == {f"plan-{plan_id}:soon": later(hours=2)}


def test_what_became_due_during_the_turn_rings_at_once(rung, clock):
    approved(rung.store, step("soon", schedule={"not_before": later(seconds=1)}))
    clock.advance(2)

    rung.schedule.set_next(NOW)

    assert [job.trigger.run_date < WALL for job in rung.scheduler.get_jobs()] == [True]


def test_nothing_is_read_again_while_nothing_stirs(rung, monkeypatch):
    approved(rung.store, timed("deploy", 8))
    rung.kept()
    read = []
    monkeypatch.setattr(rung.store, "scheduled", lambda: read.append(1) or [])

    rung.schedule.keep()
    quiet = [*read]
    monkeypatch.setattr(schedule, "AFRESH", -1.0)
    rung.schedule.keep()

    assert (quiet, read) == ([], [1])


def test_what_the_loop_sets_while_all_rows_are_read_stays_set(rung, monkeypatch):
    approved(rung.store, timed("late", 8))
    read = rung.store.scheduled

    def reading():
        found = read()
        approved(rung.store, timed("soon", 2))
        rung.schedule.set_next(NOW)
        return found

    monkeypatch.setattr(rung.store, "scheduled", reading)

    assert rung.kept() == {"plan-1:late": later(hours=8), "plan-2:soon": later(hours=2)}


def test_when_the_clock_jumps_the_jobs_jump_with_it(rung, clock):
    plan_id = approved(rung.store, timed("deploy", 8))
    rung.kept()
    clock.advance(hours=5)
    approved(rung.store, step("anything"))

    assert rung.kept() == {f"plan-{plan_id}:deploy": later(hours=8)}


# in a workers process


@pytest.fixture
def site(sqlite_engine, tmp_path: Path) -> Iterator[Site]:
    found = Site(Store(emptied(sqlite_engine), Shifted()), "local", tmp_path)
    yield found
    found.close()


def names(clock: engine_clock.Clock) -> set[str]:
    return {job.id for job in clock._scheduler.get_jobs() if job.id.startswith("plan-")}


def test_jobs_are_made_from_the_rows_at_start_and_by_commits_afterwards(site):
    at = site.store.clock() + HOUR
    first = site.approved(site.step("s1", schedule={"not_before": at}))
    before = site.process("w1")
    until(lambda: names(before) == {f"plan-{first}:s1"}, "the job of what was there")
    second = site.approved(site.step("s1", schedule={"not_before": at}))
    until(lambda: names(before) == {f"plan-{first}:s1", f"plan-{second}:s1"}, "the job of what came")
    site.store.cancel(first, user="ANN", reason="not today")
    until(lambda: names(before) == {f"plan-{second}:s1"}, "the job of what was cancelled to go")
    before.stop()
    after = site.process("w2")

    until(lambda: names(after) == {f"plan-{second}:s1"}, "a new process to know it")
    assert site.seen() == []


def test_a_job_alone_has_its_step_claimed(site, monkeypatch):
    monkeypatch.setattr(engine_clock, "TICK", 600.0)  # no tick comes, and no look at commits without one
    at = site.store.clock() + timedelta(seconds=1)
    plan_id = site.approved(site.step("s1", schedule={"not_before": at}))
    site.process()
    site.done(plan_id)

    assert site.seen() == ["s1"]
