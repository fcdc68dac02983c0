"""Signatures: the documented vectors hold, and one flipped byte anywhere does not."""

import base64

import pytest

from bot.machines.signatures import SKEW, bearer, github, pagerduty, signed, standard

pytestmark = pytest.mark.machines
SECRET = "It's a Secret to Everybody"
NOW = 1_700_000_000.0
# GitHub's own documented example.
GITHUB = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
BODY = b"Hello, World!"
# The example of the Standard Webhooks libraries.
STANDARD_SECRET, STANDARD_ID, STANDARD_AT = (
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "1614265330",
)
STANDARD_BODY = b'{"test": 2432232314}'
STANDARD = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def flips(text: str):
    """The same with one byte changed, at each place."""
    for at in range(len(text)):
        yield text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]


def test_github_s_vector_holds_and_no_other():
    assert github({"X-Hub-Signature-256": GITHUB}, BODY, [SECRET], NOW)
    assert not any(github({"X-Hub-Signature-256": one}, BODY, [SECRET], NOW) for one in flips(GITHUB))
    assert not any(
        github({"X-Hub-Signature-256": GITHUB}, one.encode(), [SECRET], NOW) for one in flips(BODY.decode())
    )
    assert not github({}, BODY, [SECRET], NOW)


def test_either_of_two_secrets_holds_while_they_rotate():
    assert github({"X-Hub-Signature-256": GITHUB}, BODY, ["another one", SECRET], NOW)


def test_any_of_pagerduty_s_signatures_may_match():
    good = "v1=" + GITHUB.removeprefix("sha256=")
    assert pagerduty({"X-PagerDuty-Signature": f"v1=00,{good}"}, BODY, [SECRET], NOW)
    assert not any(pagerduty({"X-PagerDuty-Signature": one}, BODY, [SECRET], NOW) for one in flips(good))
    assert not pagerduty({"X-PagerDuty-Signature": good}, BODY + b" ", [SECRET], NOW)


def headers(**other: str) -> dict[str, str]:
    own = {"webhook-id": STANDARD_ID, "webhook-timestamp": STANDARD_AT, "webhook-signature": STANDARD}
    return own | {name.replace("_", "-"): value for name, value in other.items()}


def test_the_standard_vector_holds_and_no_other():
    now = float(STANDARD_AT)
    assert standard(headers(), STANDARD_BODY, [STANDARD_SECRET], now)
    for one in flips(STANDARD):
        assert not standard(headers(webhook_signature=one), STANDARD_BODY, [STANDARD_SECRET], now)
    for one in flips(STANDARD_ID):
        assert not standard(headers(webhook_id=one), STANDARD_BODY, [STANDARD_SECRET], now)
    for one in flips(STANDARD_AT):
        assert not standard(headers(webhook_timestamp=one), STANDARD_BODY, [STANDARD_SECRET], now)
    assert not standard(headers(), STANDARD_BODY + b" ", [STANDARD_SECRET], now)


@pytest.mark.parametrize(
    ("skew", "holds"), [(SKEW, True), (-SKEW, True), (SKEW + 1, False), (-SKEW - 1, False)]
)
def test_an_old_or_early_call_is_none(skew, holds):
    assert standard(headers(), STANDARD_BODY, [STANDARD_SECRET], float(STANDARD_AT) + skew) is holds


@pytest.mark.parametrize("at", ["", "x", "1e9", "-1", "٣", "9" * 40])
def test_a_time_that_is_none_is_refused(at):
    assert not standard(headers(webhook_timestamp=at), STANDARD_BODY, [STANDARD_SECRET], float(STANDARD_AT))


def test_a_secret_without_the_prefix_is_taken_as_it_is():
    raw = base64.b64encode(b"some key").decode()
    assert signed(raw, "a", "1", b"x") == signed(f"whsec_{raw}", "a", "1", b"x")


def test_a_shown_secret_must_be_the_same():
    assert bearer({"Authorization": "Bearer abc"}, b"", ["abc"], NOW)
    for one in ("Bearer abd", "bearer abc", "abc", "", "Bearer abc ", "Bearer é"):
        assert not bearer({"Authorization": one}, b"", ["abc"], NOW)
