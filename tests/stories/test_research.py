"""A research task from wish to answer: a real HTTP API, real workers, a scripted model by the real SDK."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.cards.thread import message
from bot.context import Bot
from bot.planner.model.calls import connect
from bot.planner.model.claude import Claude
from bot.planner.model.usage import PRICES
from bot.planner.runbooks import book as runbooks
from bot.turns.rounds import tend
from storage.config import SignoffConfig
from storage.reading.plan_view import PlanView
from tests.support.fake_model import KEY, MODEL, FakeModel, says, wired
from tests.support.fakes import Everybody, messages, work
from tests.support.loopback import Page, Site, serving
from tests.support.room import think
from tests.support.store import Store
from workers.engine.attempt import Attempts
from workers.registry import load

pytestmark = pytest.mark.model

WISH = "summarise the last week's error rates (/errors) from metrics and say what changed"
DAYS = [
    {"day": f"2026-11-{n:02}", "week": "before" if n < 9 else "last", "errors": 400 if n < 9 else 40}
    for n in range(2, 16)
]
ARCHIVED = "data-retrieval.fetch source=archive for data-retrieval.fetch source=metrics"
BY_WEEK = [{"op": "aggregate", "by": ["week"], "values": {"total": {"function": "sum", "column": "errors"}}}]


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        found.pages["/errors"] = Page("the shard is gone", 410)
        found.pages["/archive/errors"] = Page(json.dumps(DAYS))
        yield found


def advice(verb: str, *steps: dict[str, Any], step: str = "", reason: str = "the next step") -> Any:
    return says(json.dumps({"verb": verb, "step": step, "reason": reason, "steps": steps, "drop": []}))


FIRST = {"kind": "plan", "goal": "Say how the error rates changed", "assumptions": [], "questions": [],
         "reason": "", "steps": [wired("fetch", "data-retrieval.fetch", source="metrics", path="/errors")],
         "rollback": [], "continues": True}  # fmt: skip
SCRIPT = (
    says(json.dumps(FIRST)),
    advice("alternative", wired("fetch-b", "data-retrieval.fetch", source="archive", path="/errors"),
           step="fetch", reason="The metrics do not have them any more; the archive does."),
    advice("amend", wired("count", "data-processing.process", "fetch-b", rows="fetch-b.file",
                          pipeline=BY_WEEK)),
    advice("amend", wired("say", "summary.summarise", "count", source="count.file", method="plain")),
    advice("finish", reason="The summary says what changed."),
)  # fmt: skip


class Lab:
    """A bot with a model, and the workers of a research task."""

    def __init__(self, store: Store, site: Site, home: Path, fake: FakeModel | None) -> None:
        sources = {"metrics": {"url": site.url}, "archive": {"url": f"{site.url}/archive"}}
        given = {"workers": ["data-retrieval", "data-processing", "summary"],
                 "people": {"approvers": ["BOB"]}, "inventory": {"sources": sources},
                 "policy": {"alternatives": [ARCHIVED]}}  # fmt: skip
        config, self.store = SignoffConfig.model_validate(given), store
        self.attempts = Attempts(store, load(config), "w1", home)
        store.publish(self.attempts.registry.contracts())
        self.client = connect(KEY, url=fake.url) if fake else None
        books = runbooks.read([runbooks.SHIPPED])

        def model(spend: Any) -> Claude:
            assert self.client
            return Claude(self.client, MODEL, "medium", PRICES, spend, deadline=5.0)

        def ask(text: str, spend: Any, ground: Any) -> Any:
            return model(spend).plan(text, store.contracts(), config, store.clock(), books)

        def advise(now: Any, history: Any, rungs: Any, spend: Any) -> Any:
            return model(spend).advise(now, history, rungs, store.contracts(), config, store.clock())

        thinking = (ask, advise) if fake else (None, None)
        self.bot = Bot(store, config, Everybody(), lambda trigger, view: None, books, *thinking)

    def research(self, wish: str) -> PlanView:
        plan_id = self.store.request(wish, team="T1", user="ANN", channel="C1")
        for _ in range(12):
            think(self.bot)
            tend(self.bot)
            work(self.attempts)
        return self.store.view(plan_id)

    def last_word(self, view: PlanView) -> str:
        (said,) = messages(self.store, "summary")
        return json.dumps(message("summary", view, self.store.event(view.id, said.seq), self.store.clock()))


def test_a_research_task_goes_one_step_at_a_time_past_a_failure_to_its_answer(on_disk, site, tmp_path):
    with FakeModel(*SCRIPT) as fake:
        lab = Lab(on_disk, site, tmp_path, fake)
        view = lab.research(WISH)

    assert (view.outcome, view.reason) == ("succeeded", "The summary says what changed.")
    assert view.tried == ("alternative", "amend", "amend", "finish")
    assert [(s.spec.id, s.state) for s in view.steps] == [
        ("fetch-b", "succeeded"), ("count", "succeeded"), ("say", "succeeded"),
    ]  # fmt: skip
    assert {event.actor for event in on_disk.events(view.id) if event.verb == "approve"} == {"policy"}
    assert view.parent is not None, "every later step ran under the mandate of the first revision"
    assert [path for path, _ in site.asked] == ["/errors", "/archive/errors"]
    assert "2,800" in lab.last_word(view)
    assert "280" in lab.last_word(view)
    assert fake.rejected == []
    assert len(fake.requests) == 5
    assert view.spent > 0


def test_without_a_model_the_runbook_answers_from_a_source_that_is_there(on_disk, site, tmp_path):
    lab = Lab(on_disk, site, tmp_path, None)
    view = lab.research("summarise /errors from archive")

    assert view.outcome == "succeeded"
    assert "14" in lab.last_word(view)


def test_without_a_model_a_source_that_is_gone_reaches_a_person_with_the_cause(on_disk, site, tmp_path):
    view = Lab(on_disk, site, tmp_path, None).research("summarise /errors from metrics")

    assert view.state == "stalled"
    assert "410" in view.reason
    assert "abort" in view.step("fetch").choices
