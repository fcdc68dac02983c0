"""An epic goes on by rule: subtasks become drafts under the mandate, and drafts one proposal. Pure.

What is proposed passes the same gate as any decision: drafts run where people named them beforehand, and to
integrate or push is asked about, on the real difference. What was left out beside others goes back to an
agent once, and what stays red is cut smaller once, within what is left of the mandate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bot.planner.decision import Decision, Progress
from bot.planner.prepare import fill
from bot.planner.validate import Catalogue
from storage.contract.capability import fingerprint
from storage.contract.mandate import Allowance, allowance
from storage.contract.spec import PlanSpec, Retries, StepSpec
from storage.contract.states import StepState
from storage.reading.plan_view import StepView

CUT, DRAFT, CONCLUDE = ("code", "decompose"), ("code-agent", "change"), ("code", "conclude")
INTEGRATE, PUSH, CONFIRM = ("code", "integrate"), ("code-publish", "push"), ("approval-gate", "confirm")
SPLIT, REWORK = ("code", "split"), ("code", "rework")
OURS = frozenset({"api", "ours"})  # incidents that no smaller subtask would mend
OPEN = frozenset({StepState.pending, StepState.running, StepState.unknown})
ASKING = Retries(attempts=3, wait=5.0)
SMALLER = 2  # at least, that one falls into
TRIES = Retries(attempts=8, wait=2.0)  # the worker counts the rungs; trouble of the API uses up none


@dataclass(frozen=True)
class Epic:
    """A plan that was cut into subtasks. `work` is the step that wrote the file which is worked from now."""

    now: Progress
    catalogue: Catalogue
    cut: StepView

    @cached_property
    def work(self) -> StepView:
        further = [step for call in (SPLIT, REWORK) for step in _of(self.now, call)]
        return [self.cut, *(step for step in further if _data(step).get("fresh"))][-1]

    @cached_property
    def drafts(self) -> list[StepView]:
        return _of(self.now, DRAFT)

    @cached_property
    def landings(self) -> list[StepView]:
        return _of(self.now, INTEGRATE)

    @cached_property
    def replaced(self) -> set[str]:
        """Drafts in whose place smaller ones stand."""
        found = [_data(step).get("instead", ()) for step in _of(self.now, SPLIT)]
        return {f"change-{number}" for some in found for number in some}

    @property
    def undecided(self) -> list[StepView]:
        """Drafts that were not put before people yet; of earlier work, they were when the others were."""
        seen = {key for step in self.landings for key in step.spec.depends_on}
        some = [step for step in self.drafts if step.spec.id not in seen]
        return [s for s in some if not self.landings or s.spec.parameters["work"] == _work(self.work)]

    def step(self, key: str, call: tuple[str, str], after: Sequence[str], **more: Any) -> StepSpec:
        """One that works from the file as it is now."""
        given = {"repository": self.cut.spec.parameters["repository"], "work": _work(self.work)}
        given |= more.pop("given", {})
        return _step(key, call, given, (self.work.spec.id, *after), **more)


def next_wave(now: Progress, catalogue: Catalogue) -> Decision | None:
    """What follows from a cut goal, or from drafts that have ended; None where there is no epic."""
    cut = next((step for step in _of(now, CUT) if step.state == StepState.succeeded and step.report), None)
    if cut is None or not now.spec.continues or any(step.state in OPEN for step in now.steps.values()):
        return None
    if _of(now, CONCLUDE):
        return None
    epic = Epic(now, catalogue, cut)
    ways = (_drafting, _splitting, _landing, _reworking, _end)
    return next(filter(None, (way(epic) for way in ways)), None)


def _drafting(epic: Epic) -> Decision | None:
    """What the file has and no agent has seen."""
    now, data = epic.now, _data(epic.work)
    if any(step.spec.parameters.get("work") == _work(epic.work) for step in epic.drafts):
        return None
    needs = dict(enumerate(data.get("needs", ())))
    fresh = [*data.get("fresh", range(int(data.get("count", 0))))]
    steps = [*_allowed(epic, [_draft(epic, number, needs.get(number, ())) for number in fresh])]
    if not steps:
        return None
    rest = len(fresh) - len(steps)
    reason = f"{len(steps)} subtasks are drafted" + (f"; {rest} more are beyond the mandate" if rest else "")
    return Decision(verb="amend", reason=reason, spec=_with(now.spec, steps, epic.catalogue))


def _allowed(epic: Epic, steps: Sequence[StepSpec]) -> Iterator[StepSpec]:
    """As many as people named, over the whole plan, and none that they did not."""
    named = _named(epic)
    left = min((found.uses for found in named), default=0) - len(epic.drafts)
    left = min(left, epic.now.approved.mandate.max_added_steps - _added(epic))
    fitting = [step for step in steps if all(found.fits(step) for found in named)]
    yield from fitting[: max(left, 0)]


def _named(epic: Epic) -> list[Allowance]:
    extra = map(allowance, epic.now.approved.mandate.extra)
    return [found for found in extra if (found.worker, found.action) == DRAFT]


def _draft(epic: Epic, number: int, needs: Sequence[int]) -> StepSpec:
    return epic.step(
        f"change-{number}", DRAFT, [f"change-{need}" for need in needs], given={"item": number},
        success_criteria=("green",), failure_action="continue", retries=TRIES,
    )  # fmt: skip


def _splitting(epic: Epic) -> Decision | None:
    """What no model got green is cut smaller before anything is put before people; once in a plan."""
    red = [step for step in epic.drafts if step.state == StepState.failed and _data(step).get("incident")]
    red = [step for step in red if _data(step)["incident"] not in OURS]
    if not red or epic.landings or _of(epic.now, SPLIT) or _room(epic) < SMALLER + 1:
        return None
    given = {"plan": epic.cut.spec.parameters.get("plan", "")}
    made = epic.step("split", SPLIT, (), given=given, failure_action="continue", retries=ASKING)
    if not epic.catalogue.find(made):  # a worker of an earlier release
        return None
    reason = f"red with every model, and cut smaller if it can be: {', '.join(map(_title, red))}"
    spec = _with(epic.now.spec, [made], epic.catalogue)
    return Decision(verb="amend", reason=reason[:1500], spec=spec)


def _room(epic: Epic) -> int:
    """How many steps, and drafts, the mandate has left."""
    drafts = min((found.uses for found in _named(epic)), default=0) - len(epic.drafts)
    return min(epic.now.approved.mandate.max_added_steps - _added(epic), drafts + 1)


def _added(epic: Epic) -> int:
    known = {step.id for step in epic.now.approved.steps}
    return sum(step.id not in known for step in epic.now.spec.steps)


def _landing(epic: Epic) -> Decision | None:
    """One proposal: what goes together, and each flagged draft by itself, with a question before it."""
    drafts = [step for step in epic.undecided if step.spec.id not in epic.replaced]
    green = [step for step in drafts if step.state == StepState.succeeded and _data(step).get("commit")]
    plain, flagged = ([s for s in green if bool(_data(s)["flags"]) is held] for held in (False, True))
    steps = [*_together(epic, plain)]
    together = [step.id for step in steps[-1:]]
    for draft in flagged:
        steps += _alone(epic, draft, together)
    if not steps:
        return None
    red = [step for step in drafts if step not in green]
    said = [f"{len(green)} of {len(drafts)} drafts are green", *map(_told, flagged), *map(_lost, red)]
    spec = _with(epic.now.spec, steps, epic.catalogue)
    return Decision(verb="amend", reason="; ".join(said)[:1500], spec=spec)


def _reworking(epic: Epic) -> Decision | None:
    """What was integrated without goes back to an agent, on what has landed; once in a plan."""
    left = [step for step in epic.drafts if _left_out(epic, step)]
    if not epic.landings or not left or _of(epic.now, REWORK):
        return None
    room = len([*_allowed(epic, [step.spec for step in left])])
    items = [step.spec.parameters["item"] for step in left[:room]]
    after = [step.spec.id for step in epic.landings]
    made = epic.step("rework", REWORK, after, given={"items": items}, failure_action="continue")
    if not items or not epic.catalogue.find(made):  # a worker of an earlier release
        return None
    reason = f"left out beside the others, and taken up again once: {', '.join(map(_title, left[:room]))}"
    return Decision(verb="amend", reason=reason[:1500], spec=_with(epic.now.spec, [made], epic.catalogue))


def _left_out(epic: Epic, draft: StepView) -> bool:
    """Whether an integration that ran says so, by the draft's title."""
    mine = [step for step in epic.landings if draft.spec.id in step.spec.depends_on]
    ran = [_data(step) for step in mine if step.state == StepState.succeeded]
    head = " ".join(f"{_title(draft)}: ".split())
    return any(" ".join(str(left).split()).startswith(head) for data in ran for left in data.get("left", ()))


