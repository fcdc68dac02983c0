"""When a plan cannot go on by itself: the cause first, how things stand, and everything a person may do."""

from dataclasses import replace

import pytest

from bot.cards.escalation import needed
from bot.cards.thread import message
from bot.local.schema.limits import UPDATE_TEXT, check_message, check_view
from bot.planner.decision import Decision
from bot.plans.permits import permit
from storage.config import SignoffConfig
from storage.contract.report import AnyReport
from storage.contract.states import PlanState
from storage.errors import Conflict
from tests.support.fakes import (
    BACKUP,
    DEPLOY,
    NOW,
    READ,
    approve,
    claim,
    due,
    plan_spec,
    states,
    step,
    take,
    undo,
    verbs,
)
from tests.support.room import Room, think

CRITERIA = ({"field": "failed", "op": "eq", "value": 0}, {"field": "version", "op": "exists"})


@pytest.fixture
def room(lite):
    """A backup that failed, with a deploy that waits for it, and its criteria."""
    found = Room(lite)
    spec = plan_spec(
        step("check", READ, purpose="Check a"),
        step("save", BACKUP, purpose="Back up a", depends_on=("check",), success_criteria=CRITERIA),
        step("go", DEPLOY, purpose="Deploy a", depends_on=("save",)),
        rollback=(undo("u", "save"),),
    )
    plan_id = found.proposed(spec)
    approve(lite, plan_id)
    lite.succeed(take(lite, plan_id, "check"), AnyReport.ok("fine", {}), actor="w1")
    lite.fail(
        take(lite, plan_id, "save"),
        AnyReport.failed("disk full", recommendations=("add a disk",)),
        actor="w1",
    )
    return found


def test_a_review_that_asks_adds_its_advice_and_neither_asks_nor_calls_twice(room):
    think(replace(room.bot, advise=lambda *_: Decision(verb="ask", step="save", reason="Free some space.")))
    plan_id = room.view().id
    (event,) = [found for found in room.store.events(plan_id) if found.verb == "decide"]
    text, blocks = message("review", room.view(), event, NOW, on_call="S0ONCALL", guides=True)

    assert "Free some space. Please answer above, where it failed." in text
    assert "subteam" not in str(blocks)
    assert [block["type"] for block in blocks] == ["section"]
    assert told(room, "S0ONCALL")[0].startswith("<!subteam^S0ONCALL>  *Back up a failed:*")


def told(room: Room, on_call: str = "", **more: bool) -> tuple[str, list[str]]:
    """The words of the newest outcome, and its buttons."""
    plan_id = room.view().id
    event = [found for found in room.store.events(plan_id) if found.verb == "fail"][-1]
    answer = room.store.answer_to(plan_id, "save", event.seq)
    text, blocks = message("outcome", room.view(), event, NOW, answer=answer, on_call=on_call, **more)
    check_message(text, blocks, most_text=UPDATE_TEXT)
    parts = [part for block in blocks for part in (block.get("text"), *block.get("elements", ())) if part]
    said = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return said, [made["action_id"] for b in blocks if b["type"] == "actions" for made in b["elements"]]


def test_the_cause_comes_first_then_what_is_true_then_the_advice_then_each_choice_in_its_own_words(room):
    said, buttons = told(room)

    lines = said.splitlines()
    assert lines[:2] == [
        "<@BOB> <@ANN>  *Back up a failed:* disk full",
        "Done: Check a. Not run: Deploy a. The plan waits for an answer.",
    ]
    assert "• add a disk" in lines
    assert lines[-5:] == [
        "*Try Again*: runs it once more",
        "*Go On Without It*: goes on without “Back up a”; somebody approves that first",
        "*Roll Back*: undoes what was done: Restore a",
        "*I Did It*: you did it by hand, and say what came of it",
        "*Stop*: ends the plan; nothing else runs",
    ]
    assert buttons == [
        "answer_retry", "answer_skip", "answer_rollback", "answer_take_over", "answer_abort",
    ]  # fmt: skip


def test_whoever_is_on_call_is_called_by_the_question_and_nobody_by_its_answer(room):
    assert told(room, "S0ONCALL")[0].count("<!subteam^S0ONCALL>") == 1
    assert "<@BOB>" not in told(room, "S0ONCALL")[0]

    room.clicks("BOB", "answer_abort", "save")

    said, buttons = told(room, "S0ONCALL")
    assert "subteam" not in said
    assert buttons == []
    assert "<@BOB> chose *Stop* · <!date^" in said


def test_going_on_without_it_answers_the_question_and_says_who_decides_next(room):
    room.clicks("BOB", "answer_skip", "save")

    said, buttons = told(room)
    assert buttons == []
    assert "<@BOB> chose *Go On Without It*" in said
    assert "<@CAROL>, please approve the changed plan" in said
    answer = [event for event in room.store.events(room.view().id) if event.verb == "answer"][-1]
    assert (answer.actor, answer.data["step"], answer.data["choice"]) == ("BOB", "save", "skip")


@pytest.mark.parametrize("group", ["S0ONCALL|x", "@here", "<!here>", "U0BOB", "s0"])
def test_only_the_id_of_a_group_can_be_called(group):
    with pytest.raises(ValueError, match="on_call"):
        SignoffConfig.model_validate({"policy": {"on_call": group}})


@pytest.mark.authorize
@pytest.mark.parametrize("user", ["ANN", "EVE", "GUS"])
def test_only_those_who_may_approve_take_over(room, user):
    room.clicks(user, "answer_take_over", "save")

    assert room.opened == []
    assert "may not" in room.whispers(user)[0]
    assert "refuse" in verbs(room.store, room.view().id)


