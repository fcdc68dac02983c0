"""The commands of storage."""

import pytest

from storage.__main__ import verify
from tests.support.fakes import tamper
from tests.support.samples.plans import busy_plan


@pytest.mark.hostile
def test_a_journal_whose_end_was_cut_off_is_found(store):
    plan_id = busy_plan(store)
    tamper(store, "DELETE FROM event WHERE seq = :seq", seq=len(store.events(plan_id)))

    assert verify(store.engine, plan_id) == 1