def _end(epic: Epic) -> Decision | None:
    """Once all that was put before people is decided: what landed, what did not and why."""
    made = epic.step("conclude", CONCLUDE, (), failure_action="continue")
    if not epic.landings or not epic.catalogue.find(made):  # a worker of an earlier release
        return None
    ended = epic.now.spec.model_copy(update={"continues": False})
    return Decision(
        verb="amend", reason="what landed is summed up", spec=_with(ended, [made], epic.catalogue)
    )


def _together(epic: Epic, plain: Sequence[StepView]) -> Iterator[StepSpec]:
    again = "-again" if any(step.spec.id == "integrate" for step in epic.landings) else ""
    if plain:
        yield _integrate(f"integrate{again}", epic, plain)
        yield from _push(f"push{again}", epic, f"integrate{again}")


def _alone(epic: Epic, draft: StepView, after: Sequence[str]) -> Iterator[StepSpec]:
    """A person says yes to it by name, once all that needs no question is done; else it is left out."""
    number, data = draft.spec.parameters["item"], _data(draft)
    question = f"“{data['title']}” is green, and has {', '.join(data['flags'][:5])}. Integrate it?"
    yield _step(f"ask-{number}", CONFIRM, {"question": question[:300]}, after)
    yield _integrate(f"integrate-{number}", epic, [draft], f"ask-{number}")
    yield from _push(f"push-{number}", epic, f"integrate-{number}")


def _integrate(key: str, epic: Epic, steps: Sequence[StepView], *after: str) -> StepSpec:
    items = [step.spec.parameters["item"] for step in steps]
    named = fingerprint([str(_data(step)["commit"]) for step in steps])[:16]
    given = {"items": items, "drafts": named}
    return epic.step(key, INTEGRATE, (*(step.spec.id for step in steps), *after), given=given)


def _push(key: str, epic: Epic, after: str) -> Iterator[StepSpec]:
    branch = f"signoff/{str(_data(epic.cut).get('hash', ''))[:12]}"
    made = _step(
        key, PUSH, {"repository": epic.cut.spec.parameters["repository"], "branch": branch}, (after,)
    )
    if epic.catalogue.find(made):  # a process without the credential goes without the push
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


def _title(step: StepView) -> str:
    return f"“{_data(step).get('title', step.spec.id)}”"


def _told(step: StepView) -> str:
    return f"{_title(step)} must be seen: {', '.join(_data(step)['flags'][:3])}"


def _lost(step: StepView) -> str:
    return f"{step.spec.id} is not there: {step.report.summary if step.report else 'it did not run'}"[:200]
