"""Faults in real turns: what can recover does so by itself, the rest reaches a person; the journal counts."""

import pytest
from sqlalchemy import Engine

from tests.proof.ladder import climb
from tests.proof.parts.faulty import FAMILIES, faults
from tests.support.store import Store

# The long form, all hundred of them: python -m tests.proof.ladder.
SHORT = [key for name in FAMILIES for key in [k for k, f in faults().items() if f["family"] == name][:9:3]]


@pytest.fixture
def empty(lite: Store) -> Engine:
    return lite.engine


def test_faults_recover_on_their_rung_or_reach_a_person_with_cause_and_options(empty, tmp_path):
    found, told = climb(empty, SHORT, tmp_path)

    assert found.recovered_by == {"retry": 3, "alternative": 3, "simplify": 3}
    assert (found.plans, found.recovered, found.asked, found.answered) == (12, 9, 3, 0)
    assert {key for key, one in told.items() if one.asked} == {
        key for key in SHORT if faults()[key]["family"] == "unrecoverable"
    }
