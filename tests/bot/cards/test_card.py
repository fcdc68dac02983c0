"""Cards: Slack takes every one of them, and nobody else's words can mention, link or pose as ours."""

import json
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.cards.blocks import LIMIT, pack, size
from bot.cards.card import card, simple
from bot.cards.decision_form import decision_form
from bot.cards.edit_form import edit_form, edit_page, pages
from bot.cards.home import HomeFacts, home
from bot.local.schema.limits import UPDATE_TEXT, check_home, check_message, check_view
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from storage.contract.report import AnyReport
from storage.contract.states import PlanState, StepState
from storage.database.tables import Stop
from storage.reading.plan_view import PlanView, StepView
from tests.support.fakes import NOW, demo_config, real_contracts, step, undo
from tests.support.samples.cards import (
    EVIL,
    HUGE,
    buttons,
    harmless,
    hostile,
    markup,
    messages,
    plan_view,
    strings,
)

SITE = "https://team.slack.com/"
BOOKS = runbooks.read((runbooks.SHIPPED,))
CATALOGUE = Catalogue(real_contracts())


# Slack takes it


@pytest.mark.parametrize("state", PlanState)
def test_slack_takes_the_card_of_every_state(state):
    view = plan_view(state=state, outcome="failed", reason="because", approved_by=("UBOB",))
    for text, blocks in messages(view):
        check_message(text, blocks, most_text=UPDATE_TEXT)


def test_slack_takes_the_card_of_a_plan_that_is_still_being_made():
    view = replace(plan_view(state=PlanState.planning), revision=0, spec=None, steps=())
    for text, blocks in (card(view, NOW), simple(view, NOW)):
        check_message(text, blocks, most_text=UPDATE_TEXT)


@pytest.mark.parametrize("state", StepState)
def test_slack_takes_a_step_in_every_state(state):
    found = StepView(step("s1"), state=state, attempt=2, started_at=NOW, ended_at=NOW + timedelta(seconds=9))
    for text, blocks in messages(plan_view(found, state=PlanState.approved)):
        check_message(text, blocks, most_text=UPDATE_TEXT)


@pytest.mark.hostile
@pytest.mark.parametrize("state", [PlanState.proposed, PlanState.stalled, PlanState.done, PlanState.rejected])
@pytest.mark.parametrize(
    "text", [EVIL, HUGE, "", "\u202e", "\n" * 50], ids=["evil", "huge", "none", "bidi", "lines"]
)
def test_slack_takes_whatever_people_and_workers_say(text, state):
    for words, blocks in messages(hostile(text, state=state), text):
        check_message(words, blocks, most_text=UPDATE_TEXT)


def test_slack_takes_a_card_of_fifty_steps():
    steps = tuple(StepView(step(f"s{number}", purpose="Deploy a service")) for number in range(50))
    for text, blocks in messages(plan_view(*steps)):
        check_message(text, blocks, most_text=UPDATE_TEXT)


def test_slack_takes_a_card_of_fifty_steps_that_have_much_to_say():
    check_message(*card(hostile("word " * 100, 50), NOW), most_text=UPDATE_TEXT)


def test_slack_takes_a_card_of_fifty_steps_that_are_rolled_back():
    steps = [StepView(step(f"s{number}", purpose="x")) for number in range(50)]
    undos = [StepView(undo(f"u{number}", f"s{number}", purpose="x"), undo=True) for number in range(50)]
    view = replace(plan_view(*steps, state=PlanState.approved), steps=(*steps, *undos))

    check_message(*card(view, NOW), most_text=UPDATE_TEXT)


words = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*EVIL.split(), "<", ">", "&lt;", "|", "\n", "`", "@channel", "<!subteam^S1>"]))
    .map("".join)
    .map(lambda text: text[:400]),
)


@pytest.mark.hostile
@settings(max_examples=60)
@given(text=words, state=st.sampled_from(PlanState), count=st.integers(1, 7))
def test_no_words_break_a_card_or_speak_for_us(text, state, count):
    for fallback, blocks in messages(hostile(text, count, state=state), text):
        check_message(fallback, blocks, most_text=UPDATE_TEXT)
        for found in markup(blocks):
            assert harmless(found)
            assert "<!subteam" not in found


FOREIGN = [EVIL, HUGE, EVIL * 1000, "x" * 100_000, '"&<' * 3000, "\u202e", "\n" * 99, "", "<!subteam^S1>"]
MOMENTS = [None, NOW, NOW - timedelta(days=3), NOW + timedelta(minutes=7)]
USERS = [(), ("UANN",), ("UBOB", "UCAROL")]


def any_step(chance: Random, said: str) -> StepView:
    """One step in any state, with the same foreign words wherever there is room for words."""
    pick, maybe = chance.choice, ["", said]
    report = AnyReport.failed(said, recommendations=(said,) * chance.randint(0, 9), artifacts=(said,))
    return StepView(
        step("s0", purpose=pick(maybe), parameters={"service": said}, schedule={"at": pick(maybe)}),
        state=pick([*StepState]), attempt=chance.randint(0, 9), report=pick([None, report]),
        not_before=pick(MOMENTS), started_at=pick(MOMENTS), ended_at=pick(MOMENTS),
        probing=pick([True, False]), withheld=pick(maybe), stopped=pick(maybe), progress=pick(maybe),
        preview=pick(maybe), previewing=pick([True, False]), held_by=chance.randint(0, 3),
        choices=pick([(), ("retry", "skip", "rollback", "abort")]),
    )  # fmt: skip


