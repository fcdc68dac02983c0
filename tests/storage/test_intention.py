"""Whatever decides is in the bot's hand alone. The list was written by hand, as a reviewer would ask it."""

import pytest
from sqlalchemy import Engine

from storage.execution import Execution
from storage.intention import Intention
from tests.support.fakes import FakeClock
from tests.support.store import verbs_of

DECIDES = {
    "request", "clarify", "inform", "propose", "amend", "rework", "approve", "reject", "refuse", "expire",
    "cancel", "stall", "permit", "withhold", "answer", "decide", "guide", "resolve", "take_over",
    "break_glass", "confirm_glass", "reviewed", "recur", "run", "pass_by", "pause", "unpause", "retire",
    "stand", "stand_in", "void", "save", "stop", "resume", "adopt", "enrol", "unlock", "remove", "mistake",
    "book", "deliver", "handled", "outdate", "bring_up_to_date",
}  # fmt: skip


def test_the_bot_has_every_verb_that_decides(memory_engine: Engine, clock: FakeClock) -> None:
    assert verbs_of(Intention(memory_engine, clock)) >= DECIDES


@pytest.mark.parametrize("verb", sorted(DECIDES))
def test_workers_have_no_verb_that_decides(memory_engine: Engine, clock: FakeClock, verb: str) -> None:
    assert not hasattr(Execution(memory_engine, clock), verb)


def test_intention_is_composed_not_inherited() -> None:
    assert len(Intention.__mro__) <= 3  # itself, what it adds to, and object
