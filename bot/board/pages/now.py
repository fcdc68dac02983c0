"""Now: what needs a person first, then what runs, waits, is held, and what has ended today."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.board.html import Safe, joined, tag
from bot.board.parts.frame import empty, heading, panel, shell
from bot.board.parts.lanes import meter
from bot.board.parts.status import ended, of_plan
from bot.board.parts.telling import Telling, asked, elapsed, line_title, risk, row, slim, title, usually, why
from bot.board.parts.times import share
from bot.cards.phrases import waiting
from bot.untrusted import clip
from storage.board.lines import PlanLine
from storage.board.sums import Sums
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import PlanView

ENDED = 6  # of today's ends that are listed


@dataclass(frozen=True)
class Vital:
    """One sign of how Signoff itself does."""

    name: str
    about: str
    value: str
    kind: str = "ok"


@dataclass(frozen=True)
class NowFacts:
    """What somebody may see of this moment."""

    open: Sequence[PlanView]
    ended: Sequence[tuple[PlanLine, str]]  # the latest of today, with what each was
    week: Sums
    vitals: Sequence[Vital]
    today: int = 0  # how many ended today


def sorted_out(views: Sequence[PlanView], now: datetime) -> dict[str, list[PlanView]]:
    """By what they wait for."""
    found: dict[str, list[PlanView]] = {"ask": [], "run": [], "wait": [], "hold": []}
    for view in views:
        kind, _ = of_plan(view, now)
        found["ask" if kind == "unknown" else kind if kind in found else "run"].append(view)
    unknown = [view for view in found["ask"] if of_plan(view, now)[0] == "unknown"]
    found["ask"] = [*unknown, *(view for view in found["ask"] if view not in unknown)]
    return found


def now_page(facts: NowFacts, tell: Telling) -> Safe:
    groups = sorted_out(facts.open, tell.now.at)
    left = [
        _panel(
            "n-ask",
            "Needs a person",
            [_asking(view, tell) for view in groups["ask"]],
            "oldest first",
            "Nothing waits for a person.",
        ),
        _panel(
            "n-run",
            "Running",
            [_running(view, tell) for view in groups["run"]],
            "bar: now · usual (p50) · long (p90)",
            "Nothing runs.",
        ),
        _panel(
            "n-wait",
            "Waits for its time",
            [_waiting(view, tell) for view in groups["wait"]],
            tag("a", "Tonight, as a picture", href="/tonight"),
            "Nothing waits for its time.",
        ),
        _panel("n-hold", "Held, and why", [_held(view, tell) for view in groups["hold"]], "", "")
        if groups["hold"]
        else None,
    ]
    right = [_vitals(facts.vitals), _recovery(facts.week), _ended(facts, tell)]
    said = f"{tell.now.said}. What waits for a person comes first."
    columns = tag("div", tag("div", *left, class_="stack"), tag("div", *right, class_="stack"), class_="cols")
    return shell(joined(heading("Now", said), _strip(groups, facts), columns))


def _strip(groups: dict[str, list[PlanView]], facts: NowFacts) -> Safe:
    parts = [
        ("#n-ask", len(groups["ask"]), "need a person", "ask" if groups["ask"] else None),
        ("#n-run", len(groups["run"]), "running", "run" if groups["run"] else None),
        ("#n-wait", len(groups["wait"]), "wait for their time", None),
        ("#n-hold" if groups["hold"] else "#n-wait", len(groups["hold"]), "held", None),
        ("#n-end", facts.today, "ended today", None),
    ]
    cells = [tag("a", tag("b", str(count), class_=kind), word, href=to) for to, count, word, kind in parts]
    return tag("nav", *cells, class_="strip", aria_label="Open plans by what they wait for")


def _panel(id_: str, name: str, rows: list[Safe], aside: Safe | str, none: str) -> Safe:
    body = tag("ol", *rows, class_="rows") if rows else empty(none)
    return panel(name, body, aside=aside if rows else None, id=id_)


def _asking(view: PlanView, tell: Telling) -> Safe:
    kind, word = of_plan(view, tell.now.at)
    since = tell.since.get(view.id, view.made_at or view.created_at)
    aside: list[Safe | str] = [joined("asks ", tell.people(asked(view)), f" · {tell.now.ago(since)}")]
    if kind == "unknown":
        aside += [f"holds {target}" for target in held(view)[:1]]
    elif view.state == PlanState.proposed and view.expires_at:
        aside.append(f"expires {tell.now.ahead(view.expires_at)}")
    else:
        aside.append(f"in {tell.where(view.channel)}")
    about = joined(risk(view) if view.state == PlanState.proposed else None, " ", why(view, tell.now.at))
    return row(kind, word, title(view), about, aside=aside, act=tell.open_in_slack(view), id_=f"p{view.id}")


def held(view: PlanView) -> list[str]:
    """What a step keeps from everybody else as long as nobody knows whether it ran."""
    unknown = (step for step in view.steps if step.state == StepState.unknown)
    found = ((view.contract(step.spec), step.spec.parameters) for step in unknown)
    return [target for made, given in found if made and (target := made.locks(given))]


def _running(view: PlanView, tell: Telling) -> Safe:
    kind, word = of_plan(view, tell.now.at)
    step = next((one for one in view.steps if one.state == StepState.running), None)
    if step is None:
        about = "the planner is at work" if view.state == PlanState.planning else "about to start"
        return row(
            kind,
            word,
            title(view),
            about,
            aside=[f"since {tell.now.ago(view.created_at)}"],
            act=tell.open_in_slack(view),
            id_=f"p{view.id}",
        )
    done, span = elapsed(step, tell.now.at), tell.span(view, step.spec)
    said = usually(done, span)
    bar = joined(meter(done, span.p50, span.p90, said), tag("span", said))
    done_ = sum(one.state == StepState.succeeded for one in view.steps)
    so_far = f"{done_} of {len(view.steps)} steps done" if done_ else ""
    about = clip(" · ".join(filter(None, [step.progress, step.spec.worker, so_far])), 160)
    return row(kind, word, title(view), about, aside=[bar], act=tell.open_in_slack(view), id_=f"p{view.id}")


def _waiting(view: PlanView, tell: Telling) -> Safe:
    now = tell.now
    step = min(
        (s for s in view.steps if s.state == StepState.pending and s.not_before and s.not_before > now.at),
        key=lambda s: s.not_before or now.at,
    )
    begins = step.not_before or now.at
    done = sum(one.state == StepState.succeeded for one in view.steps)
    about = f"{done} of {len(view.steps)} steps done" if done else "nothing of it has begun"
    if step.not_after and begins.timestamp() + tell.span(view, step.spec).p90 > step.not_after.timestamp():
        late: Safe | str = tag(
            "span", f"a long run does not end by {now.clock(step.not_after)}", class_="ask"
        )
    else:
        late = f"until {now.clock(step.not_after)}" if step.not_after else now.both(begins)
    aside: list[Safe | str] = [now.ahead(begins), late]
    return row(
        "wait",
        now.clock(begins)[-5:],
        title(view),
        about,
        aside=aside,
        act=tell.open_in_slack(view),
        id_=f"p{view.id}",
    )


def _held(view: PlanView, tell: Telling) -> Safe:
    step = next(
        s for s in view.steps if s.state == StepState.pending and (s.stopped or s.withheld or s.held_by)
    )
    since = tell.since.get(view.id, view.created_at)
    aside: list[Safe | str] = [f"since {tell.now.clock(since)}", tell.now.ago(since)]
    return row(
        "hold",
        "Held",
        title(view),
        clip(waiting(step, tell.now.at), 240),
        aside=aside,
        act=tell.open_in_slack(view),
        id_=f"p{view.id}",
    )


def _vitals(vitals: Sequence[Vital]) -> Safe:
    rows = [
        slim(tag("span", one.name, class_="t"), one.about, tag("div", one.value, class_=one.kind))
        for one in vitals
    ]
    return panel(
        "Signoff itself", tag("ol", *rows, class_="rows slim"), aside=tag("a", "Fleet", href="/fleet")
    )


def _recovery(week: Sums) -> Safe:
    said = (
        f"{week.recovered} of {week.troubled} plans with a failure on the way ended well without a person."
        if week.troubled
        else "No plan had a failure on the way."
    )
    big = tag("p", share(week.recovered, week.troubled), class_="big") if week.troubled else None
    link = tag("a", "Figures", href="/figures")
    return panel("Recovery, 7 days", tag("div", big, tag("p", said, class_="mute"), class_="pad"), aside=link)


def _ended(facts: NowFacts, tell: Telling) -> Safe:
    rows = [
        slim(
            line_title(line, said),
            f"asked {tell.now.clock(line.created_at)} by {tell.who(line.requester)}",
            ended(line.state, line.outcome),
            id_=f"e{line.id}",
        )
        for line, said in facts.ended
    ]
    body = tag("ol", *rows, class_="rows slim") if rows else empty("Nothing has ended today.")
    return panel("Ended today", body, aside=tag("a", "All plans", href="/plans"), id="n-end")
