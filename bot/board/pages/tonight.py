"""Tonight: a lane for each plan against windows and freezes, where there is room, what will not fit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.board.html import Safe, joined, tag
from bot.board.parts.cut import Planned, actual, plans
from bot.board.parts.frame import button, empty, heading, panel, shell
from bot.board.parts.lanes import Scale, axis, band, bar, label, lane, planned
from bot.board.parts.status import COLOURS, icon, of_plan, of_step, status
from bot.board.parts.telling import Telling, slim
from bot.board.parts.times import brief
from bot.cards.face.lines import subject
from bot.times.zones import city
from bot.untrusted import clip
from storage.config import local
from storage.contract.states import OPEN, PlanState, StepState
from storage.reading.plan_view import PlanView

ROOM = timedelta(minutes=20)  # what counts as room
MOST = 200  # lanes
ELSEWHERE = "no environment"


@dataclass(frozen=True)
class Held:
    """A window, or a freeze, by name: when, and where."""

    name: str
    start: datetime
    end: datetime
    environments: tuple[str, ...]

    def serves(self, environment: str) -> bool:
        return not self.environments or environment in self.environments


@dataclass(frozen=True)
class TonightFacts:
    scale: Scale
    views: Sequence[PlanView]
    hidden: Sequence[PlanView]  # of these only that there is something is shown
    windows: Sequence[Held]
    freezes: Sequence[Held]
    offset: int = 0  # nights from this one


def environment(view: PlanView, tell: Telling) -> str:
    """Where it changes something, or else where it looks."""
    steps = sorted((step.spec for step in view.steps), key=lambda step: not view.changes_something(step))
    found = ((tell.contracts.get((step.worker, step.action)) or view.contract(step), step) for step in steps)
    return next(
        (place for made, step in found if made and (place := made.environment(step.parameters))), ELSEWHERE
    )


def ahead(view: PlanView, tell: Telling) -> list[Planned]:
    """What it has yet to do, if it goes on."""
    left = {step.spec.id for step in view.steps if step.state == StepState.pending}
    return [plan for key, plan in plans(view, tell).items() if key in left] if view.state in OPEN else []


def reach(view: PlanView, tell: Telling) -> tuple[datetime, datetime] | None:
    """From its first start to the end of a long run."""
    spans = [(one.start, one.p90) for one in ahead(view, tell)]
    spans += [span for step in view.steps if (span := actual(step, tell.now.at))]
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None


def tonight_page(facts: TonightFacts, tell: Telling) -> Safe:
    scale = facts.scale
    zone = f"in {city(tell.now.zone)}" if tell.now.zone != "UTC" else "UTC"
    day = local(scale.start, tell.now.zone)
    stretch = f"{day:%a %d %b}, {day:%H:%M} to {local(scale.end, tell.now.zone):%H:%M} {zone}"
    said = f"{stretch}. Planned spans come from the last 200 runs of each action."
    acts = [
        button("‹ Earlier", f"/tonight?night={facts.offset - 1}"),
        button("Tonight", "/tonight", current=not facts.offset),
        button("Later ›", f"/tonight?night={facts.offset + 1}"),
    ]
    shown = [view for view in facts.views if (span := reach(view, tell)) and scale.meets(*span)][:MOST]
    hidden = [view for view in facts.hidden if (span := reach(view, tell)) and scale.meets(*span)]
    places = sorted(
        {
            *(environment(view, tell) for view in [*shown, *hidden]),
            *(e for w in facts.windows for e in w.environments),
        },
        key=_order,
    )
    groups = [part for place in places for part in _group(place, shown, hidden, facts, tell)]
    lanes = tag(
        "ol", tag("li", tag("div", class_="l"), axis(scale, tell.now), class_="ax"), *groups, class_="gantt"
    )
    below = tag("div", _room(places, shown, hidden, facts, tell), _trouble(shown, facts, tell), class_="two")
    picture = panel("All targets", lanes if groups else empty("Nothing is planned."), aside=_key())
    return shell(joined(heading("Tonight", said, *acts), tag("div", picture, below, class_="stack")))


def _order(place: str) -> tuple[bool, str]:
    return (place == ELSEWHERE, place)


def _group(
    place: str, shown: Sequence[PlanView], hidden: Sequence[PlanView], facts: TonightFacts, tell: Telling
) -> list[Safe]:
    mine = [view for view in shown if environment(view, tell) == place]
    theirs = [view for view in hidden if environment(view, tell) == place]
    windows = [one for one in facts.windows if one.serves(place) and facts.scale.meets(one.start, one.end)]
    if not (mine or theirs or windows):
        return []
    bands = [band(facts.scale, one.start, one.end, "f-band") for one in windows]
    words = [
        tag(
            "text",
            f"{one.name}, {tell.now.clock(one.start)[-5:]} to {tell.now.clock(one.end)[-5:]}",
            x=f"{facts.scale.at(one.start) + 0.5:.2f}%",
            y="16",
        )
        for one in windows
    ]
    said = f"{place}: " + (", ".join(f"window {one.name}" for one in windows) or "no window")
    head = tag(
        "li",
        tag("div", tag("span", place), class_="l"),
        lane(facts.scale, tell.now.at, said, *bands, *words),
        class_="g",
    )
    return [
        head,
        *(_lane(view, place, facts, tell) for view in mine),
        *(_hidden(view, place, facts, tell) for view in theirs),
    ]


def _behind(place: str, facts: TonightFacts) -> list[Safe | None]:
    """Windows tinted, freezes hatched."""
    return [
        *(band(facts.scale, one.start, one.end, "f-band") for one in facts.windows if one.serves(place)),
        *(band(facts.scale, one.start, one.end, "f-hatch") for one in facts.freezes if one.serves(place)),
    ]


def _lane(view: PlanView, place: str, facts: TonightFacts, tell: Telling) -> Safe:
    scale, (kind, word) = facts.scale, of_plan(view, tell.now.at)
    parts = _behind(place, facts)
    for one in ahead(view, tell):
        parts += planned(scale, one.start, one.p50, one.p90, y=9, height=16, guess=one.guess)
    for step in view.steps:
        if span := actual(step, tell.now.at):
            parts.append(bar(scale, *span, COLOURS.get(of_step(step)[0], "f-idle"), y=9, height=16))
    span = reach(view, tell) or (tell.now.at, tell.now.at)
    text = _words(view, tell)
    said = f"{word}: from {tell.now.clock(span[0])}, in a long run until {tell.now.clock(span[1])}; {text}"
    title = tag(
        "a", tag("span", f"#{view.id}", class_="num"), " ", clip(subject(view), 80), href=f"/plans/{view.id}"
    )
    name = tag(
        "div",
        tag("span", icon(kind), tag("span", word, class_="sr"), class_=f"s {_colour(kind)}"),
        title,
        class_="l",
    )
    return tag(
        "li", name, lane(scale, tell.now.at, said, *parts, label(scale, *span, text, y=21)), id=f"t{view.id}"
    )


def _colour(kind: str) -> str:
    return "ask" if kind == "unknown" else "wait" if kind == "skip" else kind


def _words(view: PlanView, tell: Telling) -> str:
    kind, word = of_plan(view, tell.now.at)
    coming = ahead(view, tell)
    if kind == "run" and coming:
        return f"usually until {tell.now.clock(max(one.p50 for one in coming))[-5:]}"
    if view.state == PlanState.proposed:
        missing = max(1, view.needed - len(view.approved_by))
        return f"{missing} approval{'s' * (missing > 1)} missing"
    if coming:
        total = sum((one.p50 - one.start).total_seconds() for one in coming)
        return f"{tell.now.clock(coming[0].start)[-5:]}, usually {brief(total)}"
    return word.lower()


def _hidden(view: PlanView, place: str, facts: TonightFacts, tell: Telling) -> Safe:
    """There is something, so that a gap does not look free: no number, no words, no target."""
    span = reach(view, tell) or (tell.now.at, tell.now.at)
    box = bar(facts.scale, *span, "k-box", y=9, height=16)
    name = tag(
        "div",
        tag("span", icon("wait"), class_="s wait"),
        tag("span", "a private plan", class_="mute"),
        class_="l",
    )
    return tag("li", name, lane(facts.scale, tell.now.at, "a private plan", *_behind(place, facts), box))


def free(spans: Iterable[tuple[datetime, datetime]], start: datetime, end: datetime) -> datetime | None:
    """The first moment in [start, end) from which there is room."""
    at = start
    for begins, ends in sorted(spans):
        if begins - at >= ROOM:
            break
        at = max(at, ends) if ends > at else at
    return at if end - at >= ROOM else None


def _room(
    places: Sequence[str],
    shown: Sequence[PlanView],
    hidden: Sequence[PlanView],
    facts: TonightFacts,
    tell: Telling,
) -> Safe:
    rows = []
    for place in places:
        spans = [
            span
            for view in [*shown, *hidden]
            if environment(view, tell) == place and (span := reach(view, tell))
        ]
        spans += [(one.start, one.end) for one in facts.freezes if one.serves(place)]
        for window in (one for one in facts.windows if place in one.environments):
            found = (
                free(spans, max(window.start, tell.now.at), window.end) if window.end > tell.now.at else None
            )
            when = tag("b", tell.now.clock(found)[-5:]) if found else tag("b", "none", class_="ask")
            about = (
                "nothing else runs there" if found else "something runs, is planned or frozen until it closes"
            )
            rows.append(slim(tag("span", f"{place}, in the window {window.name}", class_="t"), about, when))
    body = tag("ol", *rows, class_="rows slim") if rows else empty("No window opens in this time.")
    return panel("Where there is room", body, aside="for a step of 20 min, with nothing beside it")


def _trouble(shown: Sequence[PlanView], facts: TonightFacts, tell: Telling) -> Safe:
    rows = [row for view in shown for row in _troubles(view, tell)]
    rows += [
        slim(
            tag("span", f"Freeze {one.name}", class_="t"),
            f"{', '.join(one.environments) or 'everything'}, until {tell.now.clock(one.end)}",
            status("hold", "Held"),
        )
        for one in facts.freezes
        if facts.scale.meets(one.start, one.end)
    ]
    return panel(
        "What will not go as planned",
        tag("ol", *rows, class_="rows slim") if rows else empty("Nothing that is known."),
    )


def _troubles(view: PlanView, tell: Telling) -> list[Safe]:
    title = tag(
        "a",
        tag("span", f"#{view.id}", class_="num"),
        " ",
        clip(subject(view), 80),
        class_="t",
        href=f"/plans/{view.id}",
    )
    times = plans(view, tell)
    late = [
        step
        for step in view.steps
        if step.state == StepState.pending
        and step.not_after
        and step.spec.id in times
        and times[step.spec.id].p90 > step.not_after
    ]
    found = [
        slim(
            title,
            f"a long run ends {tell.now.clock(times[step.spec.id].p90)}; "
            f"its time ends {tell.now.clock(step.not_after)}",
            status("ask", "May not fit"),
        )
        for step in late[:1]
        if step.not_after
    ]
    if view.state == PlanState.proposed and view.expires_at:
        found.append(
            slim(
                title,
                f"expires {tell.now.clock(view.expires_at)} unless somebody approves",
                status("ask", "Approve"),
            )
        )
    if of_plan(view, tell.now.at)[0] == "hold":
        found.append(slim(title, "held: its page says why", status("hold", "Held")))
    return found


def _key() -> Safe:
    kinds = (
        ("f-band", "window"),
        ("f-hatch", "freeze"),
        ("f-plan", "planned: p50, p90"),
        ("f-run", "running"),
        ("f-ok", "done"),
        ("f-bad", "failed"),
        ("f-ask", "unknown"),
    )
    parts = [
        tag(
            "span",
            tag("svg", tag("rect", class_=kind, width="22", y="2", height="8", rx="2"), aria_hidden="true"),
            word,
        )
        for kind, word in kinds
    ]
    return tag("span", *parts, class_="key")
