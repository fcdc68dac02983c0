"""`signoff runbook test`: every runbook's examples become its plan, and what it must never plan does not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import Example, Planned, Runbook
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.errors import SignoffError


@dataclass(frozen=True)
class Trial:
    """One request said to all runbooks. `wrong` is "" when what came of it is right."""

    runbook: str
    say: str
    wrong: str = ""


@dataclass(frozen=True)
class Stage:
    """What a rehearsal needs."""

    books: Sequence[Runbook]
    catalogue: Catalogue
    config: SignoffConfig
    now: datetime

    def plan(self, say: str) -> Planned:
        made = runbooks.plan(say, self.books, self.config)
        prepare(made.spec, self.catalogue, self.config, self.now)
        return made


def rehearse(stage: Stage, chosen: Sequence[Runbook] | None = None) -> list[Trial]:
    """Say every example of these runbooks, or of all."""
    return [trial for book in chosen or stage.books for trial in _trials(stage, book)]


def main(stage: Stage, chosen: Sequence[Runbook] | None = None) -> tuple[str, int]:
    """What the command prints, and its exit code."""
    trials = rehearse(stage, chosen)
    wrong = [trial for trial in trials if trial.wrong]
    return table(trials), int(bool(wrong))


def table(trials: Sequence[Trial]) -> str:
    names = dict.fromkeys(trial.runbook for trial in trials)
    lines = []
    for name in names:
        ours = [trial for trial in trials if trial.runbook == name]
        bad = [trial for trial in ours if trial.wrong]
        lines.append(f"{name:<20}{len(ours) - len(bad):>3} of {len(ours)} as written")
        lines += [f"  “{trial.say}”: {trial.wrong}" for trial in bad]
    return "\n".join(lines)


def _trials(stage: Stage, book: Runbook) -> Iterator[Trial]:
    for example in book.examples:
        yield Trial(book.id, example.say, _example(stage, book, example))
    for say in book.never:
        yield Trial(book.id, say, _never(stage, book, say))


def _example(stage: Stage, book: Runbook, example: Example) -> str:
    try:
        made = stage.plan(example.say)
    except SignoffError as error:
        return str(error)
    if made.runbook != book.id:
        return f"it became the plan of {made.runbook}"
    found = dict(made.slots)
    odd = {name: found.get(name, "") for name, value in example.slots.items() if found.get(name, "") != value}
    return "; ".join(f"{name} is “{value}”" for name, value in odd.items())


def _never(stage: Stage, book: Runbook, say: str) -> str:
    try:
        made = stage.plan(say)
    except SignoffError:
        return ""
    return "it became this plan" if made.runbook == book.id else ""
