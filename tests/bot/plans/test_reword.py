"""Words that the grammar of edits does not know: a model drafts the revision, through the real SDK."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.cards.phrases import differences
from bot.planner import planning
from bot.planner.model.calls import connect
from bot.planner.model.claude import Claude
from bot.planner.model.redraft import merged, shown
from bot.planner.model.usage import PRICES
from bot.planner.model.wire import Draft, to_spec
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from storage.config import Freeze
from storage.contract.spec import PlanSpec
from tests.support.fake_model import KEY, MODEL, FakeModel, Reply, fails, says
from tests.support.fakes import NOW, demo_config, messages, real_contracts, step, terms, verbs
from tests.support.room import Room, handle_all, think
from tests.support.store import Store

pytestmark = pytest.mark.model

CATALOGUE = Catalogue(real_contracts())
DEPLOY = planning.plan(
    "deploy auth-service v2.1.4 to production in the nightly window",
    runbooks.read([runbooks.SHIPPED]),
    demo_config(),
).spec
SPEC = prepare(DEPLOY, CATALOGUE, demo_config(), NOW)
CAREFUL = "make it more careful, ten percent at first"
NOTHING = {"assumptions": [], "questions": [], "reason": "", "continues": False}


def answering(edit: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], Reply]:
    """A model that copies the plan it is shown, and changes this."""

    def reply(body: dict[str, Any]) -> Reply:
        asked = body["messages"][0]["content"]
        plan = json.loads(asked.partition("<plan>\n")[2].partition("\n</plan>")[0])
        edit(plan)
        return says(json.dumps({"kind": "plan"} | NOTHING | plan))

    return reply


def canary(plan: dict[str, Any]) -> None:
    (deploy,) = [one for one in plan["steps"] if one["id"] == "deploy"]
    next(arg for arg in deploy["args"] if arg["name"] == "strategy")["value"] = "canary"


def answered(kind: str, **more: Any) -> Reply:
    empty = {"kind": kind, "goal": "", "steps": [], "rollback": []} | NOTHING
    return says(json.dumps(empty | more))


@pytest.fixture
def room(on_disk: Store) -> Room:
    found = Room(on_disk)
    found.proposed(SPEC, terms(), real_contracts())
    return found


@pytest.fixture
def model(room: Room) -> Iterator[Callable[..., FakeModel]]:
    """Give the room a planner that answers so."""
    made: list[Any] = []

    def make(*script: Any) -> FakeModel:
        fake = FakeModel(*script).__enter__()
        client = connect(KEY, url=fake.url)
        made.extend([fake, client])

        def revise(spec: PlanSpec, text: str, spend: Any, ground: Any) -> Any:
            claude = Claude(client, MODEL, "medium", PRICES, spend, deadline=3.0)
            return claude.revise(
                spec, text, room.store.contracts(), room.config, room.store.clock(), (), ground
            )

        room.bot = replace(room.bot, revise=revise)
        return fake

    yield make
    for one in made:
        one.__exit__(None, None, None) if isinstance(one, FakeModel) else one.close()


def test_words_that_only_a_planner_understands_make_a_revision_and_the_old_one_is_dead(room, model):
    fake, old = model(answering(canary)), room.view()
    room.says("BOB", CAREFUL)
    waits = room.view()
    think(room.bot)
    new = room.view()
    room.clicks("BOB", "approve")

    assert waits.revision == 1  # nobody waited for the model, and nothing was disturbed
    assert (new.revision, new.author, new.authors) == (2, "BOB", ("ANN", "BOB"))
    assert new.changes == (
        f"drafted by the planner from “{CAREFUL}”", "deploy: strategy blue_green → canary"
    )  # fmt: skip
    assert new.digest != old.digest
    assert [m.text for m in messages(room.store, "react")] == ["eyes"]
    assert "somebody else must approve it" in room.whispers("BOB")[0]
    assert room.store.spent(new.id)[0] > 0
    assert (len(fake.requests), fake.rejected) == (1, [])


def test_what_the_answer_leaves_as_it_was_stays_byte_for_byte(room, model):
    model(answering(canary))
    room.says("ANN", CAREFUL)
    think(room.bot)
    spec = room.view().spec

    assert spec.model_copy(update={"steps": ()}) == SPEC.model_copy(update={"steps": ()})
    assert [step for step in spec.steps if step.id != "deploy"] == [s for s in SPEC.steps if s.id != "deploy"]
    assert spec.find("deploy").schedule == SPEC.find("deploy").schedule


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (answered("refuse", reason="That is another plan."), "I do not change it so: That is another plan."),
        (answered("clarify", questions=[{"name": "n", "ask": "Which one?", "kind": "text", "options": []}]),
         "please say it with this: Which one?"),
        (answering(lambda plan: plan["steps"].clear()), "made no plan that holds"),
        (answering(lambda plan: None), "Nothing was changed."),
        (fails(401), "does not accept my key"),
    ],
    ids=["refuses", "asks", "never valid", "the same", "a fault"],
)  # fmt: skip
def test_an_answer_that_changes_nothing_is_told_to_whoever_asked(room, model, script, told):
    model(script)
    room.says("BOB", CAREFUL)
    think(room.bot)

    (said,) = room.whispers("BOB")
    assert told in said
    assert CAREFUL in said
    assert room.view().revision == 1
    assert room.store.unhandled(thought=True) == []


def test_without_a_model_the_kind_answer_says_what_can_be_said(room):
    room.says("BOB", CAREFUL)
    think(room.bot)

    (said,) = messages(room.store, "choose")
    assert "I understand, for example: “move step 3 to 2am”" in json.loads(said.text)["text"]
    assert (said.user, room.whispers("BOB")) == ("BOB", [])
    assert room.view().revision == 1


def test_a_plan_that_moved_meanwhile_is_not_changed(room, model):
    fake = model(answering(canary))
    room.says("BOB", CAREFUL)
    room.says("ANN", "drop step 1")
    think(room.bot)

    assert room.view().revision == 2
    assert room.whispers("BOB")[0].startswith("Meanwhile revision 2 was made")
    assert fake.requests == []


def test_a_decision_while_the_planner_thinks_wins(room, model):
    def decided_first(body: dict[str, Any]) -> Reply:
        room.store.reject(1, 1, user="CAROL", reason="not today")
        return answering(canary)(body)

    model(decided_first)
    room.says("BOB", CAREFUL)
    think(room.bot)

    assert (room.view().state, room.view().revision) == ("rejected", 1)
    assert "rejected" in room.whispers("BOB")[0]
    assert room.store.unhandled(thought=True) == []


@pytest.mark.parametrize("user", ["EVE", "GUS"])
def test_the_words_of_others_reach_no_model(room, model, user):
    fake = model(answering(canary))
    room.says(user, CAREFUL)
    think(room.bot)

    assert fake.requests == []
    assert verbs(room.store, room.view().id) == ["request", "propose"]


def test_the_wish_outlives_the_process_and_is_thought_about_once(room, model):
    fake = model(answering(canary))
    room.says("BOB", CAREFUL)
    again = replace(room.bot, store=Store(room.store.engine, room.store.clock))
    think(again)
    handle_all(again)
    think(again)

    assert (len(fake.requests), room.view().revision) == (1, 2)


def test_a_budget_that_is_used_up_is_said(room, model):
    fake = model(answering(canary))
    room.bot = replace(
        room.bot,
        config=room.config.model_copy(
            update={"model": room.config.model.model_copy(update={"per_day": 0.0})}
        ),
    )
    room.says("BOB", CAREFUL)
    think(room.bot)

    assert "is used up" in room.whispers("BOB")[0]
    assert fake.requests == []


def test_a_mention_in_the_thread_that_is_a_wish_of_its_own_stays_one(room, model):
    fake = model(answering(canary))
    room.says("ANN", "<@USIGNOFF> run the full tests on staging", kind="app_mention")

    assert room.view().text == "run the full tests on staging"
    assert fake.requests == []
    room.says("ANN", f"<@USIGNOFF> {CAREFUL}", kind="app_mention")
    think(replace(room.bot, runbooks=room.bot.runbooks))

    assert room.store.view(1).revision == 2


def test_a_plan_shown_to_the_model_and_copied_is_the_same_plan():
    odd = step(
        "odd",
        parameters={"n": 3, "deep": {"a": [True, None]}, "ref": {"from": "test.failed"}},
        success_criteria=[{"field": "failed", "op": "eq", "value": 0}],
        retries={"attempts": 2},
    )
    spec = SPEC.model_copy(update={"steps": (*SPEC.steps, odd)})
    copied = to_spec(Draft.model_validate({"kind": "plan"} | NOTHING | shown(spec)))

    assert merged(spec, copied) == spec
    assert differences(spec, merged(spec, copied)) == []


READS = [
    {"id": "fetch", "worker": "data-retrieval", "action": "fetch", "parameters": {"source": "metrics"}},
    {"id": "count", "worker": "k8s-deployer", "action": "rollout_status",
     "parameters": {"service": "auth-service", "environment": "production"}},
]  # fmt: skip


def reading(path: str) -> PlanSpec:
    """A plan that changes nothing, and starts unasked where nothing in it is other people's."""
    given = {"source": "metrics"} | ({"path": path} if path else {})
    steps = [READS[0] | {"parameters": given}, READS[1]]
    return prepare(PlanSpec.model_validate({"goal": "Look", "steps": steps}), CATALOGUE, demo_config(), NOW)


