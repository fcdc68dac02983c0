"""Times as people say them: the right instant, or one clear question. Never a guess, never the past."""

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.times.when import Wants, opening, resolve
from bot.times.windows import next_opening
from bot.times.zones import spoken
from storage.config import SignoffConfig, Window
from storage.contract.rules import DAYS
from storage.errors import BadTime
from tests.proof.zones import SHORT, prove

NIGHTLY = Window(start=time(2), hours=2, zone="America/New_York")
WEEKEND = Window(days=("sat",), start=time(22), hours=6, zone="America/New_York")
ONE = {"nightly": NIGHTLY}
TWO = ONE | {"weekend": WEEKEND}
WINTER = datetime(2026, 11, 15, 23, 0, tzinfo=UTC)  # Sunday 18:00 in New York (EST)
SUMMER = datetime(2026, 7, 15, 22, 0, tzinfo=UTC)  # Wednesday 18:00 in New York (EDT)
QUESTION = None


def said(text: str, now: datetime, windows: dict[str, Window] = ONE) -> datetime | None:
    return resolve(text, now, zone="America/New_York", windows=windows).not_before


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)


# phrase, the instant in winter, the instant in summer (UTC)
PHRASES = [
    ("2AM ET", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("2am", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("2 a.m.", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("at 2am", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("  2AM   et ", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("02:00", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("tonight at 2am", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("tonight at 23:00", "2026-11-16 04:00", "2026-07-16 03:00"),
    ("tomorrow 02:00 in New York", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("tomorrow, 02:00", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("2am tomorrow", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("tomorrow at 2am Pacific", "2026-11-16 10:00", "2026-07-16 09:00"),
    ("tomorrow at 2am eastern time", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("tomorrow night at 1am", "2026-11-17 06:00", "2026-07-17 05:00"),
    ("friday at 2am", "2026-11-20 07:00", "2026-07-17 06:00"),
    ("on friday at 2am", "2026-11-20 07:00", "2026-07-17 06:00"),
    ("2am on friday", "2026-11-20 07:00", "2026-07-17 06:00"),
    ("friday night at 2am", "2026-11-21 07:00", "2026-07-18 06:00"),
    ("6pm", "2026-11-16 23:00", "2026-07-16 22:00"),
    ("18:01", "2026-11-15 23:01", "2026-07-15 22:01"),
    ("12am", "2026-11-16 05:00", "2026-07-16 04:00"),
    ("12pm", "2026-11-16 17:00", "2026-07-16 16:00"),
    ("14:00 UTC", "2026-11-16 14:00", "2026-07-16 14:00"),
    ("14:00z", "2026-11-16 14:00", "2026-07-16 14:00"),
    ("14:00 in Berlin", "2026-11-16 13:00", "2026-07-16 12:00"),
    ("14:00 Europe/Berlin", "2026-11-16 13:00", "2026-07-16 12:00"),
    ("02:00 JST", "2026-11-16 17:00", "2026-07-16 17:00"),
    ("2026-11-16 02:00 America/New_York", "2026-11-16 07:00", "2026-11-16 07:00"),
    ("2026-11-16 02:00", "2026-11-16 07:00", "2026-11-16 07:00"),
    ("2026-11-16T02:00Z", "2026-11-16 02:00", "2026-11-16 02:00"),
    ("2026-11-16 02:00+01:00", "2026-11-16 01:00", "2026-11-16 01:00"),
    ("in 20 minutes", "2026-11-15 23:20", "2026-07-15 22:20"),
    ("in 90m", "2026-11-16 00:30", "2026-07-15 23:30"),
    ("in 2 hours", "2026-11-16 01:00", "2026-07-16 00:00"),
    ("in 2h30m", "2026-11-16 01:30", "2026-07-16 00:30"),
    ("in 90 seconds", "2026-11-15 23:01:30", "2026-07-15 22:01:30"),
    ("in an hour", "2026-11-16 00:00", "2026-07-15 23:00"),
    ("in half an hour", "2026-11-15 23:30", "2026-07-15 22:30"),
    ("noon", "2026-11-16 17:00", "2026-07-16 16:00"),
    ("tomorrow at noon", "2026-11-16 17:00", "2026-07-16 16:00"),
    ("midnight", "2026-11-16 05:00", "2026-07-16 04:00"),
    ("tonight at midnight", "2026-11-16 05:00", "2026-07-16 04:00"),
    ("at midnight UTC", "2026-11-16 00:00", "2026-07-16 00:00"),
    ("friday night at midnight", "2026-11-21 05:00", "2026-07-18 04:00"),
    ("nightly", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("in the nightly window", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("the next maintenance window", "2026-11-16 07:00", "2026-07-16 06:00"),
    ("maintenance window", "2026-11-16 07:00", "2026-07-16 06:00"),
]


@pytest.mark.parametrize(("phrase", "winter", "summer"), PHRASES, ids=[row[0].strip() for row in PHRASES])
def test_a_phrase_means_one_instant(phrase, winter, summer):
    assert said(phrase, WINTER) == at(winter)
    assert said(phrase, SUMMER) == at(summer)


# phrase, the instant, and whether it is winter: in the other half of the year the letters say one thing,
# and the clocks of the place another.
HALVES = [
    ("2AM EST", "2026-11-16 07:00", True),
    ("tonight at 2am EST", "2026-11-16 07:00", True),
    ("  2AM   est ", "2026-11-16 07:00", True),
    ("2am EDT", "2026-07-16 06:00", False),
    ("2am PST", "2026-11-16 10:00", True),
    ("2am PDT", "2026-07-16 09:00", False),
    ("2am MST", "2026-11-16 09:00", True),
    ("2am MDT", "2026-07-16 08:00", False),
    ("14:00 CET", "2026-11-16 13:00", True),
    ("14:00 CEST", "2026-07-16 12:00", False),
    ("14:00 GMT", "2026-11-16 14:00", True),
    ("between 2 and 4 am EST", "2026-11-16 07:00", True),
    ("tonight EST", "2026-11-16 07:00", True),
]


@pytest.mark.parametrize(("phrase", "moment", "winter"), HALVES, ids=[row[0].strip() for row in HALVES])
def test_letters_that_do_not_hold_on_that_day_are_a_question(phrase, moment, winter):
    right, wrong = (WINTER, SUMMER) if winter else (SUMMER, WINTER)

    assert said(phrase, right) == at(moment)
    with pytest.raises(BadTime, match=r"Please name the city"):
        said(phrase, wrong)


def test_the_day_that_is_meant_decides_and_not_today():
    assert said("2027-01-11 02:00 EST", SUMMER) == at("2027-01-11 07:00")
    with pytest.raises(BadTime, match="New York has EDT then, not EST"):
        said("2027-07-11 02:00 EST", WINTER)


def test_a_range_that_ends_in_the_other_half_of_the_year_is_a_question():
    with pytest.raises(BadTime, match="not EST"):
        said("between 1am and 4am EST", at("2027-03-14 05:00"))


# phrase, first and last instant in winter
RANGES = [
    ("between 2 and 4 am", "2026-11-16 07:00", "2026-11-16 09:00"),
    ("between 2am and 4am", "2026-11-16 07:00", "2026-11-16 09:00"),
    ("tomorrow between 2 and 4:30 am in Berlin", "2026-11-17 01:00", "2026-11-17 03:30"),
    ("between 2 and 4 am tomorrow", "2026-11-16 07:00", "2026-11-16 09:00"),
    ("tonight between 23:00 and 02:00", "2026-11-16 04:00", "2026-11-16 07:00"),
    ("from 10pm to 1am", "2026-11-16 03:00", "2026-11-16 06:00"),
    ("2-4am", "2026-11-16 07:00", "2026-11-16 09:00"),
    ("2 – 4 am", "2026-11-16 07:00", "2026-11-16 09:00"),
    ("2am to 4am", "2026-11-16 07:00", "2026-11-16 09:00"),
    ("on friday from 02:00 until 04:00 UTC", "2026-11-20 02:00", "2026-11-20 04:00"),
    ("between noon and 2pm", "2026-11-16 17:00", "2026-11-16 19:00"),
]


@pytest.mark.parametrize(("phrase", "first", "last"), RANGES, ids=[row[0] for row in RANGES])
def test_a_range_has_both_its_ends(phrase, first, last):
    found = resolve(phrase, WINTER, zone="America/New_York", windows=ONE)

    assert (found.not_before, found.not_after) == (at(first), at(last))


QUESTIONS = {
    "between 2 and 4": "in the morning or the afternoon",
    "between 11 and 1 pm": "in the morning or the afternoon",
    "between 2am and 2am": "begins and ends at the same time",
    "2am and 4am": "do not understand",
    "between 2am and": "do not understand",
    "between 2am and 4am or 5am": "do not understand",
    "before 4am": "do not understand",
    "2am CDT": "Chicago or Cuba",
    "2am WEST": "do not understand",
    "2am NSW": "do not understand",
    "2am GMT+5": "do not understand",
    "tomorrow at midnight": "beginning or the end",
    "midnight on friday": "beginning or the end",
    "2am IST": "India, Ireland or Israel",
    "2am CST": "Chicago, China or Cuba",
    "tomorrow at 2am BST": "Britain or Bangladesh",
    "at 2": "in the morning or the afternoon",
    "tomorrow at 2": "in the morning or the afternoon",
    "today at 2am": "lies in the past",
    "2020-01-01 00:00": "lies in the past",
    "in 0 minutes": "lies in the past",
    "2027-03-14 02:30": "does not exist",
    "2026-11-01 01:30": "comes twice",
    "25:00": "There is no 25:00",
    "24:00": "There is no 24:00",
    "13pm": "There is no 13 pm",
    "0am": "There is no 0 am",
    "2:75": "There is no 02:75",
    "2am Foo/Bar": "There is no time zone",
    "2026-13-01 00:00": "is not a date and time",
    "2am Atlantis": "do not understand",
    "2am AST": "do not understand",
    "11/12 at 3pm": "do not understand",
    "02:30 on 2027-03-14": "do not understand",
    "Saturday night maintenance window": "do not understand",
    "nightly window tomorrow": "do not understand",
    "next friday at 2am": "do not understand",
    "tomorrow": "do not understand",
    "asap": "do not understand",
    "not now": "do not understand",
    "in -5 minutes": "do not understand",
    "in a while": "do not understand",
    "2am or 3am": "do not understand",
    "{when}": "do not understand",
}


@pytest.mark.parametrize("phrase", QUESTIONS)
@pytest.mark.parametrize("now", [WINTER, SUMMER], ids=["winter", "summer"])
def test_what_is_not_clear_is_a_question(phrase, now):
    with pytest.raises(BadTime, match=QUESTIONS[phrase]):
        said(phrase, now)


@pytest.mark.parametrize(
    ("phrase", "start"),
    [
        ("tonight", "2026-11-16 07:00"),
        ("tomorrow night", "2026-11-17 07:00"),
        ("Friday night", "2026-11-21 07:00"),
    ],
)
def test_a_night_without_an_hour_is_the_one_window_that_opens_in_it(phrase, start):
    nightly = {"nightly": Window(start=time(2), hours=2, zone="America/New_York")}
    found = resolve(phrase, WINTER, zone="America/New_York", windows=nightly)

    assert f"{found.not_before:%Y-%m-%d %H:%M}" == start
    for windows in ({}, nightly | {"late": Window(start=time(23), hours=1, zone="America/New_York")}):
        with pytest.raises(BadTime, match="At what time"):
            resolve(phrase, WINTER, zone="America/New_York", windows=windows)


@pytest.mark.parametrize("phrase", ["", "now", "Now", "at once", "immediately"])
def test_now_is_no_time_at_all(phrase):
    found = resolve(phrase, WINTER, zone="America/New_York", windows=ONE)

    assert (found.not_before, found.not_after) == (None, None)


@pytest.mark.parametrize(
    "phrase", ["in 999999999 hours", "9999-12-31 23:59", "9999-12-31 10:00", "in " + "9" * 5000 + " hours"]
)
def test_a_time_beyond_all_calendars_is_a_question(phrase):
    with pytest.raises(BadTime):
        said(phrase, WINTER)


@pytest.mark.parametrize(
    "phrase", ["tomorrow night at 9", "friday night at 11", "tomorrow night at 11:30", "friday night at 9am"]
)
def test_a_night_is_not_a_morning(phrase):
    try:
        found = said(phrase, WINTER)
    except BadTime:
        return

    assert found is not None
    assert found.hour in {2, 4}  # 21:00 and 23:00 in New York


@pytest.mark.parametrize(
    ("phrase", "now"),
    [
        ("tonight at 2am", "2026-11-16 05:30"),  # 00:30 in New York
        ("sunday at 7pm", "2026-11-15 23:00"),  # Sunday 18:00 in New York
        ("monday at 02:00 CET", "2026-11-15 23:00"),  # Monday 00:00 in Berlin
    ],
)
def test_what_is_still_ahead_today_is_not_put_off_silently(phrase, now):
    try:
        found = said(phrase, at(now))
    except BadTime:
        return

    assert found is not None
    assert found - at(now) < timedelta(hours=3)


# windows


def test_a_window_gives_both_ends():
    found = resolve("nightly", WINTER, zone="UTC", windows=ONE)

    assert (found.not_before, found.not_after) == (at("2026-11-16 07:00"), at("2026-11-16 09:00"))
    assert found.zone == "America/New_York"


def test_a_window_that_is_open_is_used_at_once():
    now = at("2026-11-16 08:00")
    found = resolve("nightly", now, zone="UTC", windows=ONE)

    assert (found.not_before, found.not_after) == (at("2026-11-16 07:00"), at("2026-11-16 09:00"))


def test_a_window_that_has_just_closed_is_not_used():
    assert said("nightly", at("2026-11-16 09:00")) == at("2026-11-17 07:00")


def test_a_window_over_midnight_is_open_on_the_next_day():
    now = at("2026-11-22 08:00")  # Sunday 03:00 in New York

    assert next_opening(WEEKEND, now) == (at("2026-11-22 03:00"), at("2026-11-22 09:00"))


def test_a_window_opens_only_on_its_days():
    assert said("weekend", WINTER, TWO) == at("2026-11-22 03:00")


@pytest.mark.parametrize("windows", [TWO, {}], ids=["two", "none"])
def test_a_window_without_a_name_is_a_question_unless_there_is_one(windows):
    with pytest.raises(BadTime, match="Which window"):
        said("maintenance window", WINTER, windows)


def test_a_time_inside_a_window_ends_with_it():
    assert resolve("2:30am", WINTER, zone="America/New_York", windows=ONE).not_after == at("2026-11-16 09:00")


def test_a_time_outside_all_windows_ends_an_hour_later():
    assert resolve("10am", WINTER, zone="America/New_York", windows=ONE).not_after == at("2026-11-16 16:00")


def test_a_window_may_be_written_with_capitals():
    assert said("Nightly", WINTER, {"Nightly": NIGHTLY}) == at("2026-11-16 07:00")


@pytest.mark.parametrize("now", ["2027-03-14 05:00", "2027-03-13 20:00"])
def test_a_window_that_opens_in_the_gap_is_a_question(now):
    with pytest.raises(BadTime, match="does not exist on 2027-03-14"):
        said("nightly", at(now))


@pytest.mark.parametrize(
    ("phrase", "now", "expected"),
    [
        ("nightly", "2027-03-14 16:00", "2027-03-15 06:00"),
        ("nightly", "2027-03-15 16:00", "2027-03-16 06:00"),
        ("in 20 minutes", "2027-03-14 16:00", "2027-03-14 16:20"),
        ("18:00", "2027-03-14 16:00", "2027-03-14 22:00"),
    ],
)
def test_the_day_the_clocks_change_spoils_no_other_time(phrase, now, expected):
    assert said(phrase, at(now)) == at(expected)


# properties


moments = st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
times = st.one_of(
    st.integers(0, 13).map(lambda hour: f"{hour}am"),
    st.integers(0, 13).map(lambda hour: f"{hour}pm"),
    st.times().map(lambda found: f"{found:%H:%M}"),
    st.integers(0, 30).map(str),
)
days = st.sampled_from(
    ["", "today ", "tonight at ", "tomorrow ", "tomorrow night ", "friday ", "sunday night "]
)
zones = st.sampled_from(
    ["", " EST", " UTC", " in Berlin", " pacific", " Asia/Kolkata", " IST", " in Nowhere"]
)
phrases = st.one_of(
    st.tuples(days, times, zones).map("".join),
    st.tuples(moments, zones).map(lambda found: f"{found[0]:%Y-%m-%d %H:%M}{found[1]}"),
    st.tuples(st.integers(0, 200), st.integers(0, 200)).map(lambda found: "in {}h {}m".format(*found)),
    st.sampled_from(["nightly", "weekend", "in the nightly window", "next maintenance window"]),
    st.text(max_size=20).filter(lambda text: text.strip(" .\t\n").lower() not in {"now", "immediately"}),
)


@settings(max_examples=300)
@given(phrase=phrases, now=moments)
def test_no_phrase_leads_into_the_past(phrase, now):
    try:
        found = resolve(phrase, now, zone="America/New_York", windows=TWO)
    except BadTime:
        return

    if found.not_before is not None:
        assert found.not_after is not None
        assert found.not_before > now or (found.not_after > now and ("window" in phrase or phrase in TWO))
        assert found.not_before < found.not_after


@given(
    now=moments, start=st.times(), hours=st.floats(0.5, 24), days=st.sets(st.sampled_from(DAYS), min_size=1)
)
def test_the_next_opening_is_open_now_or_ahead(now, start, hours, days):
    window = Window(days=tuple(days), start=start.replace(tzinfo=None), hours=hours, zone="Asia/Kolkata")
    opens, closes = next_opening(window, now)

    assert closes > now
    assert closes - opens == timedelta(hours=hours)
    assert opens - now <= timedelta(days=8)


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("UTC", "Mon 16 Nov 07:00 UTC"),
        ("America/New_York", "Mon 16 Nov 02:00 EST (07:00 UTC)"),
        ("Pacific/Auckland", "Mon 16 Nov 20:00 NZDT (07:00 UTC)"),
        ("America/Los_Angeles", "Sun 15 Nov 23:00 PST (Mon 07:00 UTC)"),
    ],
)
def test_an_instant_is_said_in_its_zone_and_in_utc(zone, words):
    assert spoken(at("2026-11-16 07:00"), zone) == words


HOLIDAYS = {"zone": "UTC", "holidays": {"christmas": ["2026-12-24", "2026-12-25"], "new_year": "2027-01-01"}}


def closing(**window: object) -> Window:
    """The window `nightly` of a configuration that knows holidays."""
    given = {"start": "02:00:00", "hours": 2, "zone": "America/New_York", **window}
    return SignoffConfig.model_validate(HOLIDAYS | {"windows": {"nightly": given}}).windows["nightly"]


def test_a_window_does_not_open_on_a_holiday_and_the_time_says_so():
    windows = {"nightly": closing()}
    found = resolve("nightly", at("2026-12-24 00:00"), zone="UTC", windows=windows)

    assert found.not_before == at("2026-12-26 07:00")
    assert found.closed == ("Thu 24 Dec (christmas)", "Fri 25 Dec (christmas)")


def test_a_holiday_is_a_day_of_the_window_s_own_zone():
    late = closing(start="22:00:00")  # 03:00 UTC, on the day after

    assert next_opening(late, at("2026-12-25 04:00"))[0] == at("2026-12-27 03:00")


def test_a_window_that_has_begun_before_a_holiday_stays_open():
    assert next_opening(closing(start="23:00:00"), at("2026-12-24 05:30"))[0] == at("2026-12-24 04:00")


def test_of_several_windows_the_next_that_serves_and_fits_is_taken():
    windows = {
        "short": closing(hours=0.5, environments=["production"]),
        "long": closing(start="05:00:00", hours=3, environments=["production"]),
        "staging": closing(start="00:00:00", environments=["staging"]),
    }
    now = at("2026-11-16 00:00")

    def start(environment: str, minutes: int) -> datetime | None:
        wants = Wants(environment, timedelta(minutes=minutes))
        return resolve("next maintenance window", now, zone="UTC", windows=windows, wants=wants).not_before

    assert start("production", 10) == at("2026-11-16 07:00")
    assert start("production", 60) == at("2026-11-16 10:00")
    assert start("staging", 10) == at("2026-11-16 05:00")
    with pytest.raises(BadTime, match="Which window"):
        start("", 10)


def test_a_window_that_closes_too_soon_is_left_to_the_next_opening():
    window, now = closing(), at("2026-11-16 08:30")  # half an hour before it closes

    assert next_opening(window, now)[0] == at("2026-11-16 07:00")
    assert next_opening(window, now, timedelta(hours=1))[0] == at("2026-11-17 07:00")
    with pytest.raises(BadTime, match="never opens long enough"):
        next_opening(window, now, timedelta(hours=3))


@pytest.mark.parametrize("zone", ["America/Port-au-Prince", "Etc/GMT+5", "America/Argentina/Buenos_Aires"])
def test_a_zone_is_known_whatever_stands_in_its_name(zone):
    assert resolve(f"2026-11-17 02:00 in {zone}", WINTER, zone="UTC", windows={}).zone == zone


def test_around_every_change_of_the_clocks_there_is_one_instant_or_a_question():
    count = prove(SHORT)  # every zone: python -m tests.proof.zones

    assert count.transitions > 200
    assert count.wrong == []


# at the edges of what was said


def plainly(text: str, now: str, windows: dict[str, Window] | None = None) -> datetime | None:
    """In UTC, where no clock changes."""
    return resolve(text, at(now), zone="UTC", windows=windows or {}).not_before


def asks(text: str, now: str = "2026-11-15 23:00", windows: dict[str, Window] | None = None) -> str:
    with pytest.raises(BadTime) as question:
        resolve(text, at(now), zone="UTC", windows=windows or {})
    return str(question.value)


@pytest.mark.parametrize(
    ("phrase", "now", "start"),
    [
        ("02:59", "2026-11-15 23:00", "2026-11-16 02:59"),
        ("2 p.m.", "2026-11-15 23:00", "2026-11-16 14:00"),
        ("tonight at 5", "2026-11-15 23:00", "2026-11-16 05:00"),
        ("tonight at 9pm", "2026-11-15 20:00", "2026-11-15 21:00"),
        ("tonight at 12am", "2026-11-15 20:00", "2026-11-16 00:00"),
        ("tonight at 13:00", "2026-11-15 10:00", "2026-11-15 13:00"),
        ("tonight at 2am", "2026-11-16 02:00", "2026-11-17 02:00"),
        ("sunday at 10:00", "2026-11-15 23:00", "2026-11-22 10:00"),
        ("sunday at 23:00", "2026-11-15 23:00", "2026-11-22 23:00"),
        ("sunday at 23:30", "2026-11-15 23:00", "2026-11-15 23:30"),
    ],
)
def test_the_last_minute_and_the_very_moment_belong_to_what_follows(phrase, now, start):
    assert plainly(phrase, now) == at(start)


@pytest.mark.parametrize(
    ("phrase", "question"),
    [
        ("02:60", "There is no 02:60."),
        ("13pm", "There is no 13 pm."),
        ("tonight at 6", "Is 6 at night 6pm, or 6am the day after?"),
        ("tonight at 12", "Is 12 at night 12pm, or 12am the day after?"),
        ("between 2:15 and 2:45 am", "Is “2:15” in the morning or the afternoon?"),
        ("between 2am and 4", "Is “4” in the morning or the afternoon?"),
        ("sometime", "or a window: none is configured."),
        ("maintenance window", "Which window? There are: none."),
        ("in " + "9" * 80 + " hours", f"“in {'9' * 57}” lies beyond every calendar."),
    ],
)
def test_a_question_says_what_it_is_about(phrase, question):
    assert question in asks(phrase)


MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip


@pytest.mark.parametrize("short", [False, True], ids=["whole", "short"])
@pytest.mark.parametrize(("number", "name"), [*enumerate(MONTH_NAMES, 1)])
def test_a_month_is_known_by_its_name(number, name, short):
    day = f"{2027 if number < 12 else 2026}-{number:02}-01 04:30"
    name = name[:3] if short else name

    assert plainly(f"{name} 1st at 4:30am", "2026-11-15 23:00") == at(day)
    assert plainly(f"on the 1st of {name}, 4:30am", "2026-11-15 23:00") == at(day)


@pytest.mark.parametrize(
    ("phrase", "start"),
    [
        ("Nov 16 at 4am", "2026-11-16 04:00"),
        ("Nov 15 at 23:30", "2026-11-15 23:30"),
        ("nov 14 at 23:30", "2027-11-14 23:30"),
        ("Monday, Nov 16, 2026 at 4am", "2026-11-16 04:00"),
        ("Tuesday Nov 16, 2027 4am", "2027-11-16 04:00"),
        ("20 November 2028, 14:00", "2028-11-20 14:00"),
        ("Feb 29, 2028 at 4am", "2028-02-29 04:00"),
    ],
)
def test_a_day_of_a_month_is_the_coming_one_unless_its_year_is_said(phrase, start):
    assert plainly(phrase, "2026-11-15 23:00") == at(start)


@pytest.mark.parametrize(
    ("phrase", "question"),
    [
        ("Tuesday, Nov 16 at 4am", "16 Nov 2026 is a Monday, not a Tuesday."),
        ("Nov 14, 2026 at 4am", "lies in the past"),
        ("April 31 at 4am", "There is no 31 Apr 2026."),
        ("31 dec 0000 at 4am", "There is no 31 Dec 0."),
        ("Feb 29 at 4am", "There is no 29 Feb 2026."),
    ],
)
def test_a_date_that_does_not_hold_is_said(phrase, question):
    assert question in asks(phrase)


@pytest.mark.parametrize("window", ["18:00", "15:30"], ids=["none around it", "one that closes earlier"])
def test_a_time_may_start_within_an_hour(window):
    found = resolve("16:00", at("2026-11-15 15:00"), zone="UTC", windows=opens(window))

    assert found.not_after == at("2026-11-15 17:00")


def test_a_question_names_the_windows_that_there_are():
    assert "or a window: nightly, weekend." in asks("sometime", windows=TWO)
    assert "There are: nightly, weekend." in asks("maintenance window", windows=TWO)


def test_noon_and_midnight_are_the_twelfth_hour_of_a_range():
    found = resolve("between 12 and 2 am", at("2026-11-15 23:00"), zone="UTC", windows={})

    assert (found.not_before, found.not_after) == (at("2026-11-16 00:00"), at("2026-11-16 02:00"))


def test_what_was_said_is_kept_and_nothing_is_now():
    assert [resolve(text, WINTER, zone="UTC", windows={}).said for text in ("", "At once")] == [
        "now",
        "At once",
    ]


def test_a_window_may_be_written_in_one_word():
    assert said("maintenancewindow", WINTER) == at("2026-11-16 07:00")


def opens(start: str, hours: float = 1, **more: object) -> dict[str, Window]:
    return {"w": Window.model_validate({"start": f"{start}:00", "hours": hours, "zone": "UTC"} | more)}


@pytest.mark.parametrize(
    ("windows", "start"),
    [
        (opens("18:00", 0.5), "2026-11-16 18:00"),
        (opens("05:00", 2), "2026-11-17 05:00"),
        (opens("02:00") | {"seldom": opens("02:00", days=["sun"])["w"]}, "2026-11-17 02:00"),
        (opens("06:00"), QUESTION),
        (opens("06:30"), QUESTION),
    ],
    ids=["as it begins", "over its end", "another on another day", "as it ends", "in the morning"],
)
def test_a_night_is_twelve_hours_long(windows, start):
    if start is QUESTION:
        assert "At what time?" in asks("tonight", "2026-11-16 12:00", windows)
    else:
        assert plainly("tonight", "2026-11-16 12:00", windows) == at(start)


def test_the_night_of_today_is_still_ahead_in_the_evening():
    assert plainly("sunday night", "2026-11-15 18:30", opens("02:00")) == at("2026-11-16 02:00")
    assert plainly("sunday night", "2026-11-16 00:30", opens("02:00")) == at("2026-11-23 02:00")


def test_letters_hold_in_the_night_that_is_meant_and_not_only_today():
    early = {"w": Window(start=time(3), hours=1, zone="America/New_York")}

    assert said("saturday night est", at("2026-10-27 12:00"), early) == at("2026-11-01 08:00")


def test_what_starts_as_a_window_opens_ends_with_it():
    found = resolve("2am", WINTER, zone="America/New_York", windows=ONE)

    assert found.not_after == at("2026-11-16 09:00")


def test_the_opening_that_words_name_is_found_at_any_moment_and_other_words_name_none():
    found = opening("The Nightly window.", at("2026-11-16 08:00"), {"Nightly": NIGHTLY})

    assert found is not None
    assert (found.not_before, found.not_after) == (at("2026-11-16 07:00"), at("2026-11-16 09:00"))
    assert opening("2am", WINTER, ONE) is None


def test_the_day_after_tomorrow_is_two_days_on():
    assert plainly("day after tomorrow at 05:00", "2026-11-15 18:00", ONE) == at("2026-11-17 05:00")
