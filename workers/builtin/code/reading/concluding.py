"""The end of an epic: what landed, what did not and why, as the branch says; its drafts are cleared away."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from workers.builtin.code.ground.git import Git
from workers.builtin.code.ground.refs import draft_ref, integrated
from workers.builtin.code.ground.rungs import forget_all, last_tried
from workers.builtin.code.ground.subtasks import Work

NAMED = 20  # subtasks in one list


@dataclass(frozen=True)
class Conclusion:
    """Titles of what is on the branch, and of what is not with the reason."""

    landed: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    tip: str

    def text(self) -> str:
        """The answer to the goal."""
        whole = len(self.landed) + len(self.left)
        return "\n".join([f"{len(self.landed)} of {whole} subtasks landed{self._where()}", *self._lists()])

    def _where(self) -> str:
        return f", at {self.tip[:8]}." if self.landed else "."

    def _lists(self) -> Iterator[str]:
        if self.landed:
            yield f"Landed: {_named(self.landed)}."
        for title, why in self.left[:NAMED]:
            yield f"Not landed: “{title}”: {why}"
        if len(self.left) > NAMED:
            yield f"… and {len(self.left) - NAMED} more that did not land."


def concluded(git: Git, work: Work, plan: int) -> Conclusion:
    """What came of each subtask."""
    tip = git.tip(integrated(plan))
    steps = set(git.trailers("Signoff-Step", work.start, tip)) if tip else set()
    landed, left = [], []
    for number, item in enumerate(work.items):
        if item.instead is not None:
            continue
        if _landed(work, number, steps):
            landed.append(item.title)
        else:
            left.append((item.title, _why(git, work, plan, number, steps)))
    return Conclusion(tuple(landed), tuple(left), tip)


def _landed(work: Work, number: int, steps: Collection[str]) -> bool:
    """Whether it did, or all that took its place."""
    later = work.successors(number)
    return f"change-{number}" in steps or (bool(later) and all(_landed(work, n, steps) for n in later))


def clear(git: Git, work: Work, plan: int) -> None:
    """No draft keeps a branch once the epic is over; the reports name their commits."""
    refs = [draft_ref(plan, f"change-{number}") for number in range(len(work.items))]
    git.forget([ref for ref in refs if git.tip(ref)])
    forget_all(git.entry.pool, plan)


def _why(git: Git, work: Work, plan: int, number: int, steps: Collection[str]) -> str:
    """Of what took its place, the first that did not land says why."""
    for later in work.successors(number):
        if not _landed(work, later, steps):
            return f"taken up again as “{work.item(later).title}”: {_why(git, work, plan, later, steps)}"
    step = f"change-{number}"
    if git.tip(draft_ref(plan, step)):
        return "it was drafted, and is green, but was not integrated"
    return last_tried(git.entry.pool, plan, step) or "it was not drafted"


def _named(titles: tuple[str, ...]) -> str:
    more = f" and {len(titles) - NAMED} more" if len(titles) > NAMED else ""
    return ", ".join(f"“{title}”" for title in titles[:NAMED]) + more
