"""Lanes: time from left to right, in percentages, so that they fit any width and need no script."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.board.html import Safe, tag
from bot.board.parts.times import Now

LATE = 60.0  # percent from which a label stands left of its bar


@dataclass(frozen=True)
class Scale:
    """A stretch of time, from edge to edge."""

    start: datetime
    end: datetime

    def at(self, moment: datetime) -> float:
        """Percent from the left, within the edges."""
        whole = (self.end - self.start).total_seconds() or 1.0
        return min(100.0, max(0.0, 100 * (moment - self.start).total_seconds() / whole))

    def holds(self, moment: datetime) -> bool:
        return self.start <= moment <= self.end

    def meets(self, start: datetime, end: datetime) -> bool:
        return start < self.end and end > self.start

    def ticks(self) -> list[datetime]:
        """Round moments, some eight of them."""
        whole = (self.end - self.start).total_seconds()
        step = next((s for s in STEPS if whole / s <= 9), STEPS[-1])
        first = self.start.timestamp() // step * step + step
        count = int((self.end.timestamp() - first) // step) + 1
        return [datetime.fromtimestamp(first + n * step, self.start.tzinfo) for n in range(max(0, count))]


STEPS = (1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 604800)


def p(value: float) -> str:
    return f"{value:.2f}%"


def lane(scale: Scale, now: datetime, said: str, *drawn: Safe | None) -> Safe:
    """One row's drawing; `said` is the same in words."""
    lines = [_tick(scale, moment) for moment in scale.ticks()]
    return tag("svg", *lines, *drawn, _now(scale, now), class_="lane", role="img", aria_label=said)


def axis(scale: Scale, now: Now) -> Safe:
    """The hours above the lanes, and this moment."""
    near = scale.at(now.at) if scale.holds(now.at) else -100.0
    short = (scale.end - scale.start) < timedelta(minutes=8)
    shift = 20 if near < 3 else -20 if near > 97 else 0  # within the edges
    labels = [
        tag("text", now.exact(t)[-8:] if short else now.clock(t)[-5:], x=p(scale.at(t) + 0.4), y="16")
        for t in scale.ticks()
        if abs(scale.at(t) - near) > 5 and scale.at(t) < 96
    ]
    here = (
        [
            tag(
                "rect",
                class_="f-bad",
                x=p(near),
                transform=f"translate({shift - 20} 0)",
                y="4",
                width="40",
                height="16",
                rx="3",
            ),
            tag(
                "text",
                now.clock(now.at)[-5:],
                class_="on",
                text_anchor="middle",
                x=p(near),
                dx=str(shift),
                y="16",
            ),
        ]
        if near >= 0
        else []
    )
    return tag("svg", *labels, *here, class_="lane", aria_hidden="true")


def band(scale: Scale, start: datetime, end: datetime, kind: str) -> Safe | None:
    """A window or a freeze, from top to bottom."""
    if not scale.meets(start, end):
        return None
    left, right = scale.at(start), scale.at(end)
    return tag("rect", class_=kind, x=p(left), width=p(right - left), height="100%")


def bar(scale: Scale, start: datetime, end: datetime, kind: str, *, y: int, height: int) -> Safe | None:
    """What took no time must still be seen."""
    if not scale.meets(start, max(end, start + timedelta(seconds=1))):
        return None
    left, right = scale.at(start), scale.at(end)
    return tag(
        "rect", class_=kind, x=p(left), width=p(max(0.35, right - left)), y=str(y), height=str(height), rx="3"
    )


def planned(
    scale: Scale, start: datetime, p50: datetime, p90: datetime, *, y: int, height: int, guess: bool = False
) -> list[Safe | None]:
    """From when to when it would run usually, and in a long run; a guess is dashed."""
    late, usual = ("f-plan2 est", "f-plan est") if guess else ("f-plan2", "f-plan")
    mark = tag("rect", class_="f-mute", x=p(scale.at(p90)), width="2", y=str(y - 3), height=str(height + 6))
    return [
        bar(scale, start, p90, late, y=y, height=height),
        bar(scale, start, p50, usual, y=y, height=height),
        mark if scale.holds(p90) else None,
    ]


def label(scale: Scale, start: datetime, end: datetime, text: str, *, y: int) -> Safe:
    """Beside the bar, on the side where there is room."""
    left, right = scale.at(start), scale.at(end)
    if right > LATE and left > 12:
        return tag("text", text, class_="in", text_anchor="end", x=p(left - 0.6), y=str(y))
    return tag("text", text, class_="in", x=p(right + 0.8), y=str(y))


def _tick(scale: Scale, moment: datetime) -> Safe:
    x = p(scale.at(moment))
    return tag("line", class_="k", x1=x, x2=x, y1="0", y2="100%")


def _now(scale: Scale, now: datetime) -> Safe | None:
    x = p(scale.at(now))
    return tag("line", class_="k-now", x1=x, x2=x, y1="0", y2="100%") if scale.holds(now) else None


def meter(done: float, usual: float, late: float, said: str) -> Safe:
    """How far something is: now, usual, long."""
    whole = max(done, late, 0.001)
    widths = (("f-plan2", 100.0), ("f-plan", 100 * usual / whole), ("f-run", 100 * done / whole))
    rects = [tag("rect", class_=kind, width=p(width), height="8", y="5", rx="4") for kind, width in widths]
    return tag("svg", *rects, class_="bar", role="img", aria_label=said)


def columns(values: Sequence[float], said: str, labels: Sequence[tuple[int, str]] = ()) -> Safe:
    """Bars beside each other, over one line of labels: (which bar, what it says)."""
    top, count = max([*values, 0.000001]), max(1, len(values))
    width = 100 / count
    bars = [
        tag(
            "rect",
            class_="f-run",
            x=p(n * width + width * 0.07),
            width=p(width * 0.86),
            rx="2",
            y=f"{58 - 54 * value / top:.1f}",
            height=f"{max(1.5 if value else 0, 54 * value / top):.1f}",
        )
        for n, value in enumerate(values)
    ]
    words = [
        tag(
            "text",
            text,
            x=p(min(99.0, at * width + width * 0.07)),
            y="73",
            text_anchor="end" if at > count * 0.8 else None,
        )
        for at, text in labels
    ]
    return tag("svg", *bars, *words, class_="columns", role="img", aria_label=said)
