"""A value that is known to be secret is hidden whole, however it is written. Which values those are."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from storage.secrets.redaction import HIDDEN, Redactor, known_values

AWKWARD = "/ö~\"q\\b's c/ü??>>??>>??>>~d"  # every encoding writes it in another way
BOTH = "say \"{}\" or '{}'"


def lowered(text: str) -> str:
    """Percent signs as some programs write them: %2f."""
    return "".join(f"%{part[:2].lower()}{part[2:]}" for part in text.split("%"))[1:]


@pytest.mark.parametrize(
    "form",
    [
        AWKWARD,
        quote(AWKWARD),
        quote(AWKWARD, safe=""),
        quote_plus(AWKWARD),
        lowered(quote(AWKWARD)),
        lowered(quote_plus(AWKWARD)),
        json.dumps(AWKWARD)[1:-1],
        json.dumps(AWKWARD, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(AWKWARD))[3:-3],
        json.dumps(json.dumps(AWKWARD, ensure_ascii=False), ensure_ascii=False)[3:-3],
        repr(AWKWARD)[1:-1],
        AWKWARD.encode().hex(),
        AWKWARD.encode().hex().upper(),
    ],
)
def test_a_known_value_is_hidden_whole_however_it_is_written(form):
    assert Redactor([AWKWARD]).text(f"<{form}> {form}") == f"<{HIDDEN}> {HIDDEN}"


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("offset", [0, 1, 2])
@pytest.mark.parametrize("value", [AWKWARD, f"{AWKWARD}1", f"{AWKWARD}22"])
def test_of_a_known_value_in_base64_no_character_is_left_that_holds_nothing_else(encode, offset, value):
    raw = value.encode()
    coded = encode(b"n" * offset + raw + b"neighbour").decode()
    first, last = -(-8 * offset // 6), 8 * (offset + len(raw)) // 6  # between them are the value's bits alone

    assert {"+", "/"} <= {*coded} or {"-", "_"} <= {*coded}
    assert Redactor([value]).text(coded) == coded[:first] + HIDDEN + coded[last:]


def test_a_quote_in_a_value_is_hidden_also_where_a_traceback_escapes_it():
    value = "it's\\mine-7"

    assert Redactor([value]).text(repr(BOTH.format(value, 1))) == repr(BOTH.format(HIDDEN, 1))


@pytest.mark.parametrize("value", ["bell\x07rings-7", "two\nlines-77", "p\udce4ss-word"])
def test_a_value_with_characters_that_cannot_be_printed_is_hidden_too(value):
    assert Redactor([value]).text(f"<{value}> {value!r}") == f"<{HIDDEN}> '{HIDDEN}'"


def test_a_value_that_overlaps_itself_leaves_no_tail():
    assert Redactor(["aaaaaaaa"]).text("a" * 9) == HIDDEN


def test_six_characters_are_a_secret_and_five_would_hide_ordinary_words():
    assert Redactor(["k3y-9z"]).text("k3y-9z") == HIDDEN
    assert Redactor(["k3y-9"]).text("k3y-9") == "k3y-9"
    assert known_values({"A_TOKEN": "k3y-9z", "B_TOKEN": "k3y-9"}) == ["k3y-9z"]


KEY = f"-----BEGIN\n{'k' * 40}\n{'e' * 16}\n{'f' * 15}"


def test_the_environment_tells_which_values_are_secret():
    environment = {
        "SLACK_BOT_TOKEN": "xoxb-1-2-3", "AUTH_PROD_URL": "postgres://app:p%40ss-word1@db/auth",
        "PATH": "/usr/bin:/bin", "KUBE_CA": "configured-by-name", "TLS_PRIVATE_KEY": KEY, "PWD": "/srv/app/x",
        "GOOGLE_APPLICATION_CREDENTIALS": "/etc/google.json", "DB_PASSWORD": "postgres", "EMPTY_SECRET": "",
        "MAX_TOKENS": "4096000", "SHORT_TOKEN": "abc",
    }  # fmt: skip
    known = known_values(environment, named=["KUBE_CA"])

    lines = {"k" * 40, "e" * 16, KEY}
    assert set(known) == {"xoxb-1-2-3", "p%40ss-word1", "p@ss-word1", "configured-by-name", *lines}


def test_where_the_process_stands_is_no_secret():
    assert known_values({"PWD": "/Users/ann/My Work", "OLDPWD": "/Users/ann/Old Work"}) == []


def test_a_password_that_everybody_uses_does_not_black_out_the_word():
    words = "the default is postgres on localhost, password changeme or Admin123, and no secret"
    known = known_values({f"{word}_PASSWORD": word.strip(",") for word in words.split()})

    assert known == []
    assert Redactor(known).text(words) == words
