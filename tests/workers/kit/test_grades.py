"""A worker's grade rises with what it gives to those who approve, and falls with one action."""

import pytest
from pydantic import BaseModel

from tests.support.pages.workers import PAGE, page
from workers.base import Context, Params, Preview, Report, Worker, action, check
from workers.kit.check import graded
from workers.kit.grades import grade, verdicts


class Data(BaseModel):
    done: bool


class Bare(Worker):
    """Keeps the contract, and nothing else."""

    name = "bare"

    @action(changes=True)
    def act(self, params: Params, ctx: Context) -> Report[Data]:
        return Report.ok("x", Data(done=True))


class Fair(Worker):
    """Can be approved and recovered."""

    name = "fair"

    @action(changes=True, repeat="safe", target="thing", says="*Act*")
    def act(self, params: Params, ctx: Context) -> Report[Data]:
        """Acts."""
        return Report.ok("x", Data(done=True))


class Fine(Worker):
    """Shows first what it would do, and has a way back."""

    name = "fine"

    @action(changes=True, repeat="safe", target="thing", says="*Act*", leaves="acted", undo="back",
            criteria={"is_done": (check("done", "eq", True),)})  # fmt: skip
    def act(self, params: Params, ctx: Context) -> Report[Data]:
        """Acts."""
        return Report.ok("x", Data(done=True))

    @action(changes=True, repeat="safe", target="thing", says="*Go back*", leaves="back again",
            criteria={"is_done": (check("done", "eq", True),)})  # fmt: skip
    def back(self, params: Params, ctx: Context) -> Report[Data]:
        """Goes back."""
        return Report.ok("x", Data(done=True))

    @act.preview
    @back.preview
    def would(self, params: Params, ctx: Context) -> Preview:
        return Preview("acts")


class Spoilt(Fine):
    """As fine, but for one action."""

    name = "spoilt"

    @action(changes=True, target="thing", says="*Break*")
    def spoil(self, params: Params, ctx: Context) -> Report[Data]:
        """Breaks something."""
        return Report.ok("x", Data(done=True))


class Broken(Worker):
    name = "Broken"


@pytest.mark.parametrize(
    ("worker", "best"), [(Broken, ""), (Bare, "bronze"), (Fair, "silver"), (Fine, "gold"), (Spoilt, "bronze")]
)
def test_a_grade_is_the_highest_whose_rules_are_all_kept(worker: type[Worker], best: str) -> None:
    assert grade([*verdicts(worker({}))]) == best


def test_what_is_missing_is_said_by_rule_and_action() -> None:
    said = graded(Fair({}))

    assert "✓ silver what changes something names its target" in said
    assert "✗ gold   what changes something shows first what it would do: not act" in said
    assert said[-1] == "Grade: silver"


def test_the_grades_in_the_docs_are_those_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: .venv/bin/python -m tests.support.pages.workers"
