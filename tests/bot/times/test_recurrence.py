"""How often, as people say it: the right times, one run per local date, or one question."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.times.recurrence import Every, hourly, next_run, read
from storage.config import local
from storage.errors import BadTime
from tests.support.fakes import NOW

YORK = "America/New_York"
NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "cron", "zone", "wish"),
    [
        ("weekday at 02:00 in New York back up auth_prod", "0 2 * * 1-5", YORK, "back up auth_prod"),
        ("day at 2am ET back up", "0 2 * * *", YORK, "back up"),
        ("night at 3 back up auth_prod", "0 3 * * *", "UTC", "back up auth_prod"),
        ("Night at 11pm in Berlin check it", "0 23 * * *", "Europe/Berlin", "check it"),
        ("day at 2:30 pm in Berlin check it", "30 14 * * *", "Europe/Berlin", "check it"),
        *((f"{name} 06:00 report", f"0 6 * * {n}", "UTC", "report") for n, name in enumerate(NAMES)),
        ("month on the 28th at 6am prune", "0 6 28 * *", "UTC", "prune"),
        ("day at 02:00 in Ho Chi Minh back up", "0 2 * * *", "Asia/Ho_Chi_Minh", "back up"),
        ("monday, wednesday and friday at 06:00 run x", "0 6 * * 1,3,5", "UTC", "run x"),
        ("Weekend at 23:15 in Asia/Tokyo run x", "15 23 * * 6,0", "Asia/Tokyo", "run x"),
        ("month on the 1st at 6am prune", "0 6 1 * *", "UTC", "prune"),
        ("0 2 * * 1-5 in New York back up x", "0 2 * * 1-5", YORK, "back up x"),
        ("“15 4 1 * *” back up x", "15 4 1 * *", "UTC", "back up x"),
        ("day at 02:00 in staging run the tests", "0 2 * * *", "UTC", "in staging run the tests"),
    ],
)
def test_how_often_is_understood_as_people_say_it(said, cron, zone, wish):
    found = read(said, "UTC", NOW)

    assert (found.cron, found.zone, found.wish) == (cron, zone, wish)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("", "Please say how often, and what."),
        ("x" * 61, f"how often “{'x' * 60}” is."),
        ("day at 2am to 4 and then some more words", "not “day at 2am to 4 and then some m”."),
        ("day at 02:00 in Berlin", "What shall recur"),
        ("month on the 29th at 6am prune", "Not every month has a 29th"),
        ("now and then back up", "how often"),
        ("day at 2 back up", "morning or the afternoon"),
        ("night at 9 back up", "Is 9 at night 9pm, or 9am"),
        ("day at 25:00 back up", "There is no 25:00"),
        ("day at 02:00", "What shall recur"),
        ("day at 02:00 IST back up", "India, Ireland or Israel"),
        ("day at 02:00 in CST back up", "Chicago, China or Cuba"),
        ("day at 02:00 EST back up", "does not hold all year in New York"),
        ("day at 02:00 in gmt back up", "does not hold all year in London"),
        ("day 2am to 4am back up", "one time of the day"),
        ("day at 02:00-04:00 back up", "how often"),
        ("day between 2 and 4 am back up", "how often"),
        ("day at 2am - 4am back up", "one time of the day"),
        ("month on the 31st at 02:00 back up", "Not every month"),
        ("*/5 * * * * back up", "more than once a day"),
        ("0 2,14 * * * back up", "more than once a day"),
        ("0 99 * * * back up", "is not cron"),
        ("0 2 30 2 * back up", "no day that ever comes"),
    ],
)
def test_what_cannot_be_told_is_one_question(said, question):
    with pytest.raises(BadTime, match=question):
        read(said, "UTC", NOW)


def test_a_time_that_does_not_exist_is_a_run_with_a_problem_and_the_day_after_is_fine():
    gap = next_run("30 2 * * *", YORK, at("2027-03-13 12:00"))

    assert (gap.day, gap.at) == (date(2027, 3, 14), at("2027-03-14 07:30"))
    assert "does not exist" in gap.problem
    assert next_run("30 2 * * *", YORK, gap.at).at == at("2027-03-15 06:30")


def test_a_time_that_comes_twice_runs_once():
    first = next_run("30 1 * * *", YORK, at("2026-10-31 12:00"))

    assert (first.at, first.problem) == (at("2026-11-01 05:30"), "")
    assert next_run("30 1 * * *", YORK, first.at).day == date(2026, 11, 2)
    assert next_run("30 1 * * *", YORK, at("2026-11-01 06:10")).day == date(2026, 11, 2)


@settings(max_examples=60)
@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    hours=st.integers(0, 24 * 400),
    zone=st.sampled_from([YORK, "Europe/Dublin", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"]),
)
def test_runs_come_one_by_one_each_on_its_own_date(minute, hour, hours, zone):
    after = NOW + timedelta(hours=hours)
    one = next_run(f"{minute} {hour} * * *", zone, after)
    two = next_run(f"{minute} {hour} * * *", zone, one.at)

    assert after < one.at < two.at
    assert two.day == one.day + timedelta(days=1)
    there = local(one.at, zone)
    assert bool(one.problem) == ((there.hour, there.minute) != (hour, minute))


def test_how_often_is_kept_as_it_was_said():
    assert read("weekday at 02:00 in New York back up", "UTC", NOW).said == "weekday at 02:00"


@pytest.mark.parametrize(
    ("hours", "cron", "said"),
    [(1, "0 * * * *", "hour"), (2, "0 */2 * * *", "2 hours"), (24, "0 */24 * * *", "24 hours")],
)
def test_every_few_hours_is_every_so_many_of_a_day(hours, cron, said):
    assert hourly(hours, YORK, "run x") == Every("run x", cron, YORK, said)


@pytest.mark.parametrize("hours", [0, -2, 5, 7, 25, 48])
def test_hours_that_do_not_divide_the_day_are_asked_about(hours):
    with pytest.raises(BadTime, match=r"^Please name a number of hours that divides the day: 1, 2, .*12\.$"):
        hourly(hours, YORK, "run x")
