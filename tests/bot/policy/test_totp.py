"""One-time codes as RFC 6238 has them, and secrets that lie sealed."""

from datetime import UTC, datetime

import pytest

from bot.policy.totp import Safe, counter_of, new_key
from storage.errors import BadConfig
from tests.support.fakes import NOW
from tests.support.samples.second_factor import KEY, SAFE, SECRET, code
from tests.support.samples.without import forget

pytestmark = pytest.mark.authorize


@pytest.mark.parametrize(
    ("at", "said"),
    [(59, "287082"), (1111111109, "081804"), (1111111111, "050471"), (1234567890, "005924"),
     (2000000000, "279037"), (20000000000, "353130")],
)  # fmt: skip
def test_codes_are_those_of_rfc_6238(at, said):
    assert counter_of(SECRET, said, datetime.fromtimestamp(at, UTC)) == at // 30


def test_a_code_lives_for_a_period_on_either_side_and_no_longer():
    moment = int(NOW.timestamp())
    fits = {drift for drift in range(-4, 5) if counter_of(SECRET, code(at=_at(moment + drift * 30)), NOW)}

    assert fits == {-1, 0, 1}
    assert counter_of(SECRET, f" {code()[:3]} {code()[3:]} ", NOW)
    assert [counter_of(SECRET, said, NOW) for said in ("", "000000", "abcdef", "١٢٣٤٥٦", code()[:5])] == [
        0
    ] * 5


def _at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_a_seal_opens_with_its_key_for_its_owner_alone():
    sealed = SAFE.seal("BOB", SECRET)

    assert SAFE.opened("BOB", sealed) == SECRET
    for safe, user, given in (
        (Safe(new_key()), "BOB", sealed),
        (SAFE, "CAROL", sealed),
        (SAFE, "BOB", sealed[:-3]),
        (SAFE, "BOB", ""),
    ):
        with pytest.raises(BadConfig, match="was not sealed"):
            safe.opened(user, given)


@pytest.mark.parametrize("key", ["", "  ", "not-a-key", "AAAA"])
def test_a_missing_or_broken_key_is_said_kindly(key):
    with pytest.raises(BadConfig, match="`signoff factor key` makes one"):
        Safe(key)


def test_without_its_package_no_code_counts_and_the_extra_is_named(monkeypatch):
    forget(monkeypatch, "cryptography")

    with pytest.raises(BadConfig, match=r"SIGNOFF_FACTOR_KEY .* Install signoff\[factors\]\."):
        Safe(KEY)
