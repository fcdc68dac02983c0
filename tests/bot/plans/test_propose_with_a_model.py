"""A scripted model, asked through the real SDK in the bot's own turn: a plan, a question or a sentence."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bot.cards.details import facts
from bot.config import BotSettings
from bot.context import Bot
from bot.planner.model.calls import connect
from bot.planner.model.claude import Claude
from bot.planner.model.usage import PRICES
from bot.planner.runbooks import book as runbooks
from bot.process import connect_planner
from storage.contract.report import AnyReport
from storage.contract.states import PlanState
from tests.support.fake_model import (
    BROKEN,
    GOOD,
    KEY,
    MODEL,
    QUESTION,
    REFUSAL,
    FakeModel,
    Reply,
    fails,
    says,
)
from tests.support.fakes import READ, Everybody, approved, demo_config, messages, real_contracts, step, take
from tests.support.room import think
from tests.support.store import Store

pytestmark = pytest.mark.model

KNOWN, UNKNOWN = "deploy auth-service v2.1.4 to production", "polish the moon"
CUT = says(GOOD[:50], stop="max_tokens")


class Talk:
    """A bot whose model is scripted."""

    def __init__(self, store: Store, fake: FakeModel, deadline: float, **budgets: float) -> None:
        self.store, self.fake, self.client = store, fake, connect(KEY, url=fake.url)
        config = demo_config()
        people = config.people.model_copy(update={"approvers": ("BOB",)})
        model = config.model.model_copy(update=budgets)
        config = config.model_copy(update={"people": people, "model": model})

        def ask(text: str, spend: Any, ground: Any) -> Any:
            planner = Claude(self.client, MODEL, "medium", PRICES, spend, deadline=deadline)
            return planner.plan(text, store.contracts(), config, store.clock(), [])

        books = runbooks.read([runbooks.SHIPPED])
        self.bot = Bot(store, config, Everybody(), lambda trigger, view: None, books, ask)
        store.publish(real_contracts())

    def wish(self, text: str) -> int:
        plan_id = self.store.request(text, team="T1", user="ANN", channel="C1")
        began = time.monotonic()
        think(self.bot)
        assert time.monotonic() - began < 20
        return plan_id

    def calls(self, plan_id: int) -> int:
        return sum(event.verb == "book" for event in self.store.events(plan_id))


@pytest.fixture
def talk(on_disk: Store) -> Iterator[Callable[..., Talk]]:
    made: list[Talk] = []

    def make(*script: Any, deadline: float = 3.0, **budgets: float) -> Talk:
        made.append(Talk(on_disk, FakeModel(*script).__enter__(), deadline, **budgets))
        return made[-1]

    yield make
    for one in made:
        one.fake.__exit__()
        one.client.close()


@pytest.mark.parametrize(
    ("script", "calls"),
    [([says(GOOD)], 1), ([says(BROKEN), says(GOOD)], 2), ([CUT, says(GOOD)], 2),
     ([fails(429, retry_after_ms=1), says(GOOD)], 1), ([fails(529, retry_after_ms=1), says(GOOD)], 1)],
)  # fmt: skip
def test_a_good_answer_in_the_end_is_a_plan_with_its_cost_in_its_details(talk, on_disk, script, calls):
    one = talk(*script)
    plan_id = one.wish(KNOWN)
    view = on_disk.view(plan_id)

    assert (view.state, view.note) == (PlanState.proposed, f"planned by {MODEL}")
    assert one.calls(plan_id) == calls
    assert f"Thinking cost {'0.02' if calls == 2 else 'less than 0.01'} USD" in str(facts(view))


FAULTS: dict[str, tuple[list[Reply], int, str]] = {
    "never valid": ([says(BROKEN)], 2, "made no plan that holds"),
    "refuses": ([says("", stop="refusal")], 1, "refuses this request"),
    "never fits": ([CUT], 2, "too long for one answer"),
    "another stop": ([says(GOOD, stop="pause_turn")], 1, "stopped without an answer"),
    "400": ([fails(400)], 0, "does not accept how I ask"),
    "401": ([fails(401)], 0, "does not accept my key"),
    "403": ([fails(403)], 0, "does not let my key"),
    "404": ([fails(404)], 0, "does not know the configured model"),
    "413": ([fails(413)], 0, "too large"),
    "429": ([fails(429, retry_after=3600)], 0, "too much to do"),
    "500": ([fails(500, retry_after_ms=1)], 0, "out of order"),
    "503": ([fails(503, retry_after_ms=1)], 0, "out of order"),
    "529": ([fails(529, retry_after_ms=1)], 0, "out of order"),
    "a page": ([Reply(b"<html>502</html>")], 0, "is not the model"),
    "half a reply": ([Reply(b'{"id"')], 0, "is not the model"),
    "another form": ([Reply(b'{"hello": 1}')], 0, "is not the model"),
    "gone": ([says(GOOD, drop="before")], 0, "is not the model"),
    "slow": ([says(GOOD, delay=30.0)], 0, "did not answer within"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_said_and_the_runbook_plans_instead(talk, on_disk, name):
    script, calls, words = FAULTS[name]
    one = talk(*script, deadline=0.5 if name == "slow" else 3.0)
    plan_id = one.wish(KNOWN)

    assert on_disk.view(plan_id).state == PlanState.proposed
    assert on_disk.view(plan_id).note.startswith("from the runbook")
    assert words in on_disk.view(plan_id).note
    assert any(f.startswith("Planned by the runbooks: ") and words in f for f in on_disk.view(plan_id).notes)
    assert one.calls(plan_id) == calls


@pytest.mark.parametrize("name", ["refuses", "never valid", "529", "slow"])
def test_without_a_runbook_the_person_hears_the_sentence(talk, on_disk, name):
    script, calls, words = FAULTS[name]
    one = talk(*script, deadline=0.5 if name == "slow" else 3.0)
    plan_id = one.wish(UNKNOWN)
    (said,) = [message.text for message in messages(on_disk, "whisper")]

    assert on_disk.view(plan_id).state == PlanState.cancelled
    assert words in said
    assert UNKNOWN in said
    assert one.calls(plan_id) == calls


def test_a_question_is_asked_and_a_refusal_is_said(talk, on_disk):
    asked = talk(says(QUESTION)).wish(UNKNOWN)
    declined = talk(says(REFUSAL)).wish("drop the users table")

    assert "Which version of auth-service?" in on_disk.view(asked).form
    assert on_disk.view(declined).state == PlanState.cancelled
    assert "I do not plan this" in messages(on_disk, "whisper")[-1].text


@pytest.mark.parametrize("budget", ["per_plan", "per_user", "per_day"])
def test_no_budget_is_exceeded_by_more_than_one_call(talk, on_disk, budget):
    one = talk(says(BROKEN), **{budget: 0.001})
    first, second = one.wish(KNOWN), one.wish(KNOWN)

    assert one.calls(first) == 1
    assert one.calls(second) == (1 if budget == "per_plan" else 0)
    assert "is used up" in on_disk.view(second).note


def test_what_a_workers_model_cost_counts_for_the_plans_budget(on_disk):
    plan_id = approved(on_disk, step("say", READ))
    data = {"text": "errors fell", "model": "claude-haiku-5-5", "usd": 0.25}
    on_disk.succeed(take(on_disk, plan_id, "say"), AnyReport.ok("errors fell", data), actor="w1")

    assert on_disk.spent(plan_id) == (0.25, 0.25, 0.25)
    assert on_disk.view(plan_id).spent == 0.25
    assert [e.actor for e in on_disk.events(plan_id) if e.verb == "book"] == ["claude-haiku-5-5"]


@pytest.mark.parametrize("usd", [-1.0, True, "1", None])
def test_what_is_no_cost_is_not_booked(on_disk, usd):
    plan_id = approved(on_disk, step("say", READ))
    report = replace_usd(AnyReport.ok("x", {}), usd)
    on_disk.succeed(take(on_disk, plan_id, "say"), report, actor="w1")

    assert on_disk.spent(plan_id) == (0.0, 0.0, 0.0)


def replace_usd(report: AnyReport, usd: Any) -> AnyReport:
    return report.model_copy(update={"data": {"usd": usd}})


def test_the_process_asks_the_same_model_how_a_plan_goes_on(on_disk, monkeypatch):
    said = {"verb": "ask", "step": "look", "reason": "The source is gone.", "steps": [], "drop": []}
    plan_id = approved(on_disk, step("look", READ))
    on_disk.fail(take(on_disk, plan_id, "look"), AnyReport.failed("gone"), actor="w1")
    with FakeModel(says(json.dumps(said))) as fake:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.url)
        thinking = connect_planner(BotSettings(), demo_config(), on_disk)
        think(Bot(on_disk, demo_config(), Everybody(), lambda trigger, view: None, [], *thinking))

    assert on_disk.view(plan_id).reason == "gone. The planner's note: The source is gone."
    assert on_disk.spent(plan_id)[0] > 0
    assert fake.rejected == []
