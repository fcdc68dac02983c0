"""A model in the story: through the real SDK, the whole bot, and a Messages API on loopback."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from bot.demo.stand_in import looks
from tests.support.fake_model import GOOD, KEY, QUESTION, REFUSAL, FakeModel, Reply, fails, says
from tests.support.world import World

pytestmark = pytest.mark.model

VAGUE = "/plan get the new auth build out to customers tonight"
LOOK = json.dumps(
    looks(("k8s-deployer.rollout_status", {"service": "auth-service", "environment": "production"}))
)
KNOWN, UNKNOWN = "/plan deploy auth-service v2.1.4 to production", "/plan sing a song for the customers"


def with_model(home: Path, fake: FakeModel, config: Callable[[str], str] = str) -> World:
    world = World(home, config=config)
    world.use({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": fake.url})
    return world


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeModel]:
    with FakeModel(says(GOOD)) as found:
        yield found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, fake: FakeModel) -> Iterator[World]:
    with with_model(tmp_path_factory.mktemp("model"), fake) as found:
        yield found


@pytest.fixture
def script(fake: FakeModel) -> Callable[..., None]:
    """What the model answers in this test."""

    def play(*replies: Reply) -> None:
        fake.script[:] = replies
        fake.requests.clear()

    return play


def test_a_model_plans_what_no_runbook_knows_and_its_cost_is_on_record(
    world: World, script: Callable[..., None]
) -> None:
    script(says(GOOD))
    world.asks(VAGUE)
    world.bob.button("approve")
    world.ann.clicks("details")
    world.ann.sees("Planner's note: planned by claude-opus-5-5")
    world.ann.closes()
    plan = world.plan()

    assert [step.spec.id for step in plan.steps] == ["test", "backup", "deploy"]
    assert plan.risk == "high"
    assert world.store.spent(plan.id)[0] > 0
    assert "book" in [event.verb for event in world.store.events(plan.id)]
    assert KEY not in (world.home / "bot.log").read_text()


def test_what_a_model_asks_is_one_form_and_its_answer_is_planned(
    world: World, script: Callable[..., None]
) -> None:
    script(says(QUESTION), says(GOOD))
    world.asks(VAGUE)
    world.ann.clicks("clarify")
    world.ann.fills({"q1": "v2.1.4", "q2": "production"})

    plan = world.until(lambda found: found.state == "proposed", "the plan")

    assert [step.spec.id for step in plan.steps] == ["test", "backup", "deploy"]
    assert "Into which environment?" in json.dumps([event.data for event in world.store.events(plan.id)])


def test_a_refusal_reaches_the_person(world: World, script: Callable[..., None]) -> None:
    script(says(REFUSAL))
    world.asks(VAGUE)

    world.ann.sees("I do not plan this")

    assert world.plan().state == "cancelled"


def test_without_the_model_the_runbooks_serve(
    world: World, fake: FakeModel, script: Callable[..., None]
) -> None:
    script(fails(529, retry_after_ms=1))
    world.asks(KNOWN)
    card = world.ann.sees("Planned by the runbooks: The model's API is out of order just now (HTTP 529)")
    world.bob.button("approve", message=card["ts"])
    world.ann.clicks("details", message=card["ts"])
    world.ann.sees("Planner's note: from the runbook “")
    world.ann.closes()
    world.asks(UNKNOWN)

    world.ann.sees("I have no runbook for that")

    assert fake.requests


def test_a_budget_that_is_used_up_asks_no_model(tmp_path: Path) -> None:
    def poor(text: str) -> str:
        return text + "\n[model]\nper_day = 0\n"

    with FakeModel(says(GOOD)) as fake, with_model(tmp_path, fake, poor) as world:
        used_up = "The model's budget for everybody, for today, is used up"
        world.asks(KNOWN)
        world.ann.sees(f"Planned by the runbooks: {used_up}")
        world.asks(UNKNOWN)

        world.ann.sees(f"{used_up} (0.00 of 0.00 USD). I have no runbook for that")

        assert fake.requests == []


def test_five_wishes_are_with_the_model_at_the_same_time(world: World, script: Callable[..., None]) -> None:
    """How long that takes: python -m tests.bench.thinking."""
    together = Barrier(5, timeout=60)  # no answer before all five are asked

    def answers(body: dict[str, Any]) -> Reply:
        together.wait()
        return says(GOOD)

    script(answers)
    known = world.plan().id
    for number, person in enumerate((world.ann, world.bob, world.carol, world.ann, world.bob)):
        world.asks(f"/plan get build {number} of auth out to customers tonight", person)
    world.until(
        lambda newest: (
            newest.id >= known + 5
            and all(world.store.view(known + n).state == "proposed" for n in range(1, 6))
        ),
        "five proposals",
    )

    assert not together.broken


def test_people_see_that_it_thinks_and_what_it_looked_at_until_the_card_comes(
    world: World, script: Callable[..., None]
) -> None:
    seen = Event()

    def answers(body: dict[str, Any]) -> Reply:
        if "<looked>" not in body["messages"][0]["content"]:
            return says(LOOK)
        seen.wait(60)
        return says(GOOD)

    script(answers)
    world.asks(VAGUE)
    told = world.ann.sees("Thinking … looked at auth-service on production.")
    seen.set()
    plan = world.until(lambda found: found.state == "proposed" and found.card, "the card")
    world.workspace.wait(
        lambda state: not any(body["ts"] == told["ts"] for body in state["messages"]), "an end of it"
    )

    assert plan.card != told["ts"], "it is posted anew, so that people hear of it"
