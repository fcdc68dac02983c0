"""Two bots over one PostgreSQL and one Slack that refuses what is too much: each word once, in its order."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from slack_sdk import WebClient
from sqlalchemy import Engine

from bot.local.client.person import WorkspaceClient
from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Member
from bot.slack.outbox import Outbox
from bot.slack.posting import Posting
from bot.slack.together.lines import Lines
from bot.slack.together.shared_pace import SharedPace
from bot.turns.claims import Claims
from storage.errors import LeaseLost
from tests.conftest import emptied
from tests.support.fakes import (
    CONTRACTS,
    DEPLOY,
    TEAM,
    FakeClock,
    approve,
    chain,
    messages,
    plan_spec,
    succeed,
    tamper,
    terms,
)
from tests.support.store import Store

pytestmark = pytest.mark.postgres

PEOPLE = [Member("U0ANN", "ann", "Ann"), Member("U0BOB", "bob", "Bob")]
ROOMS = [Channel(f"C{n}", f"room-{n}") for n in range(3)]
EACH = 4  # plans in each of them


class Counting(WebClient):
    """Knows how much it has said."""

    said = 0

    def chat_postMessage(self, **given: Any) -> Any:  # noqa: N802 # Slack's own name
        self.said += 1
        return super().chat_postMessage(**given)


@pytest.fixture
def place(postgres_engine: Engine, clock: FakeClock) -> Store:
    return Store(emptied(postgres_engine), clock)


@pytest.fixture
def slack(clock: FakeClock) -> Iterator[LocalSlack]:
    with LocalSlack(members=PEOPLE, channels=ROOMS, rates=True, clock=lambda: clock().timestamp()) as running:
        yield running


@pytest.fixture
def workspace(slack: LocalSlack) -> WorkspaceClient:
    return slack.client()


def speaker(store: Store, slack: LocalSlack) -> Outbox:
    """What one bot has for itself."""
    mine, client = store.stranger(), Counting(slack.bot_token, slack.api_url, retry_handlers=[])
    lines, pace = Lines(mine, Claims(mine.engine, "speak")), SharedPace(store=mine)
    return Outbox(mine, client, steady=lambda: store.clock().timestamp(), lines=lines, pace=pace)


def proposed(store: Store, channel: str = "C0") -> int:
    store.publish(CONTRACTS.values())
    plan_id = store.request("deploy a", team=TEAM, user="U0ANN", channel=channel)
    store.propose(plan_id, plan_spec(*chain("s0", "s1", "s2", made=DEPLOY)), terms(), author="planner")
    return plan_id


@contextmanager
def both(one: Outbox, two: Outbox) -> Iterator[Any]:
    """Rounds of both at the same moments, until nothing is left to say."""
    with ThreadPoolExecutor(2) as pool:

        def speak() -> None:
            for _ in range(2000):
                [*pool.map(Outbox.speak, (one, two))]
                one.store.clock.advance(0.25)  # type: ignore[attr-defined] # a clock moved by hand
                if not one.store.unsent():
                    return
            raise AssertionError("not all was said")

        yield speak


def test_two_bots_say_each_word_once_and_in_its_order_and_nothing_is_refused(place, slack, workspace):
    one, two = speaker(place, slack), speaker(place, slack)
    plans = [proposed(place, room.id) for room in ROOMS for _ in range(EACH)]
    with both(one, two) as speak:
        speak()
        for plan_id in plans:
            approve(place, plan_id)
        for name in ("s0", "s1", "s2"):
            for plan_id in plans:
                succeed(place, plan_id, name)
                place.tell(f"hello:{plan_id}:{name}", user="U0BOB", text=f"hello {plan_id} {name}")
            speak()

    found = Counter(
        one["metadata"]["event_payload"]["key"] for one in workspace.state()["messages"] if "metadata" in one
    )
    assert {*found.values()} == {1}
    assert sum(text.count("hello") for text in (m["text"] for m in workspace.messages("D0BOB"))) == 3 * len(
        plans
    )
    assert [call for call in workspace.calls() if call["status"] == 429] == []
    for plan_id in plans:
        told = [m.ts for m in messages(place, "outcome") + messages(place, "summary") if m.plan_id == plan_id]
        assert told == sorted(told)
        assert all(told)
    assert min(one.client.said, two.client.said) > len(plans) / 2


def test_who_loses_a_line_in_the_middle_of_a_word_takes_back_what_was_said_twice(
    place, slack, workspace, monkeypatch
):
    plan_id, one, two = proposed(place), speaker(place, slack), speaker(place, slack)
    original = Posting._new

    def stands_still(posting, *given, **more):
        monkeypatch.setattr(Posting, "_new", original)
        two.speak()  # the line is taken
        nothing.extend(workspace.messages("C0"))
        tamper(place, "UPDATE lease SET until = now() - interval '1 second'")
        two.speak()
        return original(posting, *given, **more)

    nothing = []
    monkeypatch.setattr(Posting, "_new", stands_still)
    with pytest.raises(LeaseLost):
        one.speak()

    assert nothing == []
    (card,) = workspace.messages("C0")
    assert card["ts"] == place.card_of(plan_id).ts


def test_a_refusal_that_one_was_given_silences_the_other_too(place, slack, workspace, clock):
    proposed(place, "C0")
    one, two = speaker(place, slack), speaker(place, slack)
    workspace.fault(rate_limit=1, retry_after=7)
    one.speak()
    proposed(place, "C1")
    two.speak()
    early = workspace.messages("C1")
    clock.advance(8)
    two.speak()

    assert early == []
    assert len(workspace.messages("C1")) == 1
