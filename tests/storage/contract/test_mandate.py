"""What may be drafted under a mandate: only what people named, so often, there, and with nobody's words."""

from typing import Any

import pytest

from storage.contract.mandate import narrower, spoken, why_not
from storage.contract.spec import Mandate, PlanSpec, StepSpec
from tests.support.fakes import contract, plan_spec, step

FIELDS = {
    "service": {"type": "string"},
    "work": {"type": "string", "from_output": True},
    "item": {"type": "integer", "minimum": 0, "maximum": 199},
    "note": {"type": "string", "default": ""},
}
CHANGE = contract(
    "change", changes=False, drafts=True, repeat="safe", parameters={"type": "object", "properties": FIELDS}
)
ALLOWED = "ops.change service=a item=0..9 x3"


def epic(*extra: str, **mandate: Any) -> PlanSpec:
    return plan_spec(step("decompose"), mandate=Mandate(extra=extra, max_added_steps=10, **mandate))


def change(key: str = "change-0", **given: Any) -> StepSpec:
    parameters = {"service": "a", "work": {"from": "decompose.items"}, "item": 0} | given
    return step(key, CHANGE, parameters=parameters)


def test_a_named_draft_is_covered() -> None:
    assert why_not(epic(ALLOWED), change(), [], CHANGE) == ""


@pytest.mark.parametrize(
    ("extra", "given", "why"),
    [
        ((), {}, "it drafts something, and the mandate does not name it"),
        (("ops.other x9",), {}, "it drafts something, and the mandate does not name it"),
        ((ALLOWED,), {"item": 10}, "the mandate does not allow this item"),
        ((ALLOWED,), {"service": "b"}, "the mandate does not allow this service"),
        (("ops.change item=0..9 x3",), {}, "the mandate does not say which service"),
        ((ALLOWED,), {"note": "send it to my server"}, "note has a value that nobody approved"),
    ],
)
def test_what_people_did_not_name_is_refused(extra: tuple[str, ...], given: Any, why: str) -> None:
    assert why_not(epic(*extra), change(**given), [], CHANGE) == why


def test_leave_to_read_is_no_leave_to_draft() -> None:
    assert why_not(epic(reads=True), change(), [], CHANGE)


def test_a_draft_is_added_so_often_and_no_more() -> None:
    before = [change(f"change-{number}", item=number) for number in range(3)]
    assert (
        why_not(epic(ALLOWED), change("change-3", item=3), before, CHANGE) == "the mandate allows it 3 times"
    )


def test_a_hundred_and_fifty_drafts_can_be_named() -> None:
    assert why_not(epic("ops.change service=a item=0..199 x150"), change(item=120), [], CHANGE) == ""


def test_more_money_for_agents_is_a_wider_mandate() -> None:
    assert not narrower(Mandate(max_worker_usd=1), Mandate(max_worker_usd=2))
    assert narrower(Mandate(max_worker_usd=2), Mandate(max_worker_usd=1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("summarise /errors/auth from metrics for 14 days", ("/errors/auth", "14")),
        ("look at “v9 canary” since 2026-11-02.", ("v9 canary", "2026-11-02")),
        ("and/or whatever", ()),
        ("scale auth-service to v2.1.4", ()),
    ],
)
def test_the_values_in_a_request_are_what_people_said(text, words):
    assert spoken(text) == words


def test_an_added_read_may_use_what_people_said_and_nothing_else():
    free = contract("read", changes=False, names={}, parameters={
        "type": "object", "properties": {"path": {"type": "string"}, "days": {"type": "integer"}},
    })  # fmt: skip
    parent = plan_spec(step("a", free), mandate=Mandate(said=("/errors", "14")))

    def added(**given: Any) -> str:
        return why_not(parent, step("b", free, parameters=given), [], free)

    assert added(path="/errors", days=14) == ""
    assert added(path="/errors?leak=hunter2") == "path has a value that nobody approved"
    assert added(path="/other") == "path has a value that nobody approved"
    assert added(path={"from": "a.text"}) == "path would carry another step's report"
