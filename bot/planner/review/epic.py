"""An epic goes on by rule: subtasks become drafts under the mandate, and drafts one proposal. Pure.

What is proposed passes the same gate as any decision: drafts run where people named them beforehand, and to
integrate or push is asked about, on the real difference.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from bot.planner.decision import Decision, Progress
from bot.planner.prepare import fill
from bot.planner.validate import Catalogue
from storage.contract.capability import fingerprint
from storage.contract.mandate import allowance
from storage.contract.spec import PlanSpec, Retries, StepSpec
from storage.contract.states import StepState
from storage.reading.plan_view import StepView

CUT, DRAFT, CONCLUDE = ("code", "decompose"), ("code-agent", "change"), ("code", "conclude")
INTEGRATE, PUSH, CONFIRM = ("code", "integrate"), ("code-publish", "push"), ("approval-gate", "confirm")
OPEN = frozenset({StepState.pending, StepState.running, StepState.unknown})
TRIES = Retries(attempts=8, wait=2.0)  # the worker counts the rungs; trouble of the API uses up none


def next_wave(now: Progress, catalogue: Catalogue) -> Decision | None:
    """What follows from a cut goal, or from drafts that have ended; None where there is no epic."""
    cut = next((step for step in _of(now, CUT) if step.state == StepState.succeeded and step.report), None)
    if cut is None or not now.spec.continues or any(step.state in OPEN for step in now.steps.values()):
        return None
    if _of(now, CONCLUDE):
        return None
    if _of(now, INTEGRATE):
        return _end(now, cut, catalogue)
    drafts = _of(now, DRAFT)
    return _landing(now, cut, drafts, catalogue) if drafts else _drafting(now, cut, catalogue)


def _drafting(now: Progress, cut: StepView, catalogue: Catalogue) -> Decision | None:
    data = _data(cut)
    most = min(int(data.get("count", 0)), _allowed(now))
    steps = [_draft(now, cut, number, data["needs"][number]) for number in range(most)]
    if not steps:
        return None
    rest = int(data["count"]) - most
    reason = f"{most} subtasks are drafted" + (f"; {rest} more are beyond the mandate" if rest else "")
    return Decision(verb="amend", reason=reason, spec=_with(now.spec, steps, catalogue))


def _allowed(now: Progress) -> int:
    named = [
        found for found in map(allowance, now.approved.mandate.extra) if (found.worker, found.action) == DRAFT
    ]
    return min((found.uses for found in named), default=0)


def _draft(now: Progress, cut: StepView, number: int, needs: Sequence[int]) -> StepSpec:
    given = {"repository": cut.spec.parameters["repository"], "work": _work(cut), "item": number}
    return _step(
        f"change-{number}", DRAFT, given, (cut.spec.id, *(f"change-{need}" for need in needs)),
        success_criteria=("green",), failure_action="continue", retries=TRIES,
    )  # fmt: skip


def _landing(
    now: Progress, cut: StepView, drafts: Sequence[StepView], catalogue: Catalogue
) -> Decision | None:
    """One proposal: what goes together, and each flagged draft by itself, with a question before it."""
    green = [step for step in drafts if step.state == StepState.succeeded and _data(step).get("commit")]
    plain, flagged = ([s for s in green if bool(_data(s)["flags"]) is held] for held in (False, True))
    steps = [*_together(cut, plain, catalogue)]
    together = [step.id for step in steps[-1:]]
    for draft in flagged:
        steps += _alone(cut, draft, together, catalogue)
    if not steps:
        return None
    red = [step for step in drafts if step not in green]
    said = [f"{len(green)} of {len(drafts)} drafts are green", *map(_told, flagged), *map(_lost, red)]
    return Decision(verb="amend", reason="; ".join(said)[:1500], spec=_with(now.spec, steps, catalogue))


def _end(now: Progress, cut: StepView, catalogue: Catalogue) -> Decision | None:
    """Once all that was put before people is decided: what landed, what did not and why."""
    given = {"repository": cut.spec.parameters["repository"], "work": _work(cut)}
    made = _step("conclude", CONCLUDE, given, (cut.spec.id,), failure_action="continue")
    if not catalogue.find(made):  # a worker of an earlier release
        return None
    ended = now.spec.model_copy(update={"continues": False})
    return Decision(verb="amend", reason="what landed is summed up", spec=_with(ended, [made], catalogue))


def _together(cut: StepView, plain: Sequence[StepView], catalogue: Catalogue) -> Iterator[StepSpec]:
    if plain:
        yield _integrate("integrate", cut, plain)
        yield from _push("push", cut, "integrate", catalogue)


def _alone(cut: StepView, draft: StepView, after: Sequence[str], catalogue: Catalogue) -> Iterator[StepSpec]:
    """A person says yes to it by name, once all that needs no question is done; else it is left out."""
    number, data = draft.spec.parameters["item"], _data(draft)
    question = f"“{data['title']}” is green, and has {', '.join(data['flags'][:5])}. Integrate it?"
    yield _step(f"ask-{number}", CONFIRM, {"question": question[:300]}, after)
    yield _integrate(f"integrate-{number}", cut, [draft], f"ask-{number}")
    yield from _push(f"push-{number}", cut, f"integrate-{number}", catalogue)


def _integrate(key: str, cut: StepView, steps: Sequence[StepView], *after: str) -> StepSpec:
    items = [step.spec.parameters["item"] for step in steps]
    commits = [str(_data(step)["commit"]) for step in steps]
    named = fingerprint([*commits])[:16]
    given = {
        "repository": cut.spec.parameters["repository"],
        "work": _work(cut),
        "items": items,
        "drafts": named,
    }
    return _step(key, INTEGRATE, given, (cut.spec.id, *(step.spec.id for step in steps), *after))


def _push(key: str, cut: StepView, after: str, catalogue: Catalogue) -> Iterator[StepSpec]:
    branch = f"signoff/{str(_data(cut).get('hash', ''))[:12]}"
    made = _step(key, PUSH, {"repository": cut.spec.parameters["repository"], "branch": branch}, (after,))
    if catalogue.find(made):  # a process without the credential goes without the push
        yield made


def _step(
    key: str, call: tuple[str, str], given: dict[str, Any], after: Sequence[str], **more: Any
) -> StepSpec:
    return StepSpec(id=key, worker=call[0], action=call[1], parameters=given, depends_on=(*after,), **more)


def _with(spec: PlanSpec, steps: Sequence[StepSpec], catalogue: Catalogue) -> PlanSpec:
    filled = [fill(step, found) if (found := catalogue.find(step)) else step for step in steps]
    return spec.model_copy(update={"steps": (*spec.steps, *filled)})


def _of(now: Progress, call: tuple[str, str]) -> list[StepView]:
    ours = [now.steps[step.id] for step in now.spec.steps if step.id in now.steps]
    return [step for step in ours if (step.spec.worker, step.spec.action) == call]


def _data(step: StepView) -> dict[str, Any]:
    return dict((step.report.data if step.report else None) or {})


def _work(cut: StepView) -> dict[str, str]:
    return {"from": f"{cut.spec.id}.items"}


def _told(step: StepView) -> str:
    data = _data(step)
    return f"“{data['title']}” must be seen: {', '.join(data['flags'][:3])}"


def _lost(step: StepView) -> str:
    return f"{step.spec.id} is not there: {step.report.summary if step.report else 'it did not run'}"[:200]
