"""Recovery in figures: a journal with every ending, written by hand, against a count by hand."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.cli.stats import stats
from storage.journal.stories import Recovery, story, summed
from storage.monitoring.metrics import figures
from tests.support.fakes import NOW, approved, fail, step, succeed


@dataclass(frozen=True)
class Told:
    """One event, as a journal has it."""

    verb: str
    actor: str = "w1"
    data: dict[str, Any] = field(default_factory=dict)
    plan_id: int = 0
    at: Any = NOW


def ran(step: str = "a", attempt: int = 1) -> Told:
    return Told("claim", data={"step": step, "attempt": attempt})


def ended(verb: str, step: str = "a", attempt: int = 1) -> Told:
    return Told(verb, data={"step": step, "attempt": attempt})


def decided(verb: str, **more: Any) -> Told:
    return Told("decide", "rules", {"verb": verb, "step": "a", "reason": "it failed"} | more)


def over(outcome: str) -> Told:
    return Told("finish", "rules", {"outcome": outcome})


APPROVED = (Told("propose", "planner"), Told("approve", "BOB"), ran())
FAILED = (*APPROVED, ended("fail"))
# Each ending: the events, how many attempts failed, whether it ended, whether it recovered without a person.
ENDINGS: dict[str, tuple[tuple[Told, ...], int, bool, bool]] = {
    "smooth": ((*APPROVED, ended("succeed"), over("succeeded")), 0, True, False),
    "tried again by its worker": (
        (*APPROVED, ended("retry"), ran(attempt=2), ended("succeed"), over("succeeded")), 1, True, True,
    ),
    "tried again three times": (
        (*APPROVED, ended("retry"), ran(attempt=2), ended("fail", attempt=2), decided("retry"),
         ran(attempt=3), ended("retry", attempt=3), ran(attempt=4), ended("succeed"), over("succeeded")),
        3, True, True,
    ),
    "another way that does the same": (
        (*FAILED, decided("alternative", meets=True), ran("b"), ended("succeed", "b"), over("succeeded")),
        1, True, True,
    ),
    "a read that stood in for an approved question": (
        (*FAILED, decided("alternative", meets=False), ran("b"), ended("succeed", "b"), over("succeeded")),
        1, True, False,
    ),
    "a stand-in of which nobody knows what it does": (
        (*FAILED, decided("simplify"), ran("b"), ended("succeed", "b"), over("succeeded")), 1, True, False,
    ),
    "another way that a person approved": (
        (*FAILED, decided("alternative", meets=True, changes=["b is new"]), Told("propose", "planner"),
         Told("approve", "BOB"), ran("b"), ended("succeed", "b"), over("succeeded")),
        1, True, False,
    ),
    "another way that policy let pass": (
        (*FAILED, decided("alternative", meets=True, changes=["b is new"]), Told("propose", "planner"),
         Told("approve", "policy"), ran("b"), ended("succeed", "b"), over("succeeded")),
        1, True, True,
    ),
    "a person said to try again": (
        (*FAILED, Told("answer", "ANN", {"choice": "retry"}), ran(attempt=2), ended("succeed"),
         over("succeeded")),
        1, True, False,
    ),
    "a person told it how": (
        (*FAILED, Told("answer", "ANN", {"choice": "guide"}), decided("amend"), over("succeeded")),
        1, True, False,
    ),
    "a person took the step over": (
        (*FAILED, Told("take_over", "BOB"), over("succeeded")), 1, True, False,
    ),
    "lost, and a probe found it done": (
        (*APPROVED, ended("lose"), Told("look", "w2", {"step": "a", "attempt": 2}),
         ended("succeed", attempt=2), over("succeeded")),
        1, True, True,
    ),
    "lost, and the probe cannot tell": (
        (*APPROVED, ended("lose"), Told("look", "w2", {"step": "a", "attempt": 2}), ended("lose", attempt=2),
         Told("resolve", "BOB", {"step": "a", "answer": "ran"}), over("succeeded")),
        1, True, False,
    ),
    "its process died, and it ran again": (
        (*APPROVED, ended("retry"), ran(attempt=2), ended("succeed"), over("succeeded")), 1, True, True,
    ),
    "two steps failed": (
        (*APPROVED, ran("b"), ended("retry"), ended("retry", "b"), ran(), ran("b"), over("succeeded")),
        2, True, True,
    ),
    "failed": ((*FAILED, over("failed")), 1, True, False),
    "rolled back": ((*FAILED, over("rolled_back")), 1, True, False),
    "went on without it": ((*FAILED, over("incomplete")), 1, True, False),
    "waits for a person": (
        (*FAILED, decided("ask", options=["retry"]), Told("stall", "rules")), 1, False, False,
    ),
    "cancelled": ((*FAILED, Told("cancel", "ANN")), 1, True, False),
    "rejected": ((Told("propose", "planner"), Told("reject", "BOB")), 0, True, False),
    "expired": ((Told("propose", "planner"), Told("expire", "clock")), 0, True, False),
    "a difference was rejected": ((*FAILED, decided("alternative", changes=["x"]), Told("reject", "BOB")),
                                  1, True, False),
    "missed its window": ((Told("approve", "BOB"), Told("fail", "rules", {"step": "a"}), over("failed")),
                          1, True, False),
    "open": (APPROVED, 0, False, False),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDINGS)
def test_each_ending_counts_as_by_hand(name):
    events, failures, over_, recovered = ENDINGS[name]
    found = story(events)

    assert (found.failures, found.outcome != "open", found.recovered) == (failures, over_, recovered)


def test_the_sums_are_those_of_the_hand_count():
    journal = [Told(e.verb, e.actor, e.data, n) for n, (events, *_) in enumerate(ENDINGS.values(), 1)
               for e in events]  # fmt: skip
    by_hand = Recovery(
        failed_attempts=24, troubled=21, ended=20, recovered=7
    )  # counted in the table above, line by line

    assert summed(journal) == by_hand
    found = stats(journal)
    assert (found.failed_attempts, found.failed_on_the_way, found.ended, found.recovered) == (24, 21, 20, 7)
    assert found.recovered_by == {"retry": 4, "alternative": 2, "probe": 1}


def test_a_monitor_reads_the_same_figures_from_rows(store):
    plan_id = approved(store, step("look"))
    fail(store, plan_id, "look")
    store.answer(plan_id, "look", "retry", user="ANN")
    succeed(store, plan_id, "look")
    succeed(store, approved(store, step("other")), "other")

    assert store.recovery() == Recovery(failed_attempts=1, troubled=1, ended=1, recovered=0)
    shown = {figure.name: figure.values for figure in figures(store)}
    assert shown["signoff_failed_attempts_total"] == {"": 1}
    assert shown["signoff_troubled_plans"] == {"recovered": 0, "otherwise": 1, "open": 0}
