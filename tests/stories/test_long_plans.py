"""A plan of 120 steps: summarised on its card, whole in a file, edited in parts, run to its end."""

import json
from dataclasses import replace

import pytest

from bot.cards.card import card
from bot.cards.face.running import stretch
from bot.cards.summary import results
from bot.cards.thread import message, needless
from bot.inbox.requests import show_plan
from bot.local.schema.limits import UPDATE_TEXT, check_message, check_view
from bot.planner.prepare import prepare
from bot.planner.validate import Catalogue
from bot.slack.attachments import attachments, content
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState, StepState
from storage.database.tables import Message
from storage.reading.plan_view import PlanView, StepView
from tests.support.fakes import (
    BACKUP,
    CONTRACTS,
    NOW,
    approved,
    bad,
    demo_config,
    ok,
    plan_spec,
    step,
    step_row,
    take,
    terms,
    undo,
)
from tests.support.room import Room
from tests.support.samples.cards import happening, plan_view
from tests.support.store import Store

MANY = 120
STEPS = [step(f"s{n}", BACKUP, parameters={"service": "a"}) for n in range(MANY)]


@pytest.fixture
def room(lite: Store) -> Room:
    found = Room(lite)
    spec = prepare(plan_spec(*STEPS), Catalogue([*CONTRACTS.values()]), demo_config(), NOW)
    found.proposed(spec, terms())
    return found


def reached(count: int, *, failed: tuple[int, ...] = ()) -> PlanView:
    """A plan whose first steps are done."""

    def state(number: int) -> StepState:
        done = StepState.succeeded if number < count else StepState.pending
        return StepState.failed if number in failed else done

    return plan_view(
        *(StepView(found, state=state(n)) for n, found in enumerate(STEPS)), state=PlanState.approved
    )


def said(view: PlanView) -> list[str]:
    text, blocks = card(view, NOW)
    check_message(text, blocks, most_text=UPDATE_TEXT)
    return blocks[1]["text"]["text"].split("\n")


def test_the_card_shows_what_went_wrong_and_what_is_next_and_counts_the_rest():
    half = said(reached(60, failed=(7,)))

    assert half[0] == "120 steps: 59 done, 1 failed, 60 to come"
    assert half[1:] == [":x:  8.  Back up a: failed", ":white_circle:  61.  Back up a"]
    assert said(reached(MANY))[0] == "120 steps: 120 done"


@pytest.mark.parametrize("count", [1, 50, 51, 120, 200])
@pytest.mark.parametrize("done", [0, 25, 50, 119, 200])
def test_the_stretch_in_a_list_always_has_the_step_that_is_next(count: int, done: int) -> None:
    steps = [
        StepView(step("s"), state=StepState.succeeded if n < done else StepState.pending)
        for n in range(count)
    ]
    shown = stretch(steps, 50)

    assert len(shown) == min(count, 48) or count <= 50
    assert shown.start >= 0
    assert shown.stop <= count
    assert done >= count or done in shown


def test_a_rollback_of_a_long_plan_shows_what_is_undone_next():
    undos = tuple(StepView(undo(f"u{n}", f"s{n}"), undo=True) for n in range(MANY))
    view = reached(MANY, failed=(119,))

    assert ":white_circle:  121.  Restore a" in said(replace(view, steps=(*view.steps, *undos)))


def test_the_file_holds_every_step_and_the_plan_itself_word_by_word(room: Room) -> None:
    view = room.view()
    name, data = content(
        room.store, Message(key=f"plan:{view.id}:1", kind="file", plan_id=view.id, channel="C1"), view, None
    )
    text = data.decode()
    exact = PlanSpec.model_validate(json.loads(text.partition("The plan itself:")[2]))

    assert name == f"plan-{view.id}-revision-1.txt"
    assert f"digest {view.digest}\n" in text
    assert all(f"\n{n + 1}. Back up a\nBack up a\nby ops · backup\n" in text for n in range(MANY))
    assert exact.digest() == view.digest


def test_a_long_plan_is_edited_part_by_part_and_the_old_buttons_are_dead(room: Room) -> None:
    old = room.view()
    room.clicks("ANN", "edit")
    assert room.fills("ANN", {"next": "119"}) == {}
    assert room.fills("ANN", {"place:s118": "remove", "next": "120"}) == {}
    form = room.opened[-1]
    check_view(form)

    assert form["callback_id"] == "edit"
    assert room.fills("ANN", {"param:s119:service": "b"}) == {}
    assert room.view().changes == ("s118: removed", "s119: service a → b")
    assert (room.view().revision, len(room.view().steps)) == (2, MANY - 1)
    assert room.view().digest != old.digest


def test_a_long_plan_is_shown_in_few_words(room: Room) -> None:
    said = show_plan(room.bot, str(room.view().id), {"user": "ANN"})

    assert "20. [pending] Back up a (on approval)" in said
    assert said.endswith("… of 120 steps: 120 to come. The card's thread has all of them.")
    assert len(said) < 2900


def test_a_form_of_a_long_plan_that_is_stale_or_forged_is_refused(room: Room) -> None:
    room.clicks("ANN", "edit")
    chooser = room.opened[-1]
    room.says("BOB", "drop step 77")

    stale = room.fills("ANN", {"next": "1"})
    room.opened.append(chooser | {"private_metadata": json.dumps({"p": room.view().id, "r": 2})})
    barred = room.fills("GUS", {"next": "1"})

    assert next(iter(stale.values())).startswith("Meanwhile revision 2 was made: s76: removed")
    assert [*barred.values()] == ["Guests may not ask for or decide plans."]
    assert len(room.view().steps) == MANY - 1


def test_a_long_plan_runs_to_its_end_and_its_results_are_a_file(lite: Store) -> None:
    plan_id = approved(lite, *(found.model_copy(update={"failure_action": "continue"}) for found in STEPS))
    for number in range(MANY):
        attempt = take(lite, plan_id, f"s{number}")
        done = ok() if number != 77 else bad("the disk is full")
        assert (lite.succeed if number != 77 else lite.fail)(attempt, done, actor="w1")
    view = lite.view(plan_id)
    told = [event for event in lite.events(plan_id) if event.verb in {"succeed", "fail"}]
    told = [event.verb for event in told if not needless("outcome", view, event)]
    told = [verb for verb in told if told.count(verb) < MANY - 1] + [str(len(told))]
    text, blocks = message("summary", view, happening("finish"), NOW)
    check_message(text, blocks, most_text=UPDATE_TEXT)

    assert (view.state, view.outcome) == (PlanState.done, "incomplete")
    assert told == ["fail", str(MANY)]  # a line each, of which the folder of lines makes few messages
    assert step_row(lite, plan_id, "s119").state == StepState.succeeded
    assert "120 steps: 119 done, 1 failed. Each of them stands in `plan-1-results.txt`" in json.dumps(blocks)
    assert ":x: Back up a: the disk is full" in json.dumps(blocks)
    assert [key for key, _ in attachments("summary", view, None)] == ["timeline:1", "results:1"]
    assert "78. [failed] Back up a: the disk is full" in results(view)
    assert "120. [succeeded] Back up a: it is done" in results(view)
