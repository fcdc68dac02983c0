"""An epic by rule: what is added under the mandate, and what is put before people."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bot.planner.decision import Progress
from bot.planner.review.epic import next_wave
from bot.planner.review.ladder import next_move
from bot.planner.validate import Catalogue
from storage.contract.capability import Contract
from storage.contract.report import AnyReport
from storage.contract.spec import Mandate, PlanSpec, StepSpec
from storage.contract.states import StepState
from storage.reading.plan_view import StepView
from workers.registry import BUILTIN, Registry, _class

pytestmark = pytest.mark.fleet
SHOP = {"repositories": {"shop": {"source": "/shop", "pool": "/pool", "max_usd": 1.0}}}
NAMES = ("code", "code-agent", "code-publish", "approval-gate")
CONTRACTS = Registry([_class(name)(SHOP) for name in NAMES if name in BUILTIN]).contracts()
CATALOGUE = Catalogue(CONTRACTS)


APPROVED = {  # before there was a way back, and smaller ones
    "code.explore": "a027faba3c747ff8",
    "code.decompose": "220eee775cb03e0b",
    "code.integrate": "2f954763dc37b52a",
    "code.conclude": "534d3ea22d1bbeb3",
    "code-agent.change": "e1b764caed5be455",
    "code-publish.push": "58ef159c787320f5",
    "code-publish.open_pr": "dceaa5a5ac299b58",
}


def contract(worker: str, action: str) -> Contract:
    return next(one for one in CONTRACTS if (one.worker, one.action) == (worker, action))


def called(key: str, worker: str, action: str, after: tuple[str, ...] = (), **given: Any) -> StepSpec:
    made = contract(worker, action)
    rest = {"contract": made.hash(), "binding": made.binding(given)}
    return StepSpec(id=key, worker=worker, action=action, parameters=given, depends_on=after, **rest)


CUT = called(
    "decompose", "code", "decompose", ("explore",),
    repository="shop", goal="all prices", outline="", plan="prices", most=50,
)  # fmt: skip


def epic(uses: int = 9) -> PlanSpec:
    named = f"code-agent.change repository=shop item=0..99 x{uses}"
    return PlanSpec(
        goal="all prices", continues=True,
        steps=(called("explore", "code", "explore", repository="shop"), CUT),
        mandate=Mandate(extra=(named,), max_added_steps=20, max_worker_usd=9),
    )  # fmt: skip


def done(step: StepSpec, state: StepState = StepState.succeeded, **data: Any) -> StepView:
    good = state == StepState.succeeded
    report = AnyReport.ok("done", data) if good else AnyReport.failed("its tests stay red", data)
    return StepView(step, state=state, attempt=1, report=report)


def ended(step: StepSpec, data: Mapping[str, Any] | None) -> StepView:
    return done(step, **data) if data is not None else done(step, StepState.failed)


def begun(spec: PlanSpec, needs: list[list[int]], **views: StepView) -> Progress:
    cut = {"items": "/x/work.json", "count": len(needs), "needs": needs, "hash": "ab" * 32, "base": "c" * 40}
    steps = {"explore": done(spec.find("explore")), "decompose": done(spec.find("decompose"), **cut)}
    return Progress(spec, spec, steps | views)


def drafted(needs: list[list[int]], **outcomes: Mapping[str, Any] | None) -> Progress:
    """After the drafts have ended: what each reported, or None for one that stayed red."""
    first = begun(epic(), needs)
    decision = next_wave(first, CATALOGUE)
    assert decision is not None
    assert decision.spec is not None
    views = {key: ended(decision.spec.find(key), data) for key, data in outcomes.items()}
    return Progress(first.approved, decision.spec, dict(first.steps) | views)


GREEN = {"title": "one", "commit": "1" * 40, "flags": []}
FLAGGED = {"title": "two", "commit": "2" * 40, "flags": ["“subprocess”"]}


def test_subtasks_become_drafts_under_the_mandate_without_a_question() -> None:
    decision, ruling = next_move(begun(epic(), [[], [0], []]), [], CATALOGUE)
    assert (decision.verb, ruling.way) == ("amend", "takes_effect")
    assert ruling.spec is not None
    drafts = ruling.spec.steps[2:]
    assert [step.id for step in drafts] == ["change-0", "change-1", "change-2"]
    assert drafts[1].depends_on == ("decompose", "change-0")
    assert all(step.failure_action == "continue" for step in drafts)


def test_no_more_are_drafted_than_people_allowed() -> None:
    decision = next_wave(begun(epic(uses=2), [[], [], []]), CATALOGUE)
    assert decision is not None
    assert decision.spec is not None
    assert len(decision.spec.steps) == 4
    assert "1 more are beyond the mandate" in decision.reason


def test_to_integrate_and_push_is_asked_with_what_is_missing_said() -> None:
    now = drafted([[], [], []], **{"change-0": GREEN, "change-1": None, "change-2": GREEN})
    decision, ruling = next_move(now, [], CATALOGUE)
    assert ruling.way == "needs_approval"
    assert ruling.spec is not None
    assert [step.id for step in ruling.spec.steps[5:]] == ["integrate", "push"]
    assert ruling.spec.find("integrate").parameters["items"] == [0, 2]
    assert ruling.spec.continues
    assert "change-1 is not there" in decision.reason


def test_a_flagged_draft_is_integrated_by_itself_behind_a_question() -> None:
    now = drafted([[], []], **{"change-0": GREEN, "change-1": FLAGGED})
    _, ruling = next_move(now, [], CATALOGUE)
    assert ruling.spec is not None
    assert ruling.spec.find("integrate").parameters["items"] == [0]
    assert ruling.spec.find("integrate-1").parameters["items"] == [1]
    assert "ask-1" in ruling.spec.find("integrate-1").depends_on
    assert ruling.spec.find("ask-1").depends_on == ("push",)


def test_flagged_drafts_are_asked_about_each_for_itself() -> None:
    now = drafted([[], [], []], **{"change-0": GREEN, "change-1": FLAGGED, "change-2": FLAGGED})
    _, ruling = next_move(now, [], CATALOGUE)
    assert ruling.spec is not None
    assert {ruling.spec.find(f"ask-{n}").depends_on for n in (1, 2)} == {("push",)}


def test_when_all_is_decided_the_end_is_told_without_a_question() -> None:
    now = drafted([[], []], **{"change-0": GREEN, "change-1": FLAGGED})
    _, ruling = next_move(now, [], CATALOGUE)
    assert ruling.spec is not None
    later = {step.id: done(step) for step in ruling.spec.steps if step.id not in now.steps}
    later["ask-1"] = replace(done(ruling.spec.find("ask-1"), StepState.failed), choice="continue")
    for key in ("integrate-1", "push-1"):
        later[key] = StepView(ruling.spec.find(key), state=StepState.skipped)
    over = Progress(ruling.spec, ruling.spec, dict(now.steps) | later)
    decision, ruling = next_move(over, [], CATALOGUE)
    assert (decision.verb, ruling.way) == ("amend", "takes_effect")
    assert ruling.spec is not None
    assert (ruling.spec.steps[-1].id, ruling.spec.continues) == ("conclude", False)
    assert "“two”" in str(ruling.spec.find("ask-1").parameters["question"])


CONFLICT = {"left": ["“two”: it conflicts in port.py"], "titles": ["one"], "landed": 1}
SECOND = {"title": "two", "commit": "2" * 40, "flags": []}
AGAIN = {"items": "/x/work-2.json", "fresh": [2], "instead": [1], "hash": "cd" * 32, "base": "e" * 40}


def left_out(uses: int = 9) -> Progress:
    """After an integration that people approved, and that one draft did not fit into."""
    first = begun(epic(uses), [[], []])
    decision = next_wave(first, CATALOGUE)
    assert decision is not None
    assert decision.spec is not None
    views = {key: ended(decision.spec.find(key), one) for key, one in NAMED.items()}
    now = Progress(first.approved, decision.spec, dict(first.steps) | views)
    _, ruling = next_move(now, [], CATALOGUE)
    assert ruling.spec is not None
    return after(Progress(ruling.spec, ruling.spec, now.steps), integrate=CONFLICT)


NAMED = {"change-0": GREEN, "change-1": SECOND}


def after(now: Progress, **outcomes: Mapping[str, Any]) -> Progress:
    """All that had not run has succeeded, and reported this."""
    new = {s.id: done(s, **outcomes.get(s.id, {})) for s in now.spec.steps if s.id not in now.steps}
    return Progress(now.approved, now.spec, dict(now.steps) | new)


def going_on(now: Progress, way: str = "takes_effect") -> Progress:
    decision, ruling = next_move(now, [], CATALOGUE)
    assert (decision.verb, ruling.way) == ("amend", way), ruling.reason
    assert ruling.spec is not None
    return Progress(now.approved if way == "takes_effect" else ruling.spec, ruling.spec, now.steps)


def test_what_was_left_out_goes_back_to_an_agent_once_and_is_asked_about_again() -> None:
    taken_up = going_on(left_out())
    assert taken_up.spec.find("rework").parameters["items"] == [1]
    drafting = going_on(after(taken_up, rework=AGAIN))
    draft = drafting.spec.find("change-2")
    assert (draft.parameters["work"], draft.parameters["item"]) == ({"from": "rework.items"}, 2)
    landing = going_on(after(drafting, **{"change-2": SECOND | {"commit": "3" * 40}}), "needs_approval")
    again = landing.spec.find("integrate-again")
    assert (again.parameters["items"], again.parameters["work"]) == ([2], {"from": "rework.items"})
    assert landing.spec.find("push-again").parameters == landing.spec.find("push").parameters
    over = going_on(after(landing, **{"integrate-again": CONFLICT}))
    assert over.spec.steps[-1].id == "conclude"
    assert over.spec.steps[-1].parameters["work"] == {"from": "rework.items"}


def test_what_stays_red_when_it_is_taken_up_again_is_told_at_the_end() -> None:
    drafting = going_on(after(going_on(left_out()), rework=AGAIN))
    red = done(drafting.spec.find("change-2"), StepState.failed)
    over = going_on(Progress(drafting.approved, drafting.spec, dict(drafting.steps) | {"change-2": red}))
    assert over.spec.steps[-1].id == "conclude"


def test_nothing_is_taken_up_again_beyond_the_mandate() -> None:
    assert going_on(left_out(uses=2)).spec.steps[-1].id == "conclude"


RED = {"title": "two", "incident": "red"}
SMALLER = {"items": "/x/work-2.json", "fresh": [2, 3], "instead": [1, 1], "hash": "cd" * 32}


def one_is_red(uses: int = 9, incident: str = "red") -> Progress:
    now = begun(epic(uses), [[], []])
    decision = next_wave(now, CATALOGUE)
    assert decision is not None
    assert decision.spec is not None
    views = {"change-0": done(decision.spec.find("change-0"), **GREEN)}
    views["change-1"] = done(decision.spec.find("change-1"), StepState.failed, **RED | {"incident": incident})
    return Progress(now.approved, decision.spec, dict(now.steps) | views)


def test_what_no_model_gets_green_is_cut_smaller_before_people_are_asked() -> None:
    cutting = going_on(one_is_red())
    assert cutting.spec.find("split").parameters == {
        "repository": "shop", "work": {"from": "decompose.items"}, "plan": "prices",
    }  # fmt: skip
    drafting = going_on(after(cutting, split=SMALLER))
    assert [drafting.spec.find(f"change-{n}").parameters["work"] for n in (2, 3)] == [
        {"from": "split.items"}
    ] * 2
    greens = {f"change-{n}": GREEN | {"title": f"half {n}", "commit": f"{n}" * 40} for n in (2, 3)}
    decision, ruling = next_move(after(drafting, **greens), [], CATALOGUE)
    assert ruling.way == "needs_approval"
    assert ruling.spec is not None
    assert ruling.spec.find("integrate").parameters["items"] == [0, 2, 3]
    assert ruling.spec.find("integrate").parameters["work"] == {"from": "split.items"}
    assert decision.reason == "3 of 3 drafts are green"


def test_what_cannot_be_cut_smaller_is_said_to_be_missing() -> None:
    decision, ruling = next_move(
        after(going_on(one_is_red()), split=SMALLER | {"fresh": [], "instead": []}), [], CATALOGUE
    )
    assert ruling.spec is not None
    assert ruling.spec.find("integrate").parameters["items"] == [0]
    assert "change-1 is not there" in decision.reason


@pytest.mark.parametrize("now", [one_is_red(uses=3), one_is_red(incident="api"), one_is_red(incident="ours")])
def test_nothing_is_cut_smaller_beyond_the_mandate_or_for_what_is_no_agents_fault(now: Progress) -> None:
    assert "integrate" in {step.id for step in going_on(now, "needs_approval").spec.steps}


def test_nothing_green_is_a_persons_turn() -> None:
    decision, ruling = next_move(drafted([[]], **{"change-0": None}), [], CATALOGUE)
    assert (decision.verb, ruling.way) == ("ask", "takes_effect")


def test_what_people_approved_earlier_is_still_what_they_approved() -> None:
    now = {f"{made.worker}.{made.action}": made.hash()[:16] for made in CONTRACTS}
    assert {name: now[name] for name in APPROVED} == APPROVED


def test_a_plan_that_is_no_epic_is_left_alone() -> None:
    spec = epic().model_copy(update={"continues": False})
    assert next_wave(begun(spec, [[]]), CATALOGUE) is None
