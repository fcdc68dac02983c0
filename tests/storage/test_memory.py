"""What one process holds of the rows: its own clock, and one commit for an act and its delivery."""

from datetime import timedelta

import pytest

from storage.errors import Conflict
from storage.memory import Memory
from tests.support.fakes import NOW, FakeClock
from tests.support.store import Store


def test_what_both_hands_have_opens_transactions_and_moves_nothing(lite):
    rows = Memory(lite.engine, lite.clock)

    assert {name for name in dir(rows) if not name.startswith("_")} == {
        "clock", "coming", "engine", "handling", "journals", "leases", "open_delivery", "read",
        "reading_on", "record", "redact", "under", "write",
    }  # fmt: skip


def test_an_act_and_its_delivery_are_committed_together_or_not_at_all(store):
    store.deliver("command:1", "command", {"text": "deploy"})
    with store.handling("command:1"):
        plan_id = store.request("deploy", team="T", user="ANN", channel="C")
    store.deliver("click:1", "click", {"value": "x"})
    with pytest.raises(Conflict), store.handling("click:1"):
        store.answer(plan_id, "s1", "retry", user="BOB")

    assert [delivery.key for delivery in store.unhandled()] == ["click:1"]
    store.request("another", team="T", user="ANN", channel="C")
    assert [delivery.key for delivery in store.unhandled()] == ["click:1"]


def test_a_clock_is_asked_not_the_machine(engine):
    clock = FakeClock(NOW - timedelta(days=3650))
    plan_id = Store(engine, clock).request("x", team="T", user="U", channel="C")

    assert Store(engine, clock).view(plan_id).created_at == clock.now