@pytest.mark.parametrize(("path", "state"), [("/?leak=told-by-eve", "proposed"), ("", "approved")])
def test_no_edit_takes_away_the_look_that_others_words_need(on_disk, path, state):
    """It was put before a person because of that path; an edit of something else does not start it."""
    room = Room(on_disk)
    room.proposed(reading(path), terms(needed=1), real_contracts())
    room.says("ANN", "drop step 2")

    view = room.view()
    assert (view.revision, str(view.state)) == (2, state)


def test_a_planner_that_changes_a_proposal_is_shown_what_was_said_and_what_holds_it_back(room, model):
    fake = model(answering(canary))
    now = room.store.clock()
    freeze = Freeze(start=now, end=now + timedelta(hours=2), zone="UTC", reason="the big sale")
    said = [{"user": "BOB", "text": "ten percent was fine last time", "ts": "150.0"}]
    config = room.config.model_copy(update={"freezes": {"sale": freeze}})
    room.bot = replace(room.bot, config=config, thread=lambda channel, thread: said)
    room.says("ANN", CAREFUL)
    think(room.bot)

    sent = fake.requests[-1]["messages"][0]["content"]
    assert "the big sale" in sent
    assert "ten percent was fine last time" in sent
    (event,) = [event for event in room.store.events(room.view().id) if event.verb == "ground"]
    assert event.data["thread"][0]["author"] == "bob"
