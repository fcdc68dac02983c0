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
from bot.cards.card import PLAINER, TEXT, WORDS, card
from bot.cards.decision_form import decision_form
from bot.cards.edit_form import edit_form, step_form
from bot.cards.home import HomeFacts, home
from bot.local.schema.limits import UPDATE_TEXT, check_home, check_message, check_view
from bot.planner.edits.difference import UNCHANGING
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from storage.contract.report import AnyReport
from storage.contract.states import PlanState, StepState
from storage.database.tables import Stop
from storage.reading.plan_view import PlanView, StepView
from tests.support.fakes import DEPLOY, NOW, contract, demo_config, real_contracts, step, undo
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
VERSIONED = {"type": "object", "properties": {"service": {"type": "string"}, "version": {"type": "string"}}}
IS = "{service} is {version}"
DEPLOYS = contract("deploy", parameters=VERSIONED, says="*Deploy* {service} *{version}*", leaves=IS)
PLANNERS = "Why, in the planner's words: “Run the tests”"


# Slack takes it


@pytest.mark.parametrize("state", PlanState)
def test_slack_takes_the_card_of_every_state(state):
    view = plan_view(state=state, outcome="failed", reason="because", approved_by=("UBOB",))
    for text, blocks in messages(view):
        check_message(text, blocks, most_text=UPDATE_TEXT)


def test_slack_takes_the_card_of_a_plan_that_is_still_being_made():
    view = replace(plan_view(state=PlanState.planning), revision=0, spec=None, steps=())
    for text, blocks in (card(view, NOW), card(view, NOW, plainness=WORDS)):
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
    for number in range(len(view.spec.steps)):
        made = step_form(view, view.spec, CATALOGUE, number, {})
        check_view(made)
        assert len(json.dumps(made)) < 65_000  # one frame of an ack
    said = list(islice(messages(replace(view, steps=view.steps[:1]), view.text), 3, None))
    said += [card(view, NOW), card(view, NOW, workers=False), card(view, NOW, plainness=PLAINER)]
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

ROWS = {
    PlanState.planning: ["details"],
    PlanState.proposed: ["approve", "edit", "reject", "details"],
    PlanState.approved: ["cancel", "details"],
    PlanState.stalled: ["cancel", "details"],
    PlanState.done: ["again", "details", "more"],
    PlanState.expired: ["again", "details"],
}


@pytest.mark.parametrize("state", PlanState)
@pytest.mark.parametrize("plainness", [0, PLAINER])
def test_the_buttons_are_those_of_where_the_plan_stands(state, plainness):
    view = plan_view(state=state, outcome="succeeded")

    assert buttons(card(view, NOW, plainness=plainness)[1]) == ROWS.get(state, ["details"])


def test_a_plan_that_failed_is_tried_again_and_makes_no_runbook():
    view = plan_view(state=PlanState.done, outcome="failed")

    assert buttons(card(view, NOW)[1]) == ["again", "details"]


@pytest.mark.parametrize(
    ("state", "outcome", "row"),
    [
        (PlanState.done, "succeeded", ["back", "details", "more"]),
        (PlanState.done, "failed", ["back", "details", "more"]),
        (PlanState.cancelled, "", ["back", "details"]),
    ],
)
def test_what_was_done_can_be_rolled_back_however_the_plan_ended(state, outcome, row):
    done = StepView(step("s1", DEPLOYS, parameters={"service": "a", "version": "v2"}), changes=True,
                    state=StepState.succeeded, previous={"version": "v1"})  # fmt: skip
    unknown = replace(done, previous={})

    assert buttons(card(plan_view(done, state=state, outcome=outcome), NOW)[1]) == row
    assert "back" not in buttons(card(plan_view(unknown, state=state, outcome=outcome), NOW)[1])


def test_words_alone_can_decide_nothing_and_say_where_to():
    text, blocks = card(plan_view(), NOW, plainness=WORDS)

    assert blocks == []
    assert "1.  *Deploy* a · on approval\n*If it fails:* asks a person" in text
    assert text.endswith("To decide, open my home tab.")


def test_a_button_names_plan_revision_and_digest():
    view = plan_view()
    row = next(block for block in card(view, NOW)[1] if block["type"] == "actions")
    value = json.loads(row["elements"][0]["value"])

    assert value == {"p": 1, "r": 1, "d": view.digest[:16]}
    assert value == json.loads(pack(1, 1, view.digest))


# what it says


def test_a_card_is_made_of_blocks_that_every_slack_knows_and_none_folds():
    for state in PlanState:
        kinds = {block["type"] for block in card(plan_view(state=state, outcome="failed"), NOW)[1]}

        assert kinds <= {"section", "context", "actions"}


def test_every_section_of_a_card_is_kept_open():
    sections = [block for block in card(plan_view(), NOW)[1] if block["type"] == "section"]

    assert sections
    assert all(block["expand"] is True for block in sections)


