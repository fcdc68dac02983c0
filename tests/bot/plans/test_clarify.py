"""What is missing is asked in one form before there is a plan, and nothing that was said is lost."""

from typing import Any

import pytest

from bot.cards.blocks import elements
from bot.cards.clarify_form import questions
from bot.planner.model.usage import ModelUnavailable
from bot.planner.model.wire import Asked
from bot.planner.runbooks.book import Planned
from bot.planner.runbooks.questions import Field
from bot.plans.clarify import asked, given
from storage.contract.states import PlanState
from tests.support.fakes import TEAM, messages, plan_spec, real_contracts, step
from tests.support.room import Room, think

ANSWERS = {"service": "auth-service", "version": "v2.1.4", "environment": "production"}


def wishes(room: Room, text: str, user: str = "ANN") -> None:
    room.store.publish(real_contracts())
    room.store.request(text, team=TEAM, user=user, channel="C1")
    think(room.bot)


def test_the_facts_that_a_runbook_needs_are_asked_at_once_and_it_is_planned_on(lite):
    room = Room(lite)
    wishes(room, "deploy auth-service")
    assert room.view().state == PlanState.planning
    think(room.bot)
    assert "Which version?" in str(questions(room.view(), asked(room.view())))
    assert [event.verb for event in lite.events(1)] == ["request", "clarify"], "it is asked once"

    room.clicks("ANN", "clarify")
    shown = {block["block_id"]: block["element"] for block in room.opened[-1]["blocks"][1:]}
    assert shown["service"]["initial_option"]["value"] == "auth-service"
    assert room.fills("ANN", ANSWERS | {"version": "banana"}) == {
        "version": "I cannot use “banana” here. It looks like v2.1.4."
    }
    assert room.fills("ANN", ANSWERS) == {}
    think(room.bot)

    deploy = next(s.spec for s in room.view().steps if s.spec.action == "deploy_service")
    assert room.view().state == PlanState.proposed
    assert deploy.parameters["version"] == "v2.1.4"
    assert room.view().text == "deploy auth-service"


def test_what_could_mean_several_things_is_picked_by_a_person(lite):
    room = Room(lite)
    wishes(room, "auth-service rollback or deploy")
    form = asked(room.view())
    assert form is not None, messages(lite, "whisper")
    title = next(option for option in form.fields[0].options if option.startswith("Deploy"))
    room.clicks("ANN", "clarify")
    assert room.fills("ANN", {"runbook": title}) == {}
    think(room.bot)
    room.clicks("ANN", "clarify")
    values = {"service": "auth-service", "version": "v2.1.4", "environment": "production"}
    values |= {"strategy": "rolling", "when": "now"}
    assert room.fills("ANN", values) == {}
    think(room.bot)

    assert room.view().state == PlanState.proposed
    assert room.view().steps[-1].spec.parameters["strategy"] == "rolling"


def test_a_models_questions_are_one_form_and_its_answers_reach_it(lite):
    room, heard = Room(lite), list[str]()

    def ask(text: str, spend: Any, ground: Any) -> Asked | Planned:
        heard.append(text)
        fields = (Field(name="q1", label="Which one?", kind="choice", options=("a", "b")),
                  Field(name="q2", label="How many?", kind="number"))  # fmt: skip
        return Asked(fields) if len(heard) == 1 else Planned(plan_spec(step("s1")), "by a model")

    object.__setattr__(room.bot, "ask_model", ask)
    wishes(room, "do the thing")
    room.clicks("ANN", "clarify")
    assert room.fills("ANN", {"q1": "b", "q2": "many"}) == {"q2": "A number, please."}
    assert room.fills("ANN", {"q1": "b", "q2": "3"}) == {}
    think(room.bot)

    assert heard == ["do the thing", "do the thing\nWhich one? b\nHow many? 3"]
    assert given(room.view()).rounds == 1


def test_questions_without_end_are_ended(lite):
    room = Room(lite)
    form = Asked((Field(name="q1", label="Why?"),))
    object.__setattr__(room.bot, "ask_model", lambda text, spend, ground: form)
    wishes(room, "do the thing")
    for _ in range(3):
        room.clicks("ANN", "clarify")
        room.fills("ANN", {"q1": "because"})
        think(room.bot)

    assert room.view().state == PlanState.cancelled
    assert "do the thing" in room.whispers("ANN")[-1]


def test_nobody_else_answers_and_nobody_answers_twice(lite):
    room = Room(lite)
    wishes(room, "deploy auth-service")
    room.clicks("EVE", "clarify")
    assert room.opened == []
    room.clicks("ANN", "clarify")
    room.fills("ANN", ANSWERS)
    twice = room.fills("ANN", ANSWERS | {"version": "v9.9.9"})

    assert "answered already" in str(twice)
    assert given(room.view()).values["version"] == "v2.1.4"


def test_a_model_that_is_away_still_asks_what_its_runbook_needs(lite):
    room = Room(lite)

    def away(text: str, spend: Any, ground: Any) -> Planned:
        raise ModelUnavailable("The model is away.")

    object.__setattr__(room.bot, "ask_model", away)
    wishes(room, "deploy auth-service")

    assert asked(room.view()).why.startswith("The model is away. Which version?")


@pytest.mark.parametrize("text", ["don't deploy auth-service", "what does auth-service do?"])
def test_what_is_no_wish_is_not_asked_about(lite, text):
    room = Room(lite)
    wishes(room, text)

    assert room.view().state == PlanState.cancelled


def test_what_is_missing_is_asked_of_the_requester_alone_with_the_answers_as_buttons(lite):
    room = Room(lite)
    wishes(room, "deploy auth-service v2.1.4")
    (asked_for,) = [m for m in messages(lite, "whisper") if m.key.startswith("clarify:")]
    made = elements(questions(room.view(), asked(room.view())))

    assert (asked_for.user, asked_for.channel) == ("ANN", "C1")
    assert [one["text"]["text"] for one in made] == ["production", "staging", "Other…", "Never Mind"]
    room.clicks("EVE", "clarify_pick_0", "0")
    assert "may not" in room.whispers("EVE")[0]
    room.clicks("ANN", "clarify_pick_0", "0")
    think(room.bot)

    assert room.view().state == PlanState.proposed
    assert {s.spec.parameters.get("environment") for s in room.view().steps} >= {"production"}


def test_never_mind_ends_it_and_leaves_no_trace_in_public(lite):
    room = Room(lite)
    wishes(room, "deploy auth-service")
    room.clicks("ANN", "clarify_never")

    assert room.view().state == PlanState.cancelled
    assert room.whispers("ANN")[-1] == "Forgotten; nothing was planned."
    room.clicks("ANN", "clarify_pick_0", "0")
    assert room.whispers("ANN")[-1] == "This question was answered already."


@pytest.mark.parametrize("answer", ["7", "-1", "x", ""])
def test_an_answer_that_is_none_of_those_offered_opens_the_form(lite, answer):
    room = Room(lite)
    wishes(room, "deploy auth-service v2.1.4")
    room.clicks("ANN", "clarify_pick_0", answer)

    assert room.view().state == PlanState.planning
    assert len(room.opened) == 1
