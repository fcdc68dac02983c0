"""A subtask that no model got green falls into smaller ones, once: inside its paths, judged by its tests."""

from collections.abc import Sequence
from dataclasses import dataclass

from workers.base import Permanent
from workers.builtin.code.ground.git import Git
from workers.builtin.code.ground.refs import draft_ref
from workers.builtin.code.ground.repository import matches
from workers.builtin.code.ground.rungs import exhausted, last_tried
from workers.builtin.code.ground.subtasks import MOST, PARTS, Part, Subtask, Work, read_plan
from workers.builtin.code.reading import decomposing

AT_ONCE = 10  # subtasks of one epic that are cut smaller


@dataclass(frozen=True)
class Smaller:
    """The work with the parts behind it, what was cut and what was not, and what asking a model cost."""

    work: Work
    cut: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    model: str = ""
    usd: float = 0.0

    def said(self) -> str:
        done = f"cut smaller: {_named(self.cut)}" if self.cut else "nothing could be cut smaller"
        return f"{done}; a person's: {_named(self.whole)}" if self.whole else done


def smaller(git: Git, work: Work, plan: int, *, by_model: bool) -> Smaller:
    """What stayed red through the whole ladder, in its place two or three smaller ones."""
    found = Smaller(work)
    for number in [*_red(git, work, plan)][:AT_ONCE]:
        item = work.item(number)
        parts, model, usd = _parts(git, item, work, last_tried(git.entry.pool, plan, _step(number)), by_model)
        found = _with(found, number, parts, model, usd)
    return found


def _red(git: Git, work: Work, plan: int) -> Sequence[int]:
    pool, models = git.entry.pool, len(git.entry.models)
    return [
        number
        for number, item in enumerate(work.items)
        if item.instead is None
        and not work.successors(number)
        and exhausted(pool, plan, _step(number), models)
        and not git.tip(draft_ref(plan, _step(number)))
    ]


def _parts(
    git: Git, item: Subtask, work: Work, tried: str, by_model: bool
) -> tuple[tuple[Part, ...], str, float]:
    if item.parts or not by_model:
        return item.parts, "", 0.0

    def read(said: str) -> Work:
        cut = read_plan(said, work.repository, work.base)
        fitting(item, cut.items)
        return cut

    try:
        cut, model, usd = decomposing.split(item, tried, git.entry, read)
    except Permanent:  # a model that cuts nothing useful leaves it to a person
        return (), "", 0.0
    return cut.items, model, usd


def fitting(item: Subtask, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Two or three that together are judged by all that it is judged by, and change nothing else."""
    if not 2 <= len(parts) <= PARTS:
        raise Permanent(f"“{item.title}” falls into two or three parts, not {len(parts)}.")
    files = {test.partition("::")[0] for test in item.tests}
    for part in parts:
        if beyond := [path for path in part.paths if not matches(path, item.paths)]:
            raise Permanent(f"A part of “{item.title}” would change {beyond[0]}, which is not its own.")
        if beyond := [test for test in part.tests if test.partition("::")[0] not in files]:
            raise Permanent(f"A part of “{item.title}” is judged by {beyond[0]}, which is not its own.")
    named = {test for part in parts for test in part.tests}
    for test in item.tests:
        if not any(one == test or one.startswith(f"{test}::") for one in named):
            raise Permanent(f"No part of “{item.title}” is judged by {test}.")
    return tuple(parts)


def _with(found: Smaller, number: int, parts: Sequence[Part], model: str, usd: float) -> Smaller:
    work, title = found.work, found.work.item(number).title
    first = len(work.items)
    if not parts or first + len(parts) > MOST:
        return Smaller(work, found.cut, (*found.whole, title), found.model, found.usd)
    more = [_placed(part, first, number) for part in parts]
    work = work.model_copy(update={"items": (*work.items, *more)})
    return Smaller(work, (*found.cut, title), found.whole, model or found.model, round(found.usd + usd, 6))


def _placed(part: Part, first: int, number: int) -> Subtask:
    needs = [first + need for need in part.needs]
    own = {name: getattr(part, name) for name in Part.model_fields if name != "needs"}
    return Subtask.model_validate({**own, "needs": needs, "instead": number})


def _step(number: int) -> str:
    return f"change-{number}"


def _named(titles: Sequence[str]) -> str:
    return ", ".join(f"“{title}”" for title in titles)