def test_the_form_asks_for_what_the_criteria_and_later_steps_look_at(room):
    room.clicks("BOB", "answer_take_over", "save")

    (form,) = room.opened

    check_view(form)
    assert [block.get("block_id") for block in form["blocks"]] == [
        None,
        "text",
        "data:failed",
        "data:version",
    ]


def test_a_step_that_a_person_took_over_counts_as_done_with_their_words_on_record(room):
    room.clicks("BOB", "answer_take_over", "save")
    empty = room.fills("BOB", {"text": " ", "data:failed": "0", "data:version": ""})
    wrong = room.fills("BOB", {"text": "copied it", "data:failed": "3", "data:version": "x"})
    assert room.fills("BOB", {"text": "copied the disk", "data:failed": "0", "data:version": "x"}) == {}

    view = room.view()
    answer = [event for event in room.store.events(view.id) if event.verb == "answer"][-1]

    assert [*empty] == ["text", "data:version"]
    assert "failed must be 0" in wrong["text"]
    assert states(room.store, view.id)["save"] == "succeeded"
    assert view.state == PlanState.approved
    assert view.step("save").report.summary == "done by hand: copied the disk"  # who, the answer says
    assert view.step("save").report.data == {"failed": 0, "version": "x"}
    assert (answer.actor, answer.data["choice"], answer.data["text"]) == (
        "BOB", "take_over", "copied the disk"
    )  # fmt: skip
    assert "<@BOB> chose *I Did It*: “copied the disk”" in told(room)[0]
    assert claim(room.store, view.id, "go") is not None


def test_a_failure_that_was_tried_again_stays_what_it_was_and_the_success_has_its_own_line(room):
    plan_id = room.view().id
    room.clicks("BOB", "answer_retry", "save")
    room.store.succeed(take(room.store, plan_id, "save"), AnyReport.ok("saved", {"failed": 0}), actor="w1")

    said, buttons = told(room)
    assert said.startswith(":x: *Back up a failed:* disk full")
    assert "<@BOB> chose *Try Again*" in said
    assert "saved" not in said
    assert buttons == []


def test_what_is_answered_cannot_be_taken_over(room):
    room.clicks("BOB", "answer_take_over", "save")
    room.clicks("CAROL", "answer_abort", "save")

    late = room.fills("BOB", {"text": "did it", "data:failed": "0", "data:version": "x"})

    assert "is done (failed) now" in late["text"]
    with pytest.raises(Conflict):
        room.store.take_over(room.view().id, "check", user="BOB", text="x", data={})


def test_a_rollback_that_failed_can_be_taken_over(room):
    plan_id = room.view().id
    room.clicks("BOB", "answer_rollback", "save")
    room.store.fail(take(room.store, plan_id, "u"), AnyReport.failed("no disk"), actor="w1")
    room.clicks("BOB", "answer_take_over", "u")
    room.fills("BOB", {"text": "restored it from the safe"})

    assert (room.view().state, room.view().outcome) == (PlanState.done, "rolled_back")


def test_a_step_that_a_changing_one_relies_on_is_left_out_only_with_another_approval(room):
    plan_id = room.view().id
    room.clicks("BOB", "answer_skip", "save")

    asked = room.view()
    assert (asked.state, asked.revision, asked.author) == (PlanState.proposed, 2, "BOB")
    assert asked.changes == ("save: removed", "go: waits for check", "the rollback changed")
    assert asked.authors == ("ANN", "BOB")
    assert [found.spec.id for found in asked.steps] == ["check", "go"]
    room.clicks("BOB", "approve")
    assert room.view().state == PlanState.proposed
    room.clicks("CAROL", "approve")

    assert states(room.store, plan_id) == {"check": "succeeded", "go": "pending"}
    permit(room.bot)
    assert len(due(room.store)) == 1


def test_a_step_that_nothing_relies_on_is_skipped_at_once(lite):
    room = Room(lite)
    plan_id = room.proposed(plan_spec(step("one", BACKUP), step("two", READ, depends_on=("one",))))
    approve(lite, plan_id)
    lite.fail(take(lite, plan_id, "one"), AnyReport.failed("no"), actor="w1")
    room.clicks("ANN", "answer_skip", "one")

    assert states(lite, plan_id) == {"one": "skipped", "two": "pending"}
    assert room.view().state == PlanState.approved


def test_guidance_is_offered_where_a_planner_can_follow_it_and_its_words_are_kept(room):
    assert "answer_guide" not in told(room)[1]
    assert told(room, guides=True)[1].index("answer_guide") == 4
    room.clicks("EVE", "answer_guide", "save")
    assert room.opened == []

    room.clicks("ANN", "answer_guide", "save")
    check_view(room.opened[-1])
    empty = room.fills("ANN", {"text": "  "})
    room.fills("ANN", {"text": "use the other disk"})

    answer = [event for event in room.store.events(room.view().id) if event.verb == "answer"][-1]
    assert "Please say in a few words" in empty["text"]
    assert (answer.actor, answer.data["choice"], answer.data["text"]) == (
        "ANN",
        "guide",
        "use the other disk",
    )
    assert room.store.to_review() == [(room.view().id, answer.seq)]
    assert "<@ANN> chose *Tell It How*: “use the other disk”" in told(room)[0]


def test_a_form_knows_what_later_steps_take_from_a_report():
    source = step("one", READ)
    later = step("two", READ, parameters={"service": {"from": "one.version"}}, depends_on=("one",))
    spec = plan_spec(source, later, done_when=({"field": "one.failed", "op": "eq", "value": 0},))
    view = type("V", (), {"spec": source})()

    assert needed(spec, view) == ["version", "failed"]
