"""What tests said: cases in, counts and first failures out. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel

SHOWN = 5
Outcome = Literal["passed", "failed", "errors", "skipped", "flaky"]
BAD = ("failed", "errors")


@dataclass(frozen=True)
class Case:
    """One test. `derived`: it failed only because a part of it did, which is told on its own."""

    name: str
    outcome: Outcome
    group: str = ""
    place: str = ""
    message: str = ""
    derived: bool = False

    @property
    def id(self) -> tuple[str, str]:
        return self.group, self.name


@dataclass(frozen=True)
class Found:
    """What a report holds; `said` is the tool's own summary, where it prints one."""

    cases: Sequence[Case]
    said: Counter[str] | None = None

    def counts(self) -> Counter[str]:
        return Counter(case.outcome for case in self.cases) if self.said is None else self.said

    def bad(self) -> list[Case]:
        return [case for case in self.cases if case.outcome in BAD]


class Failure(BaseModel):
    """One test that did not pass: its name, file:line, and the first line of the reason."""

    name: str
    place: str
    message: str


class TestData(BaseModel):
    """Counts as the tool gives them. Expected failures and todos count as skipped; a test that failed and
    passed when it was run again is flaky, and not among the passed."""

    __test__ = False  # the name must not make pytest collect it

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    flaky: int = 0
    total: int = 0
    seconds: float = 0.0
    failures: list[Failure] = []
    flakes: list[str] = []
    commit: str = ""


def data(found: Found, *, seconds: float, commit: str = "") -> TestData:
    counts = found.counts()
    return TestData(
        **{word: counts[word] for word in ("passed", "failed", "errors", "skipped", "flaky")},
        total=counts.total(),
        seconds=round(seconds, 1),
        failures=[_failure(case) for case in _first(found.bad())],
        flakes=[case.name for case in found.cases if case.outcome == "flaky"][:SHOWN],
        commit=commit,
    )


def merge(first: Found, again: Found) -> Found:
    """The first run, corrected by the second one of its failures: what differed between them is flaky."""
    later = {case.id: case for case in again.cases}
    return Found([_settled(case, later.get(case.id, case)) for case in first.cases])


def count(found: TestData | None) -> str:
    """`2 failed, 40 passed`, the worst first."""
    if found is None or not found.total:
        return "no test reported a result"
    words = ("failed", "errors", "flaky", "passed", "skipped")
    return ", ".join(f"{number} {word}" for word in words if (number := getattr(found, word)))


def _settled(case: Case, later: Case) -> Case:
    if "skipped" in (case.outcome, later.outcome) or (case.outcome in BAD) == (later.outcome in BAD):
        return case
    return replace(case, outcome="passed" if case.derived or later.derived else "flaky")


def _first(bad: list[Case]) -> list[Case]:
    return ([case for case in bad if not case.derived] or bad)[:SHOWN]


def _failure(case: Case) -> Failure:
    return Failure(name=case.name, place=case.place, message=case.message.strip().partition("\n")[0][:300])
