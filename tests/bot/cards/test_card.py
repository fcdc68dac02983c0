"""Cards: Slack takes every one of them, and nobody else's words can mention, link or pose as ours."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.cards.blocks import LIMIT, escape, pack, size
from bot.cards.card import card, cut, simple
from bot.cards.decision_form import review_form
from bot.cards.edit_form import edit_form, edit_page, edited, field_errors, pages
from bot.cards.forms import read_values, reject_form
from bot.cards.home import Scene, home
from bot.cards.long_plan import in_full
from bot.cards.phrases import differences, lasting, standing, timing
from bot.cards.thread import message, needless
from bot.cards.timeline import timeline
from bot.local.people.inputs import mistakes, state_values
from bot.local.schema.limits import UPDATE_TEXT, check_home, check_message, check_view
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from bot.untrusted import clip, inert
from storage.contract.report import AnyReport
from storage.contract.spec import PlanSpec, Schedule
from storage.contract.states import PlanState, StepState
from storage.database.tables import Event, Stop
from storage.errors import Issue
from storage.reading.views import PlanView, StepView
from tests.support.fakes import NOW, PLAN_JSON, demo_config, plan_spec, real_contracts, step, undo

Json = dict[str, Any]
EVIL = "<!channel> <!here> <@UEVIL> <https://evil.example|Approve> *bold* `code` & \u202e\u200b\x00\x1b[31m"
HUGE = EVIL * 200  # about 20 kB
SITE = "https://team.slack.com/"
BOOKS = runbooks.read((runbooks.SHIPPED,))
KINDS = {"outcome": ["succeed", "fail"], "question": ["lose", "stall"], "summary": ["finish"],
         "decision": ["approve", "reject", "withdraw", "expire", "cancel"], "changes": ["amend"]}  # fmt: skip


def plan_view(*steps: StepView, **fields: Any) -> PlanView:
    spec = plan_spec(*(found.spec for found in steps), goal=fields.pop("goal", "Deploy a"))
    given: Json = {
        "id": 1, "state": PlanState.proposed, "version": 3, "text": "deploy a", "team": "T1",
        "requester": "UANN", "channel": "C1", "thread": "", "card": "", "outcome": "", "reason": "",
        "created_at": NOW, "revision": 1, "spec": spec, "digest": spec.digest(), "risk": "high",
        "reasons": ("it changes a",), "needed": 1, "approvers": ("UBOB",), "authors": ("UANN",),
        "seconds": 60.0, "author": "UBOB", "expires_at": NOW + timedelta(hours=1),
        "steps": steps or tuple(StepView(found) for found in spec.steps),
    }  # fmt: skip
    return PlanView(**given | fields)


def happening(verb: str, **data: Any) -> Event:
    return Event(plan_id=1, seq=1, at=NOW, verb=verb, actor="UBOB", data=data, prev="", hash="")


def hostile(text: str, count: int = 3, **fields: Any) -> PlanView:
    """Every place where foreign words can stand holds this text."""
    report = AnyReport.failed(text, recommendations=(text, text))
    steps = [
        StepView(
            step(f"s{number}", purpose=text, parameters={"service": text}, schedule={"at": text}),
            state=list(StepState)[number % len(StepState)],
            report=report,
            choices=("retry", "skip", "rollback", "abort") if number == 3 else (),
        )
        for number in range(count)
    ]
    given: Json = {
        "text": text, "goal": text, "reason": text, "note": text, "reasons": (text,), "changes": (text, text),
        "outcome": "failed",
    }  # fmt: skip
    return plan_view(*steps, **given | fields)


def messages(view: PlanView, text: str = "x") -> Iterator[tuple[str, list[Json]]]:
    """Every message that could be made of a view."""
    yield card(view, NOW)
    yield card(view, NOW, workers=False)
    yield simple(view, NOW)
    data = {"summary": text, "reason": text, "changes": [text], "given": 1, "needed": 2, "revision": 1}
    for kind, verbs in KINDS.items():
        for verb in verbs:
            for found in view.steps[:7] or (None,):
                more = {"step": found.spec.id} if found and kind in {"outcome", "question"} else {}
                if found or kind != "outcome":
                    yield message(kind, view, happening(verb, **data, **more), NOW)


def markup(node: Any) -> Iterator[str]:
    """Every text in which Slack looks for mentions and links."""
    if isinstance(node, list):
        for part in node:
            yield from markup(part)
    elif isinstance(node, dict):
        if node.get("type") == "mrkdwn":
            yield node["text"]
        for part in node.values():
            yield from markup(part)


def harmless(text: str) -> bool:
    return not any(
        sign in text for sign in ("<!channel", "<!here", "<!everyone", "<@UEVIL", "<http", "\u202e")
    )


def buttons(blocks: list[Json]) -> list[str]:
    return [made["action_id"] for block in blocks if block["type"] == "actions" for made in block["elements"]]


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


def strings(node: Any) -> Iterator[str]:
    """Every text of a message, wherever it stands."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, list | tuple | dict):
        for part in node.values() if isinstance(node, dict) else node:
            yield from strings(part)


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
    scene = Scene(plans[:9], plans[9:], [stop] * 9, BOOKS, demo_config(), NOW, lambda v: f"{SITE}{v.card}")
    shown = home("UBOB", "D0BOB", scene)
    review = review_form(view, "D0BOB", NOW)
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


