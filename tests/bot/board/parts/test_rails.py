"""The graph of steps as rails."""

from itertools import pairwise

import pytest

from bot.board.parts.rails import MOST, rails
from tests.support.fakes import step

pytestmark = pytest.mark.board


def at(*pairs: tuple[str, tuple[str, ...]]) -> list[int] | None:
    found = rails([step(name, depends_on=after) for name, after in pairs])
    return [rail.at for rail in found] if found else None


def test_a_chain_is_one_rail():
    assert at(("a", ()), ("b", ("a",)), ("c", ("b",))) == [0, 0, 0]


def test_a_branch_leaves_and_comes_back():
    assert at(("a", ()), ("b", ("a",)), ("c", ("a",)), ("d", ("b", "c"))) == [0, 1, 0, 0]


def test_too_many_rails_are_said_in_words_instead():
    alone = [(f"s{n}", ()) for n in range(MOST + 1)]

    assert at(*alone, ("end", tuple(name for name, _ in alone))) is None


def test_every_line_begins_where_one_ended():
    found = rails(
        [
            step("a"),
            step("b", depends_on=("a",)),
            step("c", depends_on=("a",)),
            step("d", depends_on=("b", "c")),
        ]
    )
    assert found
    for before, after in pairwise(found):
        assert {bottom for _, bottom in before.below} == {top for top, _ in after.above}
