"""Secrets do not get through: by value, by looks, in pieces, in JSON, in the log. Ordinary lines do."""

import io
import json
import logging
import sys
import time
import tomllib
import uuid

import pytest

from bot.demo.seed import CONFIG
from storage.secrets.patterns import PATTERNS
from storage.secrets.redaction import HIDDEN, Quiet, Redactor, secret_in
from tests.proof.parts.planted import KINDS, Chance
from tests.proof.redaction import ORDINARY, altered, leaks
from tests.support.places import ROOT

VALUE = 'Tr0ub4dor&3 "horse" staple'


def test_no_planted_secret_is_seen_however_the_text_is_cut():
    assert leaks(500, seed=7) == []


def test_there_is_a_secret_to_plant_for_every_pattern_and_there_are_enough_patterns():
    assert set(KINDS) == {pattern.name for pattern in PATTERNS}
    assert len(PATTERNS) >= 40


def test_ordinary_lines_come_through_as_they_are():
    assert len(altered(ORDINARY)) <= len(ORDINARY) / 200


@pytest.mark.parametrize(
    "text",
    [
        "sha256:" + "3f" * 32,
        "commit " + "0a" * 20,
        f"request {uuid.UUID(int=7)}",
        "U0123456789 in C0123456789 of T0123456789 at 1763250000.123456",
        "plan-7-step-3-0a1b2c3d4e5f",
        "token expired; password: required; api_key = None; PASSWORD=***; --token-file /run/secrets/token",
        '{"usage": {"input_tokens": 120, "output_tokens": 44}}',
        "registry.example/auth-service@sha256:" + "ab" * 32,
        "İstanbul: token yok",
        "PASSWORD=/secrets7\nis a path, on whatever line it stands",
    ],
)
def test_digests_ids_and_talk_about_secrets_stay(text):
    assert Redactor().text(text) == text


def test_a_letter_that_grows_when_it_is_made_small_moves_nothing():
    text = "İ" * 40 + "\npassword=s3cr3t-99\n" + "İ" * 40

    assert Redactor().text(text) == text.replace("s3cr3t-99", HIDDEN)


def test_a_long_text_is_not_kept_in_memory():
    redactor, text = Redactor(), f"a log of many lines: {VALUE}" * 100
    before = sys.getrefcount(text)
    redactor.text(text)

    assert sys.getrefcount(text) == before


def test_redacting_twice_changes_nothing_more():
    chance = Chance(3)
    texts = [make(chance)[0] for make in KINDS.values() for _ in range(5)]
    once = [Redactor().text(text) for text in texts]

    assert [Redactor().text(text) for text in once] == once


def test_what_stands_around_a_secret_stays_readable():
    shown = Redactor([VALUE]).text(f"psql postgres://app:s3cr3t!@db.example:5432/auth said {VALUE} at 02:00")

    assert shown == "psql postgres://app:[redacted]@db.example:5432/auth said [redacted] at 02:00"


def test_data_hides_by_name_and_keeps_numbers_and_structure():
    given = {
        "user": "app", "password": "plain-words", "rows": 3, "deep": [{"api_key": "abcdefgh", "ok": True}],
        "key_file": "/etc/key", "token": "", "tokens": 12, "note": f"it was {VALUE}", "pwd": "abcdef",
    }  # fmt: skip
    shown = Redactor([VALUE]).data(given)

    assert shown == given | {
        "password": HIDDEN,
        "deep": [{"api_key": HIDDEN, "ok": True}],
        "note": f"it was {HIDDEN}",
        "pwd": HIDDEN,
    }


def test_a_document_stays_one_whatever_was_hidden_in_it():
    given = {"label": 'is it password="a}1', "fields": [{"ask": f"or {VALUE}?"}, 3], "token": "abcdefgh"}
    shown = Redactor([VALUE]).document(json.dumps(given))

    assert json.loads(shown) == Redactor([VALUE]).data(given)
    assert VALUE not in shown
    assert Redactor([VALUE]).document(f'["Zürich", "{VALUE[:11]}"]') == f'["Zürich", "{VALUE[:11]}"]'
    assert "Zürich" in Redactor().document('["Zürich", {"token": "abcdefgh"}]')
    for odd in ("{", '{"a": 1, "a": 2}', "[" * 100_000, f"no JSON: {VALUE}"):
        assert Redactor([VALUE]).document(odd) == odd.replace(VALUE, HIDDEN)


