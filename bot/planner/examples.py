"""`signoff runbook test`: every runbook's examples become its plan, and what it must never plan does not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.planner import planning
from bot.planner.prepare import prepare
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
        made = planning.plan(say, self.books, self.config, contracts=self.catalogue.contracts(), now=self.now)
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
    if made.every is None and (
        lost := [said for said in _paraphrases(book, example) if not _same(stage, said, made)]
    ):
        return f"said as “{lost[0]}”, it is not the same plan"
    odd = {name: found.get(name, "") for name, value in example.slots.items() if found.get(name, "") != value}
    return "; ".join(f"{name} is “{value}”" for name, value in odd.items())


def _paraphrases(book: Runbook, example: Example) -> list[str]:
    """The same wish with words around it that mean nothing; patterns know only their own words."""
    return [f"please {example.say}", f"hey team, could you {example.say}? thanks!"] if book.asks else []


def _same(stage: Stage, say: str, made: Planned) -> bool:
    try:
        again = stage.plan(say)
    except SignoffError:
        return False
    return (again.runbook, again.slots) == (made.runbook, made.slots)


def _never(stage: Stage, book: Runbook, say: str) -> str:
    try:
        made = stage.plan(say)
    except SignoffError:
        return ""
    return "it became this plan" if made.runbook == book.id else ""
