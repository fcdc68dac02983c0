"""What a command prints is shown without the secrets it was given, wherever the chunks are cut."""

import itertools
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.commands import process
from workers.commands.output import Mask, plain

SECRET = 'p&ss<w>rd "1" häß'
KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n"


def passed(mask: Mask, *chunks: bytes) -> bytes:
    return b"".join(map(mask.feed, chunks)) + mask.rest()


def test_a_secret_is_hidden_wherever_the_chunks_are_cut() -> None:
    printed = b"before s3cret-value after"

    seen = {
        passed(Mask(["s3cret-value"]), printed[:one], printed[one:two], printed[two:])
        for one, two in itertools.combinations(range(len(printed) + 1), 2)
    }

    assert seen == {b"before [hidden] after"}


@given(
    st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=3),
    st.lists(st.text("abc", max_size=7).map(str.encode), max_size=6),
)
def test_cutting_changes_nothing(secrets: list[str], chunks: list[bytes]) -> None:
    whole = Mask(secrets).hide(b"".join(chunks))
    shown = passed(Mask(secrets), *chunks)

    # A secret that is cut off at the very end is hidden although it is not whole.
    assert shown == whole or (shown.endswith(b"[hidden]") and whole.startswith(shown[:-8]))


def test_what_cannot_become_a_secret_is_shown_at_once() -> None:
    mask = Mask(["secret"])

    assert mask.feed(b"12/40 tests\n") == b"12/40 tests\n"
    assert mask.feed(b"a sec") == b"a "
    assert mask.feed(b"ond\n") == b"second\n"


def test_the_longer_of_two_secrets_is_hidden_whole() -> None:
    assert passed(Mask(["token", "token-of-bob"]), b"token", b"-of-bob token") == b"[hidden] [hidden]"


def test_a_secret_that_is_cut_off_is_not_half_told() -> None:
    assert passed(Mask(["hunter2-hunter2"]), b"login hunter2-hun") == b"login [hidden]"


@pytest.mark.parametrize(
    "spelt",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"),
        f"<a>{escape(SECRET)}</a>",
        f"<a b={quoteattr(SECRET, {chr(34): '&quot;'})}/>",
        f"https://user:{quote(SECRET, safe='')}@host",
    ],
)
def test_a_secret_is_known_in_json_xml_and_urls(spelt: str) -> None:
    shown = Mask([SECRET]).text(spelt)

    assert "[hidden]" in shown
    assert "rd" not in shown


def test_a_key_of_several_lines_is_hidden_line_by_line() -> None:
    shown = Mask([KEY]).text(KEY.replace("\n", "\r\n  "))

    assert "MIIE" not in shown
    assert "hkiG" not in shown


def test_an_empty_secret_hides_nothing() -> None:
    assert passed(Mask([""]), b"abc") == b"abc"


def test_what_a_command_prints_of_its_secrets_reaches_nobody(tmp_path: Path) -> None:
    code = """
import os, sys, time
value = os.environ["TOKEN"]
print("line", value, flush=True)
sys.stdout.write(value[:5]); sys.stdout.flush(); time.sleep(0.3); print(value[5:], flush=True)
print(value[:5] + chr(27) + "[1m" + value[5:])
print("x" * 65530 + value + "y" * 200000 + value)
"""
    lines: list[str] = []
    options: dict[str, Any] = {"cwd": tmp_path, "scratch": tmp_path, "timeout": 60, "key": f"mask{tmp_path}"}

    done = process.run(
        [sys.executable, "-c", code],
        env={"TOKEN": "s3cret-s3cret"},
        secrets=["s3cret-s3cret"],
        on_line=lines.append,
        **options,
    )

    assert lines[:3] == ["line [hidden]", "[hidden]", "[hidden]"]
    assert done.text().startswith("line [hidden]\n[hidden]\n[hidden]\n")
    for seen in (done.head, done.tail, done.log.read_bytes(), done.text().encode(), repr(done).encode()):
        assert b"s3cret-s3cret" not in seen


def test_plain_text_has_no_marks_that_turn_it_around() -> None:
    assert plain("a\u202eb\u2066c\x1b[31md".encode()) == "abcd"
