"""What follows from a refusal: the table, code by code."""

import pytest

from bot.slack.refusals import AWAY, ENOUGH, HOPELESS, LONGEST, TOKEN, Then, backoff, barred, code_of, verdict
from tests.support.slates import refusal


@pytest.mark.parametrize(
    ("code", "status", "then"),
    [
        ("ratelimited", 429, "paused"), ("http_429", 429, "paused"),
        ("internal_error", 500, "away"), ("http_503", 503, "away"),
        ("invalid_blocks", 200, "simpler"), ("msg_too_long", 200, "simpler"),
        ("invalid_auth", 200, "barred"), ("token_revoked", 200, "barred"), ("missing_scope", 200, "barred"),
        ("account_inactive", 200, "barred"),
        ("is_archived", 200, "ends"), ("channel_not_found", 200, "ends"), ("not_in_channel", 200, "ends"),
        ("user_disabled", 200, "ends"), ("message_not_found", 200, "ends"),
        ("something_new", 200, "waits"),
    ],
)  # fmt: skip
def test_a_message_that_was_never_shown(code, status, then):
    assert verdict(code, status, shown=False, tries=0) == Then(then)


def test_a_message_that_somebody_deleted_is_posted_anew():
    assert verdict("message_not_found", 200, shown=True, tries=0) == Then.anew


@pytest.mark.parametrize("code", ["user_disabled", "account_inactive", "user_not_found", "cannot_dm_bot"])
def test_nobody_writes_again_and_again_to_whom_nothing_reaches(code):
    assert verdict(code, 200, shown=False, tries=0, personal=True) == Then.ends


def test_a_code_that_nobody_knows_is_not_tried_for_ever():
    assert verdict("something_new", 200, shown=False, tries=ENOUGH) == Then.ends


def test_what_an_operator_must_mend_never_ends_a_message():
    assert {verdict(code, 200, shown=False, tries=99) for code in TOKEN} == {Then.barred}
    assert not TOKEN & HOPELESS.keys()


def test_each_wait_is_twice_the_one_before_and_has_an_end():
    assert [backoff(n).total_seconds() for n in range(8)] == [5, 10, 20, 40, 80, 160, LONGEST, LONGEST]
    assert backoff(50, AWAY).total_seconds() == AWAY


def test_a_monitor_hears_what_to_mend():
    assert barred("chat.postMessage", "token_revoked", "")[1].startswith("Slack refuses the bot token")
    assert (
        "It needs files:write." in barred("files.completeUploadExternal", "missing_scope", "files:write")[1]
    )


def test_what_is_no_answer_of_slacks_is_called_by_its_status():
    error = refusal("")
    error.response.data, error.response.status_code = b"<html>", 502

    assert code_of(error) == "http_502"
