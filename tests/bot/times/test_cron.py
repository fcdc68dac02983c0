"""Five fields of cron: read as croniter reads them, and the same times, one after another."""

from datetime import datetime

import pytest
from croniter import CroniterError, croniter
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.times.cron import parse
from storage.errors import BadTime

RUNS = 4
wall = datetime.fromisoformat


def ours(said: str, start: datetime) -> list[datetime | str] | str:
    """The next times; or whether it is no cron, or never comes."""
    found = list[datetime]()
    try:
        cron = parse(said)
        for _ in range(RUNS):
            found.append(cron.after(found[-1] if found else start))
    except BadTime as error:
        return [*found, "never"] if "no day that ever comes" in str(error) else "no cron"
    return found


def theirs(said: str, start: datetime) -> list[datetime | str] | str:
    if not croniter.is_valid(said):
        return "no cron"
    walls, found = croniter(said, start), list[datetime]()
    try:
        for _ in range(RUNS):
            found.append(walls.get_next(datetime))
    except CroniterError:
        return [*found, "never"]
    return found


MONTHS = ["jan", "feb", "Mar", "APR", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "Mon", "TUE", "wed", "thu", "fri", "sat"]


def numbers(low: int, high: int, names: list[str]) -> st.SearchStrategy[str]:
    """Mostly those of the field; now and then one that is not."""
    inside = st.integers(low, high).map(str)
    named = st.sampled_from(names) if names else inside
    return st.one_of(inside, inside, named, st.integers(0, high + 2).map(str))


def items(low: int, high: int, names: list[str], *more: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one, step = numbers(low, high, names), st.integers(0, high + 1)
    return st.one_of(
        st.just("*"), one, st.builds("{}-{}".format, one, one), st.builds("*/{}".format, step),
        st.builds("{}/{}".format, one, step), st.builds("{}-{}/{}".format, one, one, step), *more,
    )  # fmt: skip


def fields(low: int, high: int, names: list[str], *more: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    item = items(low, high, names, *more)
    return st.one_of(st.just("*"), item, st.lists(item, min_size=1, max_size=3).map(",".join))


NEAR = st.one_of(st.builds("{}W".format, st.integers(0, 32)), st.builds("w{}".format, st.integers(1, 31)))
TO_LAST = st.builds("{}-L".format, st.integers(1, 31))
NTH = st.builds("{}#{}".format, numbers(0, 7, DAYS), st.integers(0, 6))
NTHS = st.builds("{}-{}#{}".format, st.sampled_from(DAYS), st.sampled_from(DAYS), st.integers(1, 5))
LAST_OF = st.builds("L{}".format, st.integers(0, 8))
ANY = st.just("?")
JUNK = st.text(alphabet="0123456789*/,-#lwrhL?monJAN_x", max_size=6).filter(lambda text: " " not in text)
CRONS = st.tuples(
    fields(0, 59, []),
    fields(0, 23, []),
    fields(1, 31, [], st.just("L"), TO_LAST, NEAR, ANY),
    fields(1, 12, MONTHS),
    fields(0, 7, DAYS, NTH, NTHS, LAST_OF, ANY),
)
STARTS = st.datetimes(wall("1971-01-01"), wall("2150-01-01"))


@settings(max_examples=300)
@given(said=CRONS.map(" ".join), start=STARTS)
def test_it_names_the_times_that_croniter_names(said: str, start: datetime) -> None:
    assert ours(said, start) == theirs(said, start)


@pytest.mark.parametrize(
    "said",
    [
        "30 2 29 2 *",
        "0 0 31 * *",
        "0 2 30 2 *",
        "0 2 30 2 1",
        "0 2 1,15 * fri",
        "0 2 */2 * 1-5",
        "0 2 1-31 * 1-5",
        "0 2 1 * fri#2",
        "0 2 15W * L5",
        "0 2 2-31,L * *",
        "0 2 * * 6-2/2",
        "0 2 * 5-4/3 *",
        "0 2 5-0 * 0,1,2,3,4,5,6#1",
        "0 2 ? * sun-sun#5",
    ],
)
def test_what_is_seldom_said_means_what_it_means_to_croniter(said: str) -> None:
    for start in ("2026-01-31", "2027-12-31 23:59", "2096-02-29 02:30"):
        assert ours(said, wall(start)) == theirs(said, wall(start))


@settings(max_examples=200)
@given(rest=st.lists(JUNK, min_size=3, max_size=3), start=STARTS)
def test_what_is_no_cron_to_croniter_is_none_here(rest: list[str], start: datetime) -> None:
    said = " ".join(["0 2", *rest])
    if any(field.lower().startswith("r") for field in rest):  # by chance: another day at each look
        assert ours(said, start) in ("no cron", theirs(said, start))
    else:
        assert ours(said, start) == theirs(said, start)


@pytest.mark.parametrize("said", ["0 2 * * R", "0 2 * * r/2", "0 2 R(1-5) * *"])
def test_a_day_by_chance_is_refused_though_croniter_takes_it(said: str) -> None:
    assert croniter.is_valid(said)
    with pytest.raises(BadTime, match=r"^“.*” is not cron: minute, hour, day, month and day of the week\.$"):
        parse(said)


@pytest.mark.parametrize("said", ["", "0 2 * *", "0 2 * * * 30", "0 2 * * * 30 2027", "@daily"])
def test_cron_has_five_fields(said: str) -> None:
    with pytest.raises(BadTime, match="is not cron"):
        parse(said)


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("0 2 29 2 *", ["2028-02-29", "2032-02-29"]),
        ("0 2 31 * *", ["2027-01-31", "2027-03-31"]),
        ("0 2 L * *", ["2027-01-31", "2027-02-28"]),
        ("0 2 * * 7", ["2027-01-03", "2027-01-10"]),
        ("0 2 * JUN-jul Fri", ["2027-06-04", "2027-06-11"]),
        ("0 2 13 * fri", ["2027-01-08", "2027-01-13"]),
        ("0 2 * * sat-mon", ["2027-01-02", "2027-01-03"]),
        ("0 2 ? * wed#5", ["2027-03-31", "2027-06-30"]),
        ("0 2 * * L5", ["2027-01-29", "2027-02-26"]),
        ("0 2 31W * *", ["2027-01-29", "2027-02-26"]),
        ("0 2 */10,5 * *", ["2027-01-05", "2027-01-11"]),
    ],
)
def test_days_are_those_that_the_fields_name(said: str, days: list[str]) -> None:
    cron = parse(said)
    first = cron.after(wall("2027-01-01 02:00"))

    assert [f"{one:%Y-%m-%d}" for one in (first, cron.after(first))] == days
    assert (first.hour, first.minute) == (2, 0)


def test_a_day_that_never_comes_is_said_and_a_rare_one_is_found() -> None:
    assert parse("0 2 29 2 *").after(wall("2096-03-01")) == wall("2104-02-29 02:00")
    for said in ("0 2 30 2 *", "0 2 31 4,6 *", "0 2 30 2 mon"):
        with pytest.raises(BadTime, match="names no day that ever comes"):
            parse(said).after(wall("2027-01-01"))
