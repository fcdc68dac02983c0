"""A cron job for each recurring plan: at the row's time, once, and as exact as the rows are."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Event, Thread, Timer
from types import SimpleNamespace

import pytest

from bot.times.recurrence import next_run
from bot.turns import cron_jobs
from bot.turns.cron_jobs import Cron, CronJobs, ringing
from storage.database.tables import Recurring
from storage.errors import Unavailable
from tests.support.carriers import until
from tests.support.fakes import NOW
from tests.support.samples.recurring import Desk
from tests.support.store import Store


@pytest.fixture
def desk(on_disk: Store) -> Desk:
    return Desk(on_disk)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch, clock) -> None:
    """The wall clock shows what the store's does."""
    monkeypatch.setattr(cron_jobs, "wall", lambda: clock.now)


def times(jobs: CronJobs) -> dict[str, datetime | None]:
    """Of jobs in a scheduler that was not started."""
    jobs.keep()
    recurring = [job for job in jobs.scheduler.get_jobs() if job.id != "keep"]
    return {job.id: job.trigger.get_next_fire_time(None, NOW) for job in recurring}


def test_each_recurring_plan_is_a_job_at_the_time_of_its_row(desk, clock, still):
    first, second = desk.sets_up(), desk.sets_up("every weekday at 06:30 in Berlin deploy a")

    assert times(CronJobs(desk.bot)) == {"recurring-1": first, "recurring-2": second}


def test_jobs_follow_what_people_say(desk, clock, still):
    jobs, first = CronJobs(desk.bot), desk.sets_up()
    desk.sets_up()
    assert [*times(jobs)] == ["recurring-1", "recurring-2"]
    desk.says("schedules pause 1")
    assert [*times(jobs)] == ["recurring-2"]
    desk.says("schedules resume 1")
    desk.says("schedules remove 2")

    assert times(jobs) == {"recurring-1": first}


def test_a_job_moves_on_when_its_run_was_asked_for(desk, clock, still):
    jobs, first = CronJobs(desk.bot), desk.sets_up()
    times(jobs)
    clock.now = first
    desk.turn()

    assert times(jobs) == {"recurring-1": first + timedelta(days=1)}


def test_the_rows_are_looked_at_when_the_time_comes(desk, monkeypatch, clock):
    monkeypatch.setattr(cron_jobs, "LOOK", 0.05)
    desk.store.clock = lambda: clock.now
    at = desk.sets_up()
    clock.now = at - timedelta(hours=1)
    with ringing(desk.bot) as jobs:
        until(lambda: jobs.scheduler.get_job("recurring-1"), "the job")
        assert desk.store.recent() == []
        clock.now = at

        until(lambda: [view.text for view in desk.store.recent()] == ["deploy a"], "the run")
    assert desk.store.recurring()[0].next_at == at + timedelta(days=1)


def test_a_database_that_is_away_ends_no_job(desk, monkeypatch, clock):
    monkeypatch.setattr(cron_jobs, "LOOK", 0.02)
    desk.sets_up()
    asked, recurring = [], desk.store.recurring

    def away():
        asked.append(1)
        if len(asked) < 3:
            raise Unavailable("away")
        return recurring()

    monkeypatch.setattr(desk.store, "recurring", away)
    with ringing(desk.bot) as jobs:
        until(lambda: jobs.scheduler.get_job("recurring-1"), "the job, once the database is back")


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"])
def test_a_job_comes_when_the_rows_say_over_a_whole_year(zone):
    """Once on each local date, also where APScheduler's own cron comes twice or an hour late."""
    start = datetime(2027, 1, 1, tzinfo=UTC)
    run = next_run("30 2 * * *", zone, start)
    one = Recurring(cron="30 2 * * *", zone=zone, next_at=run.at, state="active", text="", said="", team="",
                    user="", channel="", made_at=start)  # fmt: skip
    trigger, fired, days = Cron(one, timedelta()), None, []
    for _ in range(366):
        fired = trigger.get_next_fire_time(fired, start)
        assert fired == run.at
        days.append(run.day)
        run = next_run("30 2 * * *", zone, run.at)

    assert len({*days}) == len(days) == 366


def test_times_that_are_no_longer_taken_are_looked_at_once(desk, clock, still):
    jobs, made = CronJobs(desk.bot), {"said": "", "zone": "UTC", "team": "T", "user": "ANN", "channel": "C1"}
    desk.store.recur("deploy b", cron="0 2 * * R", next_at=NOW, **made)
    jobs.keep()
    trigger = jobs.scheduler.get_job("recurring-1").trigger
    assert trigger.get_next_fire_time(NOW, NOW) is None
    jobs.scheduler.remove_job("recurring-1")  # as the scheduler does then
    desk.turn()

    assert times(jobs) == {}


def test_a_look_that_is_still_at_work_does_not_keep_the_bot_from_its_end(desk, monkeypatch):
    desk.sets_up()
    looking, ending, over = Event(), Event(), Event()
    recurring = desk.bot.store.recurring

    def slowly() -> list[Recurring]:
        looking.set()
        ending.wait(10)
        return recurring()

    def lives() -> None:
        with ringing(desk.bot) as jobs:
            monkeypatch.setattr(jobs, "_bot", replace(desk.bot, store=SimpleNamespace(
                recurring=slowly, clock=desk.bot.store.clock, due_recurring=lambda early: [],
            )))  # fmt: skip
            assert looking.wait(10)
            Timer(0.3, ending.set).start()
        over.set()

    Thread(target=lives, daemon=True).start()

    assert over.wait(10)