def test_a_picture_is_made_of_any_finished_plan():
    view = hostile(HUGE, 70, state=PlanState.done)
    steps = tuple(replace(s, started_at=NOW, ended_at=NOW) for s in view.steps)

    picture = timeline(replace(view, steps=steps), {})

    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 1_000_000


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


@pytest.mark.hostile
def test_foreign_words_mention_nobody_in_a_form():
    view = hostile(EVIL)

    assert all(map(harmless, markup(edit_form(view, view.spec, Catalogue([]))["blocks"])))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!channel>", "&lt;!channel&gt;"),
        ("&lt;", "&amp;lt;"),
        ("a\u202eb\u200bc\x1bd\x00e", "abcde"),
        ("two\nlines", "two\nlines"),
        ("*a* `b` ~c~", "∗a∗ ˋbˋ ∼c∼"),
        ("naïve 日本 🙂", "naïve 日本 🙂"),
    ],
)
def test_foreign_words_are_made_inert(text, expected):
    assert escape(text) == expected


@given(st.text())
def test_inert_text_stays_as_it_is(text):
    assert inert(inert(text)) == inert(text)


@given(st.text(), st.integers(1, 20))
def test_a_clip_is_never_too_long(text, limit):
    assert len(clip(text, limit)) <= limit


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


def test_a_failure_offers_what_a_person_may_answer():
    found = StepView(step("s1"), state=StepState.failed, choices=("retry", "abort"))
    _, blocks = message("outcome", plan_view(found), happening("fail", step="s1", summary="x"), NOW)

    assert buttons(blocks) == ["answer_retry", "answer_abort"]


def test_a_failure_that_was_answered_offers_nothing():
    found = StepView(step("s1"), state=StepState.failed)
    _, blocks = message("outcome", plan_view(found), happening("fail", step="s1", summary="x"), NOW)

    assert buttons(blocks) == []


@pytest.mark.parametrize(
    ("state", "probing", "offered"),
    [
        (StepState.unknown, False, ["resolve_ran", "resolve_did_not", "resolve_look"]),
        (StepState.unknown, True, []),
        (StepState.succeeded, False, []),
    ],
)
def test_an_unknown_step_asks_until_it_is_resolved(state, probing, offered):
    found = StepView(step("s1"), state=state, probing=probing)
    _, blocks = message("question", plan_view(found), happening("lose", step="s1"), NOW)

    assert buttons(blocks) == offered


@pytest.mark.parametrize(("outcome", "offered"), [("succeeded", ["save"]), ("failed", ["plan_again"])])
def test_what_worked_can_be_saved_and_what_did_not_planned_again(outcome, offered):
    _, blocks = message("summary", plan_view(state=PlanState.done, outcome=outcome), happening("finish"), NOW)

    assert buttons(blocks) == offered


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


