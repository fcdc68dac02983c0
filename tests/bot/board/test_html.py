"""HTML by functions: whatever somebody wrote stays text."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.board.html import Safe, joined, tag

pytestmark = pytest.mark.board


class Elements(HTMLParser):
    """What a browser would make of it: names of elements, attributes, text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs


def parsed(markup: str) -> Elements:
    found = Elements()
    found.feed(markup)
    return found


@given(st.text())
def test_no_text_becomes_an_element_or_an_attribute(text):
    found = parsed(tag("p", text, tag("b", text), title=text))

    assert found.names == ["p", "b"]
    assert [name for name, _ in found.attributes] == ["title"]


@pytest.mark.parametrize(
    "where", ["javascript:alert(1)", "data:text/html,x", "//evil.example", "vbscript:x", " javascript:x"]
)
def test_no_link_leads_to_a_script(where):
    assert tag("a", "x", href=where) == '<a href="#">x</a>'


def test_what_changes_the_direction_of_text_is_taken_out():
    assert "\u202e" not in tag("p", "a\u202eb")


def test_only_what_tag_made_is_markup():
    assert joined("<b>", Safe("<i></i>"), None, 7) == "&lt;b&gt;<i></i>7"


def test_attributes_that_are_not_are_left_out():
    assert tag("option", "x", selected=False, value="a", hidden=True) == '<option value="a" hidden>x</option>'