def any_plan(chance: Random) -> PlanView:
    pick, said = chance.choice, chance.choice(FOREIGN)
    kinds = [any_step(chance, said) for _ in range(3)]
    steps = [
        replace(pick(kinds), spec=pick(kinds).spec.model_copy(update={"id": f"s{number}"}))
        for number in range(pick([1, 3, 50, 120]))
    ]
    return plan_view(
        *steps, goal=said, text=said, reason=said, note=said, reasons=(said,) * chance.randint(0, 9),
        changes=(said,) * chance.randint(0, 9), state=pick([*PlanState]), needed=chance.randint(0, 3),
        outcome=pick(["succeeded", "failed", "rolled_back", "incomplete"]), approvers=pick(USERS),
        authors=pick(USERS), approved_by=pick(USERS), cancelled_by=pick(["", "UBOB"]),
        expires_at=pick(MOMENTS), card=pick(["", "1.2"]),
    )  # fmt: skip


@pytest.mark.hostile
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_any_plan_fits_into_slack_and_pings_nobody(seed):
    view = any_plan(Random(seed))  # noqa: S311 - no secret
    stop = Stop(scope="environment staging", reason=view.text, by="UCAROL", since=NOW)
    plans = [replace(view, id=view.id + number) for number in range(18)]
    scene = HomeFacts(
        plans[:9], plans[9:], [stop] * 9, BOOKS, demo_config(), NOW, lambda v: f"{SITE}{v.card}"
    )
    shown = home("UBOB", "D0BOB", scene)
    review = decision_form(view, "D0BOB", NOW)
    check_home(shown)
    check_view(review)
    check_view(edit_form(view, view.spec, CATALOGUE))
    for number in range(len(pages(view.spec, CATALOGUE))):
        check_view(edit_page(view, view.spec, CATALOGUE, number))
        assert len(json.dumps(edit_page(view, view.spec, CATALOGUE, number))) < 65_000  # one frame of an ack
    said = list(islice(messages(replace(view, steps=view.steps[:1]), view.text), 3, None))
    said += [card(view, NOW), card(view, NOW, workers=False), simple(view, NOW)]
    for fallback, blocks in said:
        check_message(fallback, blocks, most_text=UPDATE_TEXT)
        assert size(blocks) <= LIMIT
    for found in markup([shown, review, *(blocks for _, blocks in said)]):
        assert harmless(found.replace(f"<{SITE}", ""))
        assert "<!subteam" not in found
    assert not any("\u202e" in text for text in strings([shown, review, said]))


# nobody else's words are markup


@pytest.mark.hostile
@pytest.mark.parametrize("text", [EVIL, HUGE], ids=["evil", "huge"])
@pytest.mark.parametrize("state", PlanState)
def test_foreign_words_mention_and_link_nothing(text, state):
    for _, blocks in messages(hostile(text, state=state), text):
        assert all(map(harmless, markup(blocks)))


@pytest.mark.hostile
def test_foreign_words_mention_nobody_in_the_fallback_text():
    for text, _ in messages(hostile(EVIL), EVIL):
        assert harmless(text)


# buttons


@pytest.mark.parametrize("state", PlanState)
def test_a_card_can_be_decided_only_while_it_is_proposed(state):
    wanted = ["approve", "edit", "reject"] if state == PlanState.proposed else []
    view = plan_view(state=state)

    assert buttons(card(view, NOW)[1]) == wanted
    assert buttons(simple(view, NOW)[1]) == wanted


def test_a_button_names_plan_revision_and_digest():
    view = plan_view()
    value = json.loads(card(view, NOW)[1][-1]["elements"][0]["value"])

    assert value == {"p": 1, "r": 1, "d": view.digest[:16]}
    assert value == json.loads(pack(1, 1, view.digest))


# what it says


def test_a_card_says_who_must_still_approve_and_why():
    blocks = json.dumps(card(plan_view(), NOW)[1], ensure_ascii=False)

    assert "*Risk: high* — it changes a" in blocks
    assert "1 more needed, from <@UBOB>; <@UANN> asked and may not approve" in blocks
    assert "revision 1 · digest" in blocks


def test_a_card_says_that_no_workers_are_there():
    said = [json.dumps(card(plan_view(state=PlanState.approved), NOW, workers=w)[1]) for w in (True, False)]

    assert ["No workers process is connected" in text for text in said] == [False, True]


def test_a_card_says_which_plan_holds_what_a_step_touches():
    found = StepView(step("s1"), held_by=7)
    blocks = json.dumps(card(plan_view(found, state=PlanState.approved), NOW)[1])

    assert "waits for plan 7, which holds what it touches" in blocks


def test_a_card_links_to_the_plan_that_holds_what_a_step_touches():
    found = StepView(step("s1"), held_by=7, held_at=("C1", "1700000000.000100"))
    blocks = json.dumps(card(plan_view(found, state=PlanState.approved), NOW, site="https://x.slack.com/")[1])

    assert "<https://x.slack.com/archives/C1/p1700000000000100|plan 7>" in blocks


def test_the_planners_note_is_marked_as_one():
    _, blocks = card(plan_view(note="I chose canary"), NOW)

    assert "Planner's note: I chose canary" in json.dumps(blocks)