def test_a_card_shows_parameters_times_and_criteria():
    found = StepView(step("s1", success_criteria=[{"field": "failed", "op": "eq", "value": 0}],
                          schedule={"not_before": NOW, "zone": "America/New_York"}))  # fmt: skip
    blocks = json.dumps(card(plan_view(found), NOW)[1])

    assert "service: a" in blocks
    assert "When: Sun 15 Nov 18:00 EST (23:00 UTC)" in blocks
    assert "Must hold: failed eq 0" in blocks


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((StepView(step("s1")),), "approved"),
        ((StepView(step("s1")), StepView(step("s2"), state=StepState.running)), "running step 2 of 2"),
        ((StepView(step("s1"), state=StepState.unknown),), "needs an answer"),
        ((StepView(step("s1"), state=StepState.unknown, probing=True),), "finding out what happened"),
        ((StepView(step("s1"), state=StepState.running, undo=True),), "rolling back"),
        (
            (StepView(step("s1"), not_before=NOW + timedelta(hours=1)),),
            "waits until Mon 16 Nov 00:00 UTC",
        ),
    ],
)
def test_an_approved_plan_says_what_it_is_doing(steps, words):
    assert standing(plan_view(*steps, state=PlanState.approved), NOW) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (9.96, "10.0 s"), (42, "42 s"), (60, "1 min"), (61, "1 min 1 s"), (3600, "1 h 0 min"),
     (5400, "1 h 30 min")],
)  # fmt: skip
def test_a_duration_is_said_as_people_say_it(seconds, words):
    assert lasting(seconds) == words


def test_a_time_is_said_with_its_end():
    found = step("s1", schedule={"not_before": NOW, "not_after": NOW + timedelta(hours=2)})

    assert timing(found) == "Sun 15 Nov 23:00 UTC, until Mon 16 Nov 01:00 UTC"


def test_a_step_without_a_time_says_what_it_waits_for():
    assert timing(step("s2", depends_on=("s0", "s1"))) == "after s0, s1"
    assert timing(step("s1")) == "at once"


# forms


CATALOGUE = Catalogue(real_contracts())
PLANNED = prepare(PlanSpec.model_validate_json(PLAN_JSON), CATALOGUE, demo_config(), NOW)
VIEW = plan_view(*(StepView(found) for found in PLANNED.steps))


def submitted(form: Json, **typed: str) -> dict[str, str]:
    """What comes back when a person types this over what the form shows."""
    by_block = {name.replace("__", ":"): value for name, value in typed.items()}
    values = state_values(form["blocks"], by_block)
    assert mistakes(form["blocks"], values) == {}
    return read_values({"state": {"values": values}})


def test_slack_takes_the_forms():
    check_view(edit_form(VIEW, PLANNED, CATALOGUE))
    check_view(reject_form(VIEW))


def test_a_form_that_is_sent_as_it_was_changes_nothing():
    new = edited(PLANNED, submitted(edit_form(VIEW, PLANNED, CATALOGUE)), CATALOGUE)

    assert prepare(new, CATALOGUE, demo_config(), NOW).digest() == PLANNED.digest()
    assert differences(PLANNED, new) == []


def test_a_form_moves_a_step_in_time():
    form = edit_form(VIEW, PLANNED, CATALOGUE)
    new = edited(PLANNED, submitted(form, **{"when:step-3": "tomorrow 04:00 in New York"}), CATALOGUE)
    new = prepare(new, CATALOGUE, demo_config(), NOW)

    assert differences(PLANNED, new) == [
        "step-3: Mon 16 Nov 02:00 EST (07:00 UTC) → Mon 16 Nov 04:00 EST (09:00 UTC)"
    ]


def test_a_form_lets_a_step_start_at_once():
    form = edit_form(VIEW, PLANNED, CATALOGUE)
    new = edited(PLANNED, submitted(form, **{"when:step-3": "now"}), CATALOGUE)

    assert new.find("step-3").schedule == Schedule()


def test_a_form_changes_a_parameter():
    form = edit_form(VIEW, PLANNED, CATALOGUE)
    typed = {"param:step-3:version": "v2.1.5", "param:step-3:strategy": "rolling"}
    new = edited(PLANNED, submitted(form, **typed), CATALOGUE)

    assert differences(PLANNED, new) == [
        "step-3: version v2.1.4 → v2.1.5", "step-3: strategy blue_green → rolling",
    ]  # fmt: skip


