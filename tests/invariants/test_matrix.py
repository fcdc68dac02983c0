"""Who may decide, in short: a sample of the matrix, and its oracle held against itself."""

import pytest

from storage.journal.chain import broken_link
from tests.proof.parts.matrix import FACTS, KINDS, RIGHTS, STATES, TAKES, UNANSWERED
from tests.proof.parts.matrix_stage import ACTS, Stage, trials
from tests.support.store import Store

pytestmark = pytest.mark.authorize
EVERY = 97  # a prime, so that the sample wanders through all kinds, ways and states


def test_the_matrix_is_as_wide_as_it_says():
    assert len(KINDS) >= 24
    assert len(set(KINDS)) == len(KINDS)
    assert {act.way for act in ACTS} >= {
        "button", "modal", "thread", "slash", "shortcut", "home", "direct message", "http",
    }  # fmt: skip
    assert len(STATES) == 10
    assert {act.verb for act in ACTS} <= TAKES.keys()
    assert RIGHTS.keys().isdisjoint({*FACTS, *UNANSWERED})


def test_nobody_decides_what_they_may_not_and_everybody_what_they_may(lite: Store) -> None:
    wrong = [(case, wanted, was) for case, wanted, was in trials(Stage(lite), EVERY) if wanted != was]

    assert wrong == []
    assert broken_link(lite.events(0)) is None