def test_what_is_said_twice_in_a_document_is_still_said_twice_when_a_secret_was_hidden():
    plain = "correct-horse-9731"  # needs no marks in JSON
    twice = f'{{"worker": "http-check", "note": "{plain}", "worker": "k8s-deployer"}}'

    assert Redactor([plain]).document(twice) == twice.replace(plain, HIDDEN)


def test_a_stream_lets_finished_lines_go_and_holds_an_open_private_key():
    stream = Redactor().stream()

    assert stream.feed("one\ntwo\nthr") == "one\ntwo\n"
    assert stream.feed("ee\n-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE") == "three\n"
    assert stream.feed("IA\nMHcCAQEEIB\n") == ""
    assert stream.feed("-----END EC PRIVATE KEY-----\nfour\n") == f"{HIDDEN}\nfour\n"
    assert stream.close() == ""


def test_a_line_without_end_is_let_go_in_time_and_still_hides_what_it_holds():
    stream, shown, longest = Redactor([VALUE]).stream(), "", 0
    for number in range(400):
        shown += stream.feed("x" * 997 + (f" password={number}s3cr3t " if number % 7 == 0 else " "))
        longest = max(longest, number * 998 - len(shown))
    shown += stream.close()

    assert "s3cr3t" not in shown
    assert shown.count(HIDDEN) == 58
    assert longest < 100_000


def test_a_line_without_end_is_let_go_as_soon_as_no_secret_can_reach_over_the_cut():
    redactor = Redactor()

    assert redactor.stream().feed("x" * (2 * redactor.reach - 1)) == ""
    assert redactor.stream().feed("x" * 2 * redactor.reach) == "x" * redactor.reach


def test_a_secret_that_ends_where_the_line_is_cut_is_hidden():
    redactor = Redactor([VALUE])
    stream, filler = redactor.stream(), "x" * (redactor.reach - len(VALUE))
    shown = stream.feed(filler + VALUE + "y" * redactor.reach)

    assert shown + stream.close() == filler + HIDDEN + "y" * redactor.reach


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "eyJa.",
        "-----BEGIN PRIVATE KEY-----",
        "password='",
        "://a:b",
        "token=",
        "curl -u ",
        "secret_access_key",
        "token=\n",
    ],
)
def test_no_text_makes_it_slow(piece):
    def spent(size: int) -> float:
        begun = time.process_time()
        Redactor([VALUE]).text(piece * (size // len(piece)))
        return time.process_time() - begun

    few, many = (min(spent(size), spent(size)) for size in (25_000, 200_000))

    assert many < 30 * max(few, 0.005)  # eight times the text; quadratic would be 64 times the work


def test_the_log_says_nothing_secret_not_even_in_a_traceback():
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(Quiet(Redactor([VALUE]), logging.Formatter("%(name)s %(message)s")))
    logger = logging.Logger("a.b")
    logger.addHandler(handler)
    try:
        int(VALUE)
    except ValueError:
        logger.exception("step %s: PGPASSWORD=%s", "s1", "hunter22")

    assert VALUE not in out.getvalue()
    assert "hunter22" not in out.getvalue()
    assert "a.b step s1: PGPASSWORD=[redacted]" in out.getvalue()
    assert "ValueError: invalid literal" in out.getvalue()


def test_a_configuration_with_secrets_names_where_they_stand():
    raw = {
        "zone": "UTC",
        "people": {"approvers": ["U0123456789"]},
        "inventory": {
            "databases": {"auth": {"url": "postgres://app:s3cr3t@db/auth", "url_env": "AUTH_URL"}},
            "endpoints": {
                "prod": {"headers": {"Authorization": "Bearer abc123def456"}, "headers_env": {"A": "B_TOKEN"}}
            },
            "commands": {
                "login": {"argv": ["/bin/login", "--password", "{password}"], "token": "AUTH_PROD_TOKEN"}
            },
            "sources": {"s": {"password": "hunter-two", "argv": ["x", "ghp_" + "a1B2" * 9]}},
        },
    }

    assert secret_in(raw) == [
        "inventory.databases.auth.url",
        "inventory.endpoints.prod.headers.Authorization",
        "inventory.sources.s.password",
        "inventory.sources.s.argv.1",
    ]


def test_the_example_configuration_and_the_demo_hold_no_secret():
    example = ROOT / "signoff.example.toml"

    assert secret_in(tomllib.loads(example.read_text(encoding="utf-8"))) == []
    assert secret_in(tomllib.loads(CONFIG.format(home="/demo", practice=8701, python="python3"))) == []