def test_a_field_that_its_action_does_not_require_may_be_left_empty():
    contract = CATALOGUE.find(PLANNED.steps[0])
    optional = {
        block["block_id"] for block in edit_form(VIEW, PLANNED, CATALOGUE)["blocks"] if block.get("optional")
    }
    emptied = {name: "" for name in optional if name.startswith("param:step-1:")}
    new = prepare(edited(PLANNED, emptied, CATALOGUE), CATALOGUE, demo_config(), NOW)

    assert optional
    assert not optional & {f"param:step-1:{name}" for name in contract.parameters["required"]}
    assert new.digest() == PLANNED.digest()


def test_a_name_from_the_inventory_is_chosen_not_typed():
    form = edit_form(VIEW, PLANNED, CATALOGUE)
    fields = {
        block["block_id"]: block["element"]["type"] for block in form["blocks"] if block["type"] == "input"
    }

    assert fields["param:step-2:database"] == "static_select"
    assert fields["param:step-3:version"] == "plain_text_input"


def test_a_time_that_was_given_as_an_instant_is_not_shown_as_now():
    steps = (step("s1", schedule={"not_before": NOW + timedelta(hours=2)}),)
    form = edit_form(VIEW, plan_spec(*steps), Catalogue([]))

    assert form["blocks"][1]["element"]["initial_value"] != "now"


def test_slack_takes_a_form_with_a_very_long_parameter():
    contract = CATALOGUE.find(PLANNED.steps[2])
    open_ = contract.model_copy(update={"names": {}})
    spec = plan_spec(step("s1", open_, parameters={"service": "x" * 4000}))

    check_view(edit_form(VIEW, spec, Catalogue([open_])))


@pytest.mark.parametrize("count", [3, 50, 120, 200])
def test_every_step_of_a_long_plan_can_be_edited_moved_and_removed(count):
    spec = plan_spec(*(PLANNED.steps[0].model_copy(update={"id": f"s{n}"}) for n in range(count)))
    forms = [edit_page(VIEW, spec, CATALOGUE, number) for number in range(len(pages(spec, CATALOGUE)))]
    for form in forms:
        check_view(form)
        assert edited(spec, submitted(form), CATALOGUE) == spec
    fields = [block["block_id"] for form in forms for block in form["blocks"] if "block_id" in block]

    assert [name for name in fields if name[:5] == "when:"] == [f"when:s{n}" for n in range(count)]
    assert [name for name in fields if name[:6] == "place:"] == [f"place:s{n}" for n in range(count)]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("steps[2].parameters.version", "param:step-3:version"),
        ("steps[2].schedule", "when:step-3"),
        ("steps[0].worker", "when:step-1"),
        ("steps", "when:step-1"),
        ("rollback[0].parameters.x", "when:step-1"),
    ],
)
def test_a_problem_stands_at_its_field(path, field):
    values = submitted(edit_form(VIEW, PLANNED, CATALOGUE))

    assert field_errors([Issue("x", path, "that is wrong")], PLANNED, values) == {field: "that is wrong"}


def test_two_problems_of_one_field_are_both_said():
    values = submitted(edit_form(VIEW, PLANNED, CATALOGUE))
    found = field_errors(
        [Issue("x", "steps[0].schedule", text) for text in ("One.", "Two.")], PLANNED, values
    )

    assert found == {"when:step-1": "One. Two."}


# differences


def changed(**fields: Any) -> list[str]:
    spec = plan_spec(step("s1"), step("s2"))
    first = type(spec.steps[0]).model_validate(spec.steps[0].model_dump() | fields)
    return differences(spec, spec.model_copy(update={"steps": (first, spec.steps[1])}))


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"parameters": {"service": "b"}}, "s1: service a → b"),
        ({"parameters": {}}, "s1: service a → None"),
        ({"schedule": {"not_before": NOW}}, "s1: at once → Sun 15 Nov 23:00 UTC"),
        ({"failure_action": "abort"}, "s1: failure_action changed"),
        ({"depends_on": ["s2"]}, "s1: waits for s2"),
        ({"retries": {"attempts": 1}}, "s1: retries changed"),
        ({"success_criteria": ["x"]}, "s1: success_criteria changed"),
        ({"worker": "x"}, "s1: worker changed"),
        ({"action": "x"}, "s1: action changed"),
        ({"id": "s9"}, "s1: removed"),
    ],
)
def test_a_difference_is_said(fields, line):
    assert line in changed(**fields)


