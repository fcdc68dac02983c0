"""Of two values for one name, one reader sees the first and another the second: neither is taken."""

import pytest

from bot.given_once import GivenTwice, json_of, yaml_of
from bot.planner.language.lexicon.vocabulary import FILE
from bot.planner.runbooks.book import SHIPPED


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '[{"b": {"a": 1, "a": 1}}]', '{"a": 1, "\\u0061": 2}', b'{"a":1,"a":2}']
)
def test_json_with_a_name_given_twice_is_refused(text):
    with pytest.raises(GivenTwice, match="“a” is given twice"):
        json_of(text)


@pytest.mark.parametrize("text", ["a: 1\na: 2", "- b: {a: 1, a: 1}", "a: 1\n'a': 2", 'a: 1\n"\\x61": 2'])
@pytest.mark.parametrize("ours", [False, True])
def test_yaml_with_a_name_given_twice_is_refused(text, ours):
    with pytest.raises(GivenTwice, match="“a” is given twice"):
        yaml_of(text, ours=ours)


@pytest.mark.parametrize("file", [FILE, *sorted(SHIPPED.glob("*.yml"))], ids=lambda file: file.name)
def test_what_we_ship_says_the_same_however_it_is_read(file):
    text = file.read_text(encoding="utf-8")

    assert yaml_of(text, ours=True) == yaml_of(text)


def test_words_that_others_take_for_truths_are_words():
    assert yaml_of("[yes, no, on, off, true]", ours=True) == ["yes", "no", "on", "off", True]


@pytest.mark.parametrize("text", ["[" * 300_000, "[" * 300_000 + "]" * 300_000])
def test_what_others_wrote_ends_no_process_however_deeply_it_is_nested(text):
    with pytest.raises(RecursionError):
        yaml_of(text)


def test_what_is_given_once_is_read_as_ever():
    assert json_of('{"a": [{"a": 1}], "b": {"a": null}}') == {"a": [{"a": 1}], "b": {"a": None}}
    assert yaml_of("x: &x {a: 1}\ny: {<<: *x, a: 2}\n1: 1\n'1': 2") == {
        "x": {"a": 1}, "y": {"a": 2}, 1: 1, "1": 2,
    }  # fmt: skip
