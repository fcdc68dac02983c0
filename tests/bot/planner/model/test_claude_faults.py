"""An API that is busy, broken, slow or gone: a sentence in time, and what was spent is booked."""

import time
from collections.abc import Callable
from threading import current_thread

import pytest

from bot.planner.model.claude import Claude
from bot.planner.model.usage import PRICES, ModelOverloaded
from bot.planner.runbooks.book import Planned
from tests.support.fake_model import GOOD, KEY, MODEL, Reply, fails, says
from tests.support.ports import ports

pytestmark = pytest.mark.model

SOON = {"retry_after_ms": 1}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "does not accept how I ask"),
        (401, "should check ANTHROPIC_API_KEY"),
        (403, "does not let my key"),
        (404, "does not know the configured model"),
        (413, "please say it more briefly"),
        (418, "HTTP 418"),
    ],
)
def test_a_mistake_of_ours_is_said_and_not_tried_again(desk, status, words):
    asked = desk(fails(status, f"echo: Bearer {KEY}"))

    assert words in asked.fails()
    assert (len(asked.fake.requests), asked.booked) == (1, [])


@pytest.mark.parametrize(
    ("status", "words"), [(429, "a few minutes"), (500, "HTTP 500"), (503, "HTTP 503"), (529, "HTTP 529")]
)
def test_trouble_of_theirs_is_tried_three_times(desk, status, words):
    asked = desk(fails(status, **SOON))

    assert words in asked.fails()
    assert (len(asked.fake.requests), asked.booked) == (3, [])


def test_a_busy_api_that_recovers_gives_the_plan(desk):
    asked = desk(fails(529, **SOON), fails(429, **SOON), says(GOOD))

    assert isinstance(asked.plan(), Planned)
    assert (len(asked.fake.requests), len(asked.booked)) == (3, 1)


@pytest.mark.parametrize(
    "headers",
    [
        {"retry_after": 4_000_000},
        {"retry_after": "Wed, 21 Oct 2099 07:28:00 GMT"},
        {"retry_after_ms": 3_600_000},
        {"retry_after": 1e400},
        {"retry_after": "nan"},
    ],
)
def test_nobody_waits_as_long_as_the_api_would_like(desk, headers):
    asked, start = desk(fails(429, **headers)), time.monotonic()

    asked.fails()

    assert time.monotonic() - start < 2
    assert len(asked.fake.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(
            b"<html><script>alert(1)</script>502 Bad Gateway</html>", headers={"content-type": "text/html"}
        ),
        Reply(b"<html>", headers={"content-type": "application/json"}),
        Reply(b'{"id": "msg_1", "type": '),
        Reply(b"\xff\xfe\x00"),
        Reply(b""),
        Reply(b"null"),
        Reply(b'"a string"'),
        Reply(b'{"hello": 1}'),
        Reply(b'{"type": "message", "usage": 7}'),
        Reply(b"[" * 100_000),
        Reply(b"not gzip", headers={"content-encoding": "gzip"}),
    ],
    ids=lambda reply: f"{reply.body[:12]!r} {reply.headers}",
)
def test_a_page_that_is_not_the_model_is_a_sentence(desk, reply):
    asked = desk(reply, retries=0)

    assert "what answers is not the model" in asked.fails()
    assert (len(asked.fake.requests), asked.booked) == (1, [])


@pytest.mark.parametrize(("drop", "booked"), [("before", 1), ("within", 2)])
def test_a_dropped_connection_is_tried_again_and_what_had_begun_is_booked(desk, drop, booked):
    asked = desk(says(GOOD, drop=drop), says(GOOD), retries=1)

    assert isinstance(asked.plan(), Planned)
    assert (len(asked.fake.requests), len(asked.booked)) == (2, booked)


def test_a_reply_that_always_breaks_off_is_a_sentence_and_no_answer(desk):
    asked = desk(says(GOOD, drop="within"), retries=1)

    assert "cannot be reached" in asked.fails()
    assert (len(asked.fake.requests), len(asked.booked)) == (2, 2)


def test_a_fault_in_the_middle_of_a_reply_counts_as_overloaded(desk):
    asked = desk(says(GOOD, fault="overloaded_error"), retries=0)

    assert "HTTP 529" in asked.fails(ModelOverloaded)
    assert len(asked.booked) == 1, "what was read is billed"


def test_a_connection_that_always_drops_is_a_sentence(desk):
    asked = desk(says(GOOD, drop="before"), retries=1)

    assert "cannot be reached" in asked.fails()
    assert len(asked.fake.requests) == 2


def test_an_address_where_nobody_listens_is_a_sentence(desk):
    asked = desk(says(GOOD), url=f"http://127.0.0.1:{ports()}", retries=0)

    assert "cannot be reached" in asked.fails()


@pytest.mark.parametrize("slow", [{"delay": 30.0}, {"drip": 0.05}], ids=["silence", "a byte at a time"])
def test_a_slow_reply_ends_at_the_deadline(desk, slow):
    asked, start = desk(says(GOOD, **slow), deadline=0.5), time.monotonic()

    assert asked.fails() == "The model did not answer within 0.5 s; please try again."

    assert time.monotonic() - start < 1.5
    assert len(asked.fake.requests) <= 1  # none, where this machine was too busy to send it in time


def test_a_reply_that_is_slow_but_in_time_is_taken(desk):
    assert isinstance(desk(says(GOOD, delay=0.3), deadline=5).plan(), Planned)


def test_nobody_tries_again_after_the_deadline(desk):
    asked = desk(fails(529), deadline=0.2)  # the SDK waits about half a second before its second try

    assert "within 0.2 s" in asked.fails()
    time.sleep(0.8)

    assert len(asked.fake.requests) == 1


def test_what_comes_too_late_is_booked_all_the_same(desk):
    asked = desk(says(GOOD, delay=0.4), deadline=5)
    asked.claude = Claude(
        asked.client, MODEL, "low", PRICES, asked.claude.spend, deadline=5, clock=_leaping()
    )

    asked.fails()
    until = time.monotonic() + 5
    while not asked.booked and time.monotonic() < until:
        time.sleep(0.02)

    assert len(asked.booked) == 1


def _leaping() -> Callable[[], float]:
    """A clock by which the caller's patience is nearly over, and the call's own is not."""

    def now() -> float:
        now.called += 1
        return 4.9 if current_thread().name != "claude" and now.called > 1 else 0.0

    now.called = 0
    return now