def test_added_removed_and_reordered_steps_are_said():
    one, two, three = (step(f"s{number}", purpose=f"do {number}") for number in (1, 2, 3))

    assert differences(plan_spec(one, two), plan_spec(two, one)) == ["the order of the steps changed"]
    assert differences(plan_spec(one, two), plan_spec(two, three)) == ["s1: removed", "s3: added (do 3)"]


@pytest.mark.parametrize(
    "new",
    [
        plan_spec(step("s1"), rollback=(undo("u", "s1"),)),
        plan_spec(step("s1"), continues=True),
        plan_spec(step("s1"), mandate={"max_added_steps": 50}),
        plan_spec(step("s1"), done_when=({"field": "s1.failed", "op": "eq", "value": 0},)),
        plan_spec(step("s1", contract="other")),
        plan_spec(step("s1", binding="other")),
        plan_spec(step("s1", schedule={"not_after": NOW})),
    ],
    ids=["rollback", "continues", "mandate", "done_when", "contract", "binding", "not_after"],
)
def test_every_change_of_the_digest_is_said(new):
    old = plan_spec(step("s1"))

    assert new.digest() != old.digest()
    assert any("at once → at once" not in line for line in differences(old, new))


def test_parameters_are_said_for_people():
    parts = {"rows": {"from": "fetch.file"}, "dry": True, "pipeline": [{"op": "limit", "rows": 1}]}
    text = json.dumps(card(plan_view(StepView(step("s1", parameters=parts))), NOW)[1], ensure_ascii=False)

    assert "rows: fetch.file (when it is known), dry: yes" in text
    assert "{'" not in text


def test_a_plan_of_one_read_says_its_result_once():
    """Policy's own approval stands on the card, and the summary tells the result of the only step."""
    seen = StepView(step("s1"), state=StepState.succeeded, report=AnyReport.ok("3/3 ready " * 60, {}))
    view = plan_view(seen, outcome="succeeded", state=PlanState.done)
    by_policy = happening("approve").model_copy(update={"actor": "policy"})

    assert needless("outcome", view, happening("succeed", step="s1"))
    assert needless("decision", view, by_policy)
    assert "3/3 ready " * 60 in json.dumps(message("summary", view, happening("finish"), NOW)[1])
    assert not needless("decision", view, happening("approve"))
    assert not needless("outcome", replace(view, outcome="failed"), happening("fail", step="s1"))
    assert not needless("outcome", replace(view, steps=(seen, seen)), happening("succeed", step="s1"))


# Previews, and plans that do not fit


def test_previews_stand_collapsed_under_the_plan_and_not_twice():
    found = StepView(step("s1"), preview="+ image v2\n- image v1")
    _, blocks = card(plan_view(found), NOW)
    (box,) = [block for block in blocks if block["type"] == "container"]

    check_message("x", blocks, most_text=UPDATE_TEXT)
    assert (box["is_collapsible"], box["default_collapsed"]) == (True, True)
    assert box["child_blocks"][0]["text"]["text"] == "> + image v2\n> - image v1"
    assert "Would do" not in json.dumps(blocks)


@pytest.mark.parametrize("count", [1, 10, 50, 120])
def test_a_plan_of_any_length_fits_and_what_has_no_room_goes_into_a_file(count):
    steps = [StepView(step(f"s{n}", purpose=f"Do part {n}"), preview="x" * 400) for n in range(count)]
    view = plan_view(*steps)
    text, blocks = card(view, NOW)
    whole = in_full(view)

    check_message(text, blocks, most_text=UPDATE_TEXT)
    assert len(blocks[0]["tasks"]) == (count if count <= 50 else 49)
    assert cut(view, NOW) is (count > 10)
    assert ("All of it stands in the thread, in `plan-1-revision-1.txt`" in json.dumps(blocks)) is (
        count > 10
    )
    assert all(f"Do part {n}\n" in whole and "If it fails" in whole for n in range(count))


def test_the_planners_note_is_marked_as_one():
    _, blocks = card(plan_view(note="I chose canary"), NOW)

    assert "Planner's note: I chose canary" in json.dumps(blocks)