def test_a_card_says_what_it_does_how_risky_it_is_and_who_can_approve():
    assert shown(plan_view(StepView(step("s1", DEPLOY))))[0] == (
        "*Deploy a?*\n*High risk* · it changes a · <@UBOB> can approve"
    )


def test_a_card_says_who_has_approved_and_how_many_are_missing():
    view = plan_view(needed=2, approvers=("UBOB", "UCAROL"), approved_by=("UBOB",), held=(("UBOB",),))

    assert "1 of 2: <@UBOB> approved, 1 more of <@UCAROL> needed" in shown(view)[0]


@pytest.mark.parametrize("note", ["", "from the runbook “Deploy”. No.", "planned by claude. “A”. B."])
def test_whoever_planned_it_is_told_in_details_only(note):
    assert "planned by" not in str(card(plan_view(StepView(step("s1", DEPLOY)), note=note), NOW))


def test_the_wish_stands_below_in_the_requesters_words():
    (below,) = [block for block in card(plan_view(), NOW)[1] if block["type"] == "context"]

    assert below["elements"][0]["text"] == "<@UANN> asked: “deploy a” · about 1 min · plan 1"


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


def test_the_difference_stands_directly_above_the_buttons():
    blocks = card(plan_view(changes=("step 1: at once → Wed 02:00",), revision=2), NOW)[1]

    assert blocks[-3]["text"]["text"] == "<@UBOB> *changed* step 1: at once → Wed 02:00"
    assert blocks[-2]["type"] == "actions"


def test_how_the_wish_was_read_stands_on_the_card():
    assert "Read “depoly” as deploy" in shown(plan_view(notes=("Read “depoly” as deploy",)))


def test_verdicts_stand_on_the_card_and_bad_news_first_and_bold():
    found = StepView(step("s1"), found=("image found", "!only 2 kB free"))

    assert "*Checked:* *only 2 kB free* · image found" in shown(plan_view(found))[2]


def test_changes_that_nobody_tried_on_are_named():
    steps = [
        StepView(step(f"s{n}", DEPLOY), preview="x" * (n == 0), found=("fine",) * (n == 0)) for n in range(4)
    ]

    assert "*Checked:* fine · not checked: 2–4" in shown(plan_view(*steps))[2]


def test_while_previews_are_made_there_is_no_approve():
    view = plan_view(StepView(step("s1"), previewing=True))
    text, blocks = card(view, NOW)

    assert buttons(blocks) == ["edit", "reject", "details"]
    assert "*Checking* what it would do… _Approve_ appears here with the result." in shown(view)[2]
    assert "Checking what it would do… Approve appears here with the result." in text


def test_the_text_alone_has_the_whole_decision():
    text, _ = card(plan_view(StepView(step("s1", DEPLOY, failure_action="abort"))), NOW)

    assert text == (
        "Deploy a? High risk · it changes a · <@UBOB> can approve. "
        "1. Deploy a · on approval. "
        "If it fails: nothing else runs. <@UANN> asked: “deploy a”. about 1 min. plan 1."
    )
    assert len(text) <= TEXT


# A planner that lies


def test_a_deploy_is_called_a_deploy_whatever_the_planner_calls_it():
    lie = step("s1", DEPLOYS, purpose="Run the tests", parameters={"service": "a", "version": "v2"})
    for state in PlanState:
        view = plan_view(StepView(lie), goal="Run the tests", state=state, outcome="succeeded")
        view = replace(view, contracts={("ops", "deploy"): DEPLOYS})
        for plainness in (0, PLAINER, WORDS):
            text, blocks = card(view, NOW, plainness=plainness)

            assert "Run the tests" not in text + json.dumps(blocks)
            assert "eploy" in text or "a is v2" in text


def test_no_goal_makes_the_card_say_that_a_deploy_changes_nothing():
    view = plan_view(StepView(step("s1", DEPLOYS)), goal=f"Run the tests{UNCHANGING}")

    assert "it changes nothing" not in card(view, NOW)[0]


def test_every_other_surface_calls_a_deploy_a_deploy_too():
    lie = step("s1", DEPLOYS, purpose="Run the tests", parameters={"service": "a", "version": "v2"})
    failed = StepView(lie, state=StepState.failed, choices=("retry", "abort"), report=AnyReport.failed("no"))
    view = replace(plan_view(failed, goal="Run the tests"), contracts={("ops", "deploy"): DEPLOYS})
    said = [*islice(messages(view), 4, None)]
    scene = HomeFacts([view], [view], [], BOOKS, demo_config(), NOW, lambda _: "")
    said += [("", [home("UBOB", "D0BOB", scene), decision_form(view, "D0BOB", NOW)])]
    said += [("", [edit_form(view, view.spec, Catalogue([DEPLOYS]))])]

    for text, blocks in said:
        told = (text + json.dumps(blocks, ensure_ascii=False)).replace(PLANNERS, "")
        assert "Run the tests" not in told


def shown(view: PlanView) -> list[str]:
    return [block["text"]["text"] for block in card(view, NOW)[1] if block["type"] == "section"]
