"""The door: names, forms from elsewhere, limits."""

import pytest

from bot.board.door import Limit, cookie, hosts, known_host, ours

pytestmark = [pytest.mark.board, pytest.mark.hostile]
KNOWN = hosts("https://board.example.com", "127.0.0.1", ["other.example.com"])


@pytest.mark.parametrize(
    "name", ["127.0.0.1:8702", "localhost", "[::1]:80", "board.example.com", "OTHER.example.com:443"]
)
def test_the_board_is_reached_by_its_names(name):
    assert known_host(name, KNOWN)


@pytest.mark.parametrize(
    "name",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "",
        "board.example.com.evil.example",
        "evil@x",
        "[",
        "127.0.0.2",
    ],
)
def test_by_no_other_name(name):
    assert not known_host(name, KNOWN)


@pytest.mark.parametrize(
    ("headers", "good"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://b", "Host": "b"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Origin": "http://b:1", "Host": "b:1"}, True),
        ({"Origin": "http://evil", "Host": "b:1"}, False),
        ({"Origin": "null", "Host": "b:1"}, False),
        ({"Host": "b:1"}, False),
    ],
)
def test_a_form_comes_from_our_own_page_or_not_at_all(headers, good):
    assert ours(headers) == good


def test_a_limit_takes_so_many_and_then_again():
    now = [0.0]
    limit = Limit(2, 10.0, lambda: now[0])

    assert [limit.takes("a"), limit.takes("a"), limit.takes("a"), limit.takes("b")] == [
        True,
        True,
        False,
        True,
    ]
    now[0] = 10.0
    assert limit.takes("a")


def test_the_cookie_is_for_this_host_over_a_safe_line_and_no_script():
    assert cookie("x") == "__Host-board=x; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=28800"
