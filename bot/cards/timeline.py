"""The timeline of a finished plan as a picture: planned against actual. A pure function of the view."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from typing import TYPE_CHECKING

from bot.cards.face.ended import zone_of
from bot.cards.face.lines import subject, title
from bot.cards.phrases import lasting
from bot.untrusted import clip, legible
from storage.config import local
from storage.contract.states import StepState
from storage.reading.plan_view import PlanView, StepView

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

Span = tuple[datetime, datetime]

ROW, TOP, NAMES, WIDTH, EDGE = 64, 96, 460, 1500, 60
INK, FAINT, PLANNED = "#1f2937", "#9ca3af", "#cbd5e1"
COLOURS = {StepState.succeeded: "#16a34a", StepState.failed: "#dc2626", StepState.unknown: "#d97706"}
ROOMY = 40  # a longer plan has narrow rows, and says only when its steps ran
NARROW = 30
THIN = 8  # pixels of what took next to no time


@dataclass(frozen=True)
class Bar:
    """One step: when it would have run, and when it ran."""

    name: str
    said: str
    colour: str
    planned: Span | None
    actual: Span | None


@dataclass(frozen=True)
class Axis:
    """Time from left to right; long pauses in which nothing happens are cut short."""

    pieces: tuple[Span, ...]
    pause: float  # seconds that a cut takes on the axis

    def at(self, moment: datetime) -> float:
        """Seconds from the left edge."""
        passed = 0.0
        for start, end in self.pieces:
            if moment <= end:
                return passed + max(0.0, (moment - start).total_seconds())
            passed += (end - start).total_seconds() + self.pause
        return passed - self.pause

    @property
    def length(self) -> float:
        return max(self.at(self.pieces[-1][1]), 0.001)


def timeline(view: PlanView, typical: Mapping[str, float]) -> bytes:
    """A PNG; `typical` are the seconds that steps were expected to take, of those that have run before."""
    from PIL import Image, ImageDraw

    rows = bars(view, typical)
    height = ROW if len(rows) <= ROOMY else NARROW
    spans = [span for bar in rows for span in (bar.planned, bar.actual) if span]
    scale = axis(spans or [(view.created_at, view.created_at)])
    picture = Image.new("RGB", (WIDTH, TOP + height * len(rows) + 56), "white")
    draw = ImageDraw.Draw(picture)
    _heading(draw, view, planned=any(bar.planned for bar in rows))
    for number, bar in enumerate(rows):
        _row(draw, bar, scale, TOP + height * number, height)
    _scale(draw, scale, TOP + height * len(rows), zone_of(view) or "UTC")
    out = BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def bars(view: PlanView, typical: Mapping[str, float]) -> list[Bar]:
    """Each step, planned from the moment the first one started."""
    origin = min((step.started_at for step in view.steps if step.started_at), default=view.created_at)
    ends: dict[str, datetime] = {}
    made = []
    for step in view.steps:
        needs = [ends[key] for key in step.spec.depends_on if key in ends]
        start = max([origin, *needs, *filter(None, [step.spec.schedule.not_before])])
        end = start + timedelta(seconds=typical.get(step.spec.id, 0.0))
        known = step.spec.id in typical and not step.undo
        ends[step.spec.id] = end if known else step.ended_at or end  # what nobody knew before is as it was
        made.append(_bar(view, step, (start, end) if known else None))
    return made


def axis(spans: Iterable[Span]) -> Axis:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    busy = sum((end - start).total_seconds() for start, end in merged) or 1.0
    return Axis(_joined(merged, busy * 0.3), busy * 0.1)


def _joined(merged: Sequence[Span], longest: float) -> tuple[Span, ...]:
    """Pauses that are short enough to be drawn as long as they were."""
    kept: list[Span] = []
    for start, end in merged:
        if kept and (start - kept[-1][1]).total_seconds() <= longest:
            kept[-1] = (kept[-1][0], end)
        else:
            kept.append((start, end))
    return tuple(kept)


def _bar(view: PlanView, step: StepView, planned: Span | None) -> Bar:
    actual = (step.started_at, step.ended_at) if step.started_at and step.ended_at else None
    expected = f" · planned {lasting((planned[1] - planned[0]).total_seconds())}" if planned else ""
    took = f"took {lasting(step.took.total_seconds())}" if step.took else f"{step.state}, not run"
    colour = COLOURS.get(step.state, FAINT)
    return Bar(
        clip(legible(clip(title(view, step.spec), 200)).replace("\n", " "), 48),
        f"{took}{expected}",
        colour,
        planned,
        actual,
    )


def _heading(draw: "ImageDraw.ImageDraw", view: PlanView, *, planned: bool) -> None:
    goal = subject(view)
    draw.text((EDGE, 24), clip(legible(clip(goal, 200)).replace("\n", " "), 90), INK, _font(26))
    if not planned:
        return  # there is one kind of bar
    draw.rectangle((EDGE, 68, EDGE + 28, 78), PLANNED)
    draw.text((EDGE + 38, 62), "planned", FAINT, _font(18))
    draw.rectangle((EDGE + 130, 68, EDGE + 158, 78), COLOURS[StepState.succeeded])
    draw.text((EDGE + 168, 62), "actual", FAINT, _font(18))


def _row(draw: "ImageDraw.ImageDraw", bar: Bar, scale: Axis, y: int, height: int) -> None:
    draw.line((EDGE, y, WIDTH - EDGE, y), "#e5e7eb")
    roomy = height == ROW
    draw.text((EDGE, y + (10 if roomy else 5)), clip(bar.name, 44), INK, _font(19 if roomy else 16))
    if roomy:
        draw.text((EDGE, y + 35), bar.said, FAINT, _font(16))
    part = height / ROW
    if bar.planned:
        draw.rectangle((*_ends(scale, bar.planned, y + round(14 * part), y + round(28 * part)),), PLANNED)
    if bar.actual:
        draw.rectangle((*_ends(scale, bar.actual, y + round(32 * part), y + round(50 * part)),), bar.colour)


def _ends(scale: Axis, span: Span, top: int, bottom: int) -> tuple[float, int, float, int]:
    left, right = _x(scale, span[0]), _x(scale, span[1])
    left = min(left, WIDTH - EDGE - THIN)
    return left, top, max(right, left + THIN), bottom  # what took no time must still be seen


def _scale(draw: "ImageDraw.ImageDraw", scale: Axis, y: int, zone: str) -> None:
    """The time at each end, and how long each cut is."""
    draw.line((NAMES + EDGE, y, WIDTH - EDGE, y), FAINT)
    for number, (start, _) in enumerate(scale.pieces):
        x = _x(scale, start)
        draw.line((x, TOP, x, y + 6), "#e5e7eb")
        draw.text((x, y + 12), f"{local(start, zone):%H:%M:%S}", INK, _font(16))
        if number:
            gap = (start - scale.pieces[number - 1][1]).total_seconds()
            draw.text(
                (_x(scale, scale.pieces[number - 1][1]) + 4, TOP - 24), f"… {lasting(gap)}", FAINT, _font(16)
            )
    last = local(scale.pieces[-1][1], zone)
    draw.text((WIDTH - EDGE, y + 12), f"{last:%H:%M:%S} {last.tzname()}", INK, _font(16), anchor="ra")


def _x(scale: Axis, moment: datetime) -> float:
    left, right = NAMES + EDGE, WIDTH - EDGE
    return left + (right - left) * scale.at(moment) / scale.length


def _font(size: int) -> "ImageFont.FreeTypeFont | ImageFont.ImageFont":
    from PIL import ImageFont

    return ImageFont.load_default(size)
