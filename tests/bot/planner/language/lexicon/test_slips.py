"""A slip is counted as people make it: a letter too few, too many or another, or two swapped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.planner.language.lexicon.slips import distance, nearest

WORDS = st.text("abc", max_size=6)


def plain(one: str, two: str) -> int:
    """The textbook's recursion."""
    if not one or not two:
        return len(one) + len(two)
    ways = [plain(one[1:], two) + 1, plain(one, two[1:]) + 1, plain(one[1:], two[1:]) + (one[0] != two[0])]
    if len(one) > 1 and len(two) > 1 and one[0] == two[1] and one[1] == two[0]:
        ways.append(plain(one[2:], two[2:]) + 1)
    return min(ways)


@given(WORDS, WORDS, st.integers(0, 3))
def test_the_distance_is_the_textbooks_as_far_as_it_is_asked_for(one: str, two: str, most: int) -> None:
    assert min(distance(one, two, most), most + 1) == min(plain(one, two), most + 1)


@given(WORDS, st.lists(WORDS, max_size=8), st.integers(1, 2))
def test_nothing_that_is_near_is_passed_over(said: str, known: list[str], most: int) -> None:
    least = min((plain(said, one) for one in known), default=most + 1)
    wanted = [one for one in known if plain(said, one) == least][:3] if least <= most else []

    assert nearest(said, known, most) == wanted


@pytest.mark.parametrize(("said", "most"), [("chekcout", 2), ("deplyo", 1), ("deply", 1), ("depploy", 1)])
def test_what_people_mistype_is_found(said: str, most: int) -> None:
    assert nearest(said, ["checkout", "deploy", "restart"], most) in (["checkout"], ["deploy"])
