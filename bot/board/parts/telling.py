"""What pages need to tell of a plan: names, this moment, the way to Slack, how long things take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.board.html import Safe, joined, tag
from bot.board.parts.frame import button
from bot.board.parts.status import status
from bot.board.parts.times import Now, brief
from bot.cards.face.lines import subject
from bot.cards.face.running import stands
from bot.untrusted import clip
from storage.board.lines import PlanLine
from storage.board.spans import Span
from storage.contract.capability import Contract
from storage.contract.spec import StepSpec
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import PlanView, StepView


@dataclass(frozen=True)
class Telling:
    """Handed to every page."""

    now: Now
    who: Callable[[str], str]
    where: Callable[[str], str]
    slack: Callable[[PlanView], str]  # the address of its card; "" while it has none
    spans: Mapping[tuple[str, str], Span] = field(default_factory=dict)
    since: Mapping[int, datetime] = field(default_factory=dict)  # plan → when something last happened to it
    contracts: Mapping[tuple[str, str], Contract] = field(default_factory=dict)  # with the names they know

    def span(self, view: PlanView, step: StepSpec) -> Span:
        """What was measured, or what the contract says."""
        known = self.spans.get((step.worker, step.action))
        if known:
            return known
        contract = view.contract(step)
        typical = contract.typical if contract else 0.0
        return Span(typical, typical * 2, 0, typical)

    def people(self, ids: list[str]) -> Safe:
        """Some of them by name, and how many more."""
        shown = [tag("b", self.who(id_)) for id_ in ids[:3]]
        more = [f" and {len(ids) - 3} more"] if len(ids) > 3 else []
        parts = [part for one in shown for part in (" or ", one)][1:]
        return joined(*parts, *more) if ids else joined("nobody")

    def open_in_slack(self, view: PlanView, *, main: bool = False) -> Safe | None:
        address = self.slack(view)
        words = "Open in Slack ↗" if main else "Slack ↗"
        return button(words, address, main=main, about=f"Open plan {view.id} in Slack") if address else None


def title(view: PlanView) -> Safe:
    """The plan's number and what it does, as a link to its page."""
    number = tag("span", f"#{view.id}", class_="num")
    return tag("a", number, " ", clip(subject(view), 160), class_="t", href=f"/plans/{view.id}")


def line_title(line: PlanLine, words: str = "") -> Safe:
    number = tag("span", f"#{line.id}", class_="num")
    return tag("a", number, " ", clip(words or line.text, 160), class_="t", href=f"/plans/{line.id}")


def asked(view: PlanView) -> list[str]:
    """Whom it waits for."""
    if view.state == PlanState.planning or (view.state == PlanState.stalled and not view.steps):
        return [view.requester]
    able = [id_ for id_ in view.approvers if id_ not in view.authors or view.demands.authors]
    return able if view.state == PlanState.proposed else [*dict.fromkeys([view.requester, *view.approvers])]


def why(view: PlanView, now: datetime) -> str:
    """What is asked of a person, in a sentence."""
    unknown = next((step for step in view.steps if step.state == StepState.unknown), None)
    if unknown:
        return "The worker was cut off inside a step that must not run twice. Did it run?"
    if view.state == PlanState.proposed:
        given = f" · {len(view.approved_by)} of {view.needed} approvals" if view.needed > 1 else ""
        return f"{len(view.steps)} step{'s' * (len(view.steps) != 1)} · revision {view.revision}{given}"
    if view.form:
        return "Something is missing before there can be a plan."
    failed = next((step for step in view.steps if step.state == StepState.failed), None)
    said = stands(failed, now) if failed else ""
    return clip(said or view.reason or "How shall it go on?", 200)


def risk(view: PlanView) -> Safe | None:
    if not view.risk:
        return None
    return tag("span", f"{view.risk} risk", class_="tag high" if view.risk == "high" else "tag")


def row(kind: str, word: str, what: Safe, *about: Safe | str | None, aside: list[Safe | str] | None = None,
        act: Safe | None = None, id_: str = "") -> Safe:  # fmt: skip
    """One line of a list: state, what, whom and when, and the way to act on it."""
    side = [part for one in (aside or []) for part in (tag("br"), one)][1:]
    return tag(
        "li",
        status(kind, word),
        tag("div", what, tag("small", *about) if any(about) else None, class_="m"),
        tag("div", *side, class_="w mute"),
        tag("span", act, class_="go") if act else tag("span", class_="go"),
        id=id_ or None,
    )


def slim(what: Safe, said: Safe | str | None, end: Safe, id_: str = "") -> Safe:
    return tag("li", tag("div", what, tag("small", said) if said else None, class_="m"), end, id=id_ or None)


def elapsed(step: StepView, now: datetime) -> float:
    return max(0.0, (now - step.started_at).total_seconds()) if step.started_at else 0.0


def usually(done: float, span: Span) -> str:
    guess = " (an estimate)" if span.estimated else ""
    return f"{brief(done)} of usually {brief(span.p50)}{guess}"
