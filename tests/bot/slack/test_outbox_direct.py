"""What one person is told directly: not what is needless by now, and a flood of it as few messages."""

import pytest

from bot.slack.outbox import Outbox
from tests.support.fakes import FakeClock, approve, propose
from tests.support.slates import SlateClient
from tests.support.store import Store


@pytest.fixture
def slate(clock: FakeClock) -> SlateClient:
    return SlateClient(lambda: clock().timestamp())


@pytest.fixture
def outbox(lite: Store, clock: FakeClock, slate: SlateClient) -> Outbox:
    return Outbox(lite, slate, steady=lambda: clock().timestamp())


def turn(outbox: Outbox, clock: FakeClock, seconds: float) -> None:
    for _ in range(round(seconds * 10)):
        outbox.speak()
        clock.advance(0.1)


@pytest.mark.parametrize("what", ["waits", "half", "late"])
def test_who_is_asked_to_decide_hears_nothing_once_it_is_decided(outbox, slate, clock, what):
    decided, open_ = propose(outbox.store), propose(outbox.store)
    for plan_id in (decided, open_):
        outbox.store.tell(f"{what}:{plan_id}:0:CAROL", user="CAROL", text=f"please decide {plan_id}")
    approve(outbox.store, decided)
    turn(outbox, clock, 5)

    assert [text for text in slate.texts() if "please" in text] == [f"please decide {open_}"]
    assert outbox.store.unsent() == []


def test_who_has_decided_is_not_asked_while_others_still_are(outbox, slate, clock):
    plan_id = propose(outbox.store, needed=2)
    for user in ("BOB", "CAROL"):
        outbox.store.tell(f"waits:{plan_id}:0:{user}", user=user, text=f"please, {user}")
    approve(outbox.store, plan_id, "BOB")
    turn(outbox, clock, 5)

    assert [text for text in slate.texts() if "please" in text] == ["please, CAROL"]


def test_what_is_needless_takes_nobodys_turn(outbox, slate, clock):
    plans = [propose(outbox.store) for _ in range(50)]
    for plan_id in plans:
        outbox.store.tell(f"waits:{plan_id}:0:CAROL", user="CAROL", text="please")
        approve(outbox.store, plan_id)
    outbox.store.tell("news", user="CAROL", text="hello")
    turn(outbox, clock, 0.1)

    assert "hello" in slate.texts()
    assert "please" not in slate.texts()


def test_a_thousand_words_to_one_person_come_in_a_few_messages_each_once(outbox, slate, clock):
    for number in range(1000):
        outbox.store.tell(f"note:{number}", user="CAROL", text=f"note {number}.")
    turn(outbox, clock, 20)
    said = [text for text in slate.texts() if "note" in text]

    assert len(said) <= 12
    assert [word for text in said for word in text.split("\n") if word] == [f"note {n}." for n in range(1000)]
    assert outbox.store.unsent() == []
