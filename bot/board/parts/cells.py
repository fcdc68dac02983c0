"""Agents as cells, and how many there were at once as a line."""

from collections.abc import Sequence
from datetime import datetime

from bot.board.html import Safe, tag
from bot.board.parts.status import icon

MOST = 128  # cells that are drawn: past that the words count alone
SHAPES = {
    "run": [tag("rect", class_="f-run", x="1", y="1", width="18", height="18", rx="4")],
    "ask": [tag("path", class_="f-ask", d="M10 0 20 10 10 20 0 10z")],
    "idle": [
        tag("rect", class_="f-soft", x="1", y="1", width="18", height="18", rx="4"),
        tag("rect", class_="f-idle", x="6", y="9", width="8", height="2"),
    ],
    "hidden": [tag("rect", class_="k-box", x="1", y="1", width="18", height="18", rx="4")],
}
MARKS = {"run": "run", "ask": "ask", "idle": "wait"}


def cells(counts: Sequence[tuple[str, int, str]]) -> Safe | None:
    """(shape, how many, what they do): one cell for each, and the same in words."""
    found = [one for one in counts if one[1]]
    if not found:
        return None
    drawn = [tag("svg", *SHAPES[kind], viewBox="0 0 20 20", aria_hidden="true")
             for kind, count, _ in found for _ in range(count)][:MOST]  # fmt: skip
    said = ", ".join(f"{count} {word}" for _, count, word in found)
    words = [
        tag(
            "span",
            icon(MARKS[kind]) if kind in MARKS else None,
            f"{count} {word}",
            class_=f"s {MARKS.get(kind, 'wait')}",
        )
        for kind, count, word in found
    ]
    grid = tag("div", *drawn, class_="cells", role="img", aria_label=said)
    return tag("div", grid, tag("p", *words, class_="key pad-t"), class_="pad")


def climb(moves: Sequence[tuple[datetime, int]], start: datetime, end: datetime) -> Safe:
    """A line in steps: from each moment on, so many."""
    whole, top = (end - start).total_seconds(), max(count for _, count in moves) or 1
    before = next((count for at, count in reversed(moves) if at < start), 0)
    path, last = [f"M0 {_height(before, top)}"], before
    for at, count in moves:
        if start <= at <= end:
            path.append(f"H{100 * (at - start).total_seconds() / whole:.2f}V{_height(count, top)}")
            last = count
    line = tag("path", class_="k-acc", d="".join([*path, "H100"]))
    floor = tag("line", class_="k", x1="0", x2="100", y1="60", y2="60")
    said = f"{before} eight hours ago, {top} at most, {last} now"
    return tag("svg", floor, line, class_="spark", viewBox="0 0 100 64", preserveAspectRatio="none",
               role="img", aria_label=said)  # fmt: skip


def _height(count: int, top: int) -> str:
    return f"{60 - 54 * count / top:.1f}"
