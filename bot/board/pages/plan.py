"""One plan: its graph as rails, planned and actual, revisions, approvals, attempts, and its journal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bot.board.html import Safe, joined, tag
from bot.board.pages.plan_rows import steps_panel
from bot.board.parts.difference import difference, drawn
from bot.board.parts.frame import button, empty, heading, panel, shell
from bot.board.parts.happening import said
from bot.board.parts.status import of_plan, status
from bot.board.parts.telling import Telling, risk
from bot.board.parts.times import brief, usd
from bot.cards.face.lines import subject
from bot.cards.phrases import standing
from bot.untrusted import clip
from storage.board.happenings import Happening
from storage.contract.spec import PlanSpec
from storage.contract.states import StepState
from storage.reading.plan_view import PlanView

TAIL = 14  # lines of a log
SHOWN = 60  # events on the page; all of them stand in the journal


@dataclass(frozen=True)
class RevisionFacts:
    """One frozen document, and what it changed."""

    number: int
    author: str
    at: datetime
    digest: str
    note: str
    spec: PlanSpec | None
    before: PlanSpec | None
    digest_before: str = ""


@dataclass(frozen=True)
class AttemptFacts:
    """One try of a step."""

    number: int
    owner: str
    outcome: str
    started_at: datetime
    ended_at: datetime | None
    summary: str
    error: str
    tail: str
    log: str  # the address of all of it; "" where there is none


@dataclass(frozen=True)
class ApprovalFacts:
    user: str
    at: datetime
    factor: str
    held: tuple[str, ...]
    shown: str
    policy: str
    revision: int = 0  # an earlier one, where this one is under its mandate


@dataclass(frozen=True)
class PlanFacts:
    view: PlanView
    revisions: Sequence[RevisionFacts] = ()
    approvals: Sequence[ApprovalFacts] = ()
    attempts: Mapping[str, Sequence[AttemptFacts]] = field(default_factory=dict)
    events: Sequence[Happening] = ()
    count: int = 0
    broken: str = ""
    anchored: str = ""


def plan_page(facts: PlanFacts, tell: Telling) -> Safe:
    view = facts.view
    left = [_revisions(facts, tell), *_attempts(facts, tell)]
    right = [_approvals(facts, tell), _journal(facts, tell)]
    columns = tag("div", tag("div", *left, class_="stack"), tag("div", *right, class_="stack"), class_="two")
    steps = steps_panel(view, tell) if view.spec else _wish(view)
    return shell(joined(_head(facts, tell), tag("div", steps, columns, class_="stack")), plan=view.id)


def _head(facts: PlanFacts, tell: Telling) -> Safe:
    view = facts.view
    approved = next((one.revision for one in facts.approvals), 0) or view.revision
    kind, _ = of_plan(view, tell.now.at)
    words = standing(view, tell.now.at)
    parts: list[Safe | str | None] = [
        status(kind, words[:1].upper() + words[1:]),
        risk(view),
        f"{tell.who(view.requester)} asked in {tell.where(view.channel)}, {tell.now.clock(view.created_at)}",
        joined(tell.people(list(view.approved_by)), f" approved revision {approved}")
        if view.approved_by
        else None,
        f"thinking cost {usd(view.spent)}" if view.spent else None,
    ]
    told = [tag("span", part) for part in parts if part]
    above = tag("p", tag("a", "Plans", href="/plans"), f" / #{view.id}", class_="mute")
    acts = [button("Journal", f"/journal?plan={view.id}"), button("JSON", f"/api/plans/{view.id}")]
    slack = tell.open_in_slack(view, main=True)
    head = heading(clip(subject(view), 200), None, *acts, *([slack] if slack else []), above=above)
    return joined(head, tag("p", *told, class_="sub"))


def _wish(view: PlanView) -> Safe:
    said = view.reason or "There is no plan yet."
    return panel(
        "The wish",
        tag("div", tag("p", f"“{view.text}”", class_="quote"), tag("p", said, class_="mute"), class_="pad"),
    )


def _revisions(facts: PlanFacts, tell: Telling) -> Safe:
    parts = [_revision(one, tell, first=n == 0) for n, one in enumerate(facts.revisions)]
    count = len(parts)
    return panel(
        "Revisions", *parts or [empty("There is none yet.")], aside=f"{count}, each frozen" if count else None
    )


def _revision(one: RevisionFacts, tell: Telling, *, first: bool) -> Safe:
    lines = difference(one.before, one.spec) if one.spec else []
    digests = (
        f"  digest  {one.digest_before[:8]}… → {one.digest[:8]}…"
        if one.digest_before
        else f"  digest  {one.digest[:8]}…"
    )
    about = f"Difference to revision {one.number - 1}" if one.before else f"Revision {one.number}, whole"
    note = f" · {clip(one.note, 120)}" if one.note else ""
    head = tag(
        "summary",
        tag("b", f"Revision {one.number}"),
        tag("span", f"{tell.who(one.author)}, {tell.now.clock(one.at)}{note}", class_="mute"),
    )
    return tag("details", head, drawn([*lines, ("same", digests)], about), open=first, id=f"r{one.number}")


def _approvals(facts: PlanFacts, tell: Telling) -> Safe:
    view = facts.view
    earlier = next((one.revision for one in facts.approvals if one.revision not in {0, view.revision}), 0)
    what = f"revision {earlier}: this one is under its mandate" if earlier else "exactly this digest"
    needed = f"{len(facts.approvals)} of {view.needed}, for {what}" if view.needed else "none needed"
    rows: list[tuple[str, Safe]] = [("Digest", tag("span", view.digest or "–", class_="mono"))]
    rows += [(tell.who(one.user), _approval(one, tell)) for one in facts.approvals]
    able = [id_ for id_ in view.approvers if id_ not in view.authors or view.demands.authors]
    rows += [("May approve", tell.people(able))] if view.needed and not facts.approvals else []
    why = "; ".join([*view.demands.said, *view.reasons][:4])
    rows += [
        ("Policy", joined("version ", tag("code", view.policy or "–"), f": {clip(why, 300)}" if why else ""))
    ]
    authors = [tell.who(id_) for id_ in view.authors]
    may = "" if view.demands.authors else ", who may not approve it"
    rows += [("Authors", joined(f"{' and '.join(authors)}{may}"))] if authors else []
    if view.spec:
        mandate = view.spec.mandate
        reads = "reads, " if mandate.reads else ""
        most = f"at most {mandate.max_added_steps} more steps, at most {usd(mandate.max_cost_usd)}"
        said_ = f"{reads}{most} · used {usd(view.spent)}"
        rows += [("Mandate", joined(said_))]
    rows += (
        [("Glass", joined(f"{tell.who(view.broken_by)} overrode the {' and the '.join(view.overrides)}"))]
        if view.overrides
        else []
    )
    body = [part for name, what in rows for part in (tag("dt", name), tag("dd", what))]
    return panel("Approvals", tag("div", tag("dl", *body, class_="facts"), class_="pad"), aside=needed)


def _approval(one: ApprovalFacts, tell: Telling) -> Safe:
    factors = {"code": "one-time code", "signature": "SSH signature"}
    groups = [tell.who(id_) for id_ in one.held if id_ != one.user]
    parts = [
        tell.now.both(one.at),
        factors.get(one.factor, one.factor),
        f"as {', '.join(groups)}" if groups else "",
    ]
    shown = joined(" · saw previews ", tag("code", one.shown[:8])) if one.shown else None
    return joined(" · ".join(filter(None, parts)), shown)


def _attempts(facts: PlanFacts, tell: Telling) -> list[Safe]:
    found = []
    for number, step in enumerate(facts.view.steps, 1):
        tries = facts.attempts.get(step.spec.id, ())
        if tries:
            last = step.state in {StepState.failed, StepState.unknown, StepState.running}
            parts = [_attempt(one, tell, step.spec.id, open_=last and n == 0) for n, one in enumerate(tries)]
            said_ = f"{len(tries)} tries" if len(tries) > 1 else "1 try"
            found.append(panel(f"Attempts of step {number}", *parts, aside=said_))
    return found


KINDS = {
    "succeed": "ok",
    "fail": "bad",
    "retry": "bad",
    "lost": "unknown",
    "unknown": "unknown",
    "cancel": "bad",
    "": "run",
}


def _attempt(one: AttemptFacts, tell: Telling, key: str, *, open_: bool) -> Safe:
    until = (
        f" to {tell.now.exact(one.ended_at)} · {brief((one.ended_at - one.started_at).total_seconds())}"
        if one.ended_at
        else ", runs"
    )
    head = tag(
        "summary",
        status(KINDS.get(one.outcome, "skip"), f"Attempt {one.number}"),
        tag("span", f"{one.owner} · {tell.now.exact(one.started_at)}{until}", class_="mute"),
    )
    whole = tag("a", "whole log", href=one.log) if one.log else None
    text = "\n".join(filter(None, [one.summary, one.error if one.error != one.summary else "", one.tail]))
    log = tag(
        "pre",
        text or "It has said nothing yet.",
        joined("\n", whole) if whole else None,
        class_="log",
        tabindex="0",
        role="region",
        aria_label=f"What attempt {one.number} of {key} said",
    )
    return tag("details", head, log, open=open_, id=f"a-{key}-{one.number}")


def _journal(facts: PlanFacts, tell: Telling) -> Safe:
    good = not facts.broken
    anchored = f"; {facts.anchored}" if facts.anchored and good else ""
    verdict = tag(
        "p",
        status("ok", "Verified") if good else status("bad", "Broken"),
        tag("span", f"every event follows from the one before{anchored}" if good else facts.broken),
        class_="note good" if good else "note warn",
    )
    rows = [
        tag(
            "tr",
            tag("td", tell.now.exact(one.at), class_="nw mono"),
            tag("td", one.verb),
            tag("td", tell.who(one.actor), class_="nw"),
            tag("td", said(one, tell.who)),
            id=f"v{one.id}",
        )
        for one in facts.events[:SHOWN]
    ]
    head = tag(
        "thead", tag("tr", *(tag("th", name, scope="col") for name in ("Time", "Verb", "Who", "What")))
    )
    table = tag(
        "div",
        tag("table", head, tag("tbody", *rows), class_="pj"),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=f"Journal of plan {facts.view.id}",
    )
    return panel("Journal", verdict, table, aside=f"{facts.count} events")
