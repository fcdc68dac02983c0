"""The workers' hand, held against a list that was written by hand: not read from the code that it checks."""

from sqlalchemy import Engine

from storage.execution import Execution
from storage.intention import Intention
from tests.support.fakes import FakeClock
from tests.support.store import verbs_of

VERBS = {
    "turn", "due", "scheduled", "soonest", "stirred", "claim", "start", "holds", "renew", "advance",
    "approvers",
    "succeed", "fail", "retry", "lapsed", "lose", "doubt", "to_look_at", "look", "cannot_tell", "miss",
    "overrun", "previews_wanted", "show", "inquiries", "report_back", "publish", "alive",
}  # fmt: skip


def test_workers_have_these_verbs_and_no_other(memory_engine: Engine, clock: FakeClock) -> None:
    assert verbs_of(Execution(memory_engine, clock)) == VERBS


def test_no_verb_is_in_both_hands(memory_engine: Engine, clock: FakeClock) -> None:
    assert verbs_of(Execution(memory_engine, clock)) & verbs_of(Intention(memory_engine, clock)) == set()


def test_execution_is_composed_not_inherited() -> None:
    assert len(Execution.__mro__) <= 3  # itself, what it adds to, and object
