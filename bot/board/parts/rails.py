"""The graph of steps as rails, as `git log --graph` draws commits."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.board.html import Safe, tag
from storage.contract.spec import StepSpec

MOST = 3  # rails; a plan that needs more says “after 2, 5” in words
WIDTH, HEIGHT = 16, 46


@dataclass(frozen=True)
class Rail:
    """One row: where its step stands, and which rails pass above and below it."""

    at: int
    above: tuple[tuple[int, int], ...]  # (rail at the top, rail in the middle)
    below: tuple[tuple[int, int], ...]  # (rail in the middle, rail at the bottom)


def rails(steps: Sequence[StepSpec]) -> list[Rail] | None:
    """A rail for each step; None where there would be too many. Steps come after what they depend on."""
    waiting: dict[str, set[str]] = {
        step.id: {s.id for s in steps if step.id in s.depends_on} for step in steps
    }
    open_: list[str] = []  # which step's outgoing line runs on each rail
    found: list[Rail] = []
    for step in steps:
        needs = [rail for rail, name in enumerate(open_) if name in step.depends_on]
        before = list(open_)
        for name in step.depends_on:
            waiting.get(name, set()).discard(step.id)
        at = needs[0] if needs and not waiting[before[needs[0]]] else _free(open_, waiting)
        joins = [(rail, at) for rail in needs]
        stays = [
            (rail, rail) for rail, name in enumerate(before) if name and (rail not in needs or waiting[name])
        ]
        above = (*dict.fromkeys([*joins, *stays]),)
        after = [name if name and waiting.get(name) else "" for name in before]
        after += [""] * (at + 1 - len(after))
        passing = tuple((rail, rail) for rail, name in enumerate(after) if name and rail != at)
        if waiting[step.id]:
            after[at] = step.id
        while after and not after[-1]:
            after.pop()
        own = ((at, at),) if waiting[step.id] else ()
        found.append(Rail(at, above, (*passing, *own)))
        open_ = after
    return found if max((rail.at for rail in found), default=0) < MOST else None


def _free(open_: Sequence[str], waiting: dict[str, set[str]]) -> int:
    return next((rail for rail, name in enumerate(open_) if not name or not waiting.get(name)), len(open_))


def drawn(rail: Rail, colour: str, *, hollow: bool, height: int = HEIGHT) -> Safe:
    middle = height / 2
    lines = [_line(a, b, 0, middle) for a, b in rail.above] + [
        _line(a, b, middle, height) for a, b in rail.below
    ]
    x = str(_x(rail.at))
    dot = (
        [
            tag("circle", class_="f-panel", cx=x, cy=f"{middle:g}", r="5.5"),
            tag("circle", class_="k-ink", cx=x, cy=f"{middle:g}", r="5"),
        ]
        if hollow
        else [tag("circle", class_=colour, cx=x, cy=f"{middle:g}", r="5.5")]
    )
    return tag(
        "svg",
        *lines,
        *dot,
        class_="rail",
        viewBox=f"0 0 52 {height}",
        aria_hidden="true",
        preserveAspectRatio="xMinYMid meet",
    )


def _x(rail: int) -> int:
    return 14 + WIDTH * rail


def _line(start: int, end: int, top: float, bottom: float) -> Safe:
    a, b, bend = _x(start), _x(end), (bottom - top) * 0.6
    path = (
        f"M{a} {top:g}V{bottom:g}"
        if a == b
        else f"M{a} {top:g}C{a} {top + bend:g} {b} {bottom - bend:g} {b} {bottom:g}"
    )
    return tag("path", class_="k-ink", d=path)
