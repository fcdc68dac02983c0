"""What Slack shall show: each thing once, the urgent first, nothing too often."""

from datetime import timedelta

import pytest

from storage.database.tables import Message
from storage.exchange.outbox import EACH, Due
from tests.support.fakes import (
    approved,
    ask,
    fail,
    messages,
    ok,
    plan_spec,
    propose,
    step,
    succeed,
    take,
    terms,
)
from tests.support.samples.plans import busy_plan


def test_a_plan_has_one_card_however_much_happens(store):
    plan_id = busy_plan(store)
    (card,) = messages(store, "card")

    assert card.key == f"card:{plan_id}"
    assert card.wanted > card.shown


def test_each_outcome_is_said_once(store):
    plan_id = busy_plan(store)
    said = [store.event(message.plan_id, message.seq) for message in messages(store, "outcome")]

    assert [(event.verb, event.data["step"]) for event in said if event] == [
        ("succeed", "one"), ("fail", "two"), ("fail", "undo-two"),
    ]  # fmt: skip
    assert [m.key.partition(":")[0] for m in messages(store, "decision")] == ["decision"]
    assert all(message.plan_id == plan_id for message in messages(store, "outcome"))


@pytest.mark.parametrize(
    ("end", "kind"),
    [("reject", "decision"), ("expire", "decision"), ("cancel", "decision"), ("amend", "changes")],
)
def test_each_decision_is_said_in_the_thread(store, clock, end, kind):
    plan_id = propose(store)
    clock.advance(hours=24 if end == "expire" else 1)
    {
        "reject": lambda: store.reject(plan_id, 1, user="BOB", reason="no"),
        "expire": store.expire,
        "cancel": lambda: store.cancel(plan_id, user="ANN", reason="no"),
        "amend": lambda: store.amend(plan_id, plan_spec(), terms(), author="B", after=1, changes=["x"]),
    }[end]()
    (message,) = messages(store, kind)

    assert store.event(message.plan_id, message.seq).verb == end


def test_the_end_is_said_in_the_thread(store):
    plan_id = approved(store, step("s1"))
    succeed(store, plan_id, "s1")

    assert len(messages(store, "summary")) == 1


def test_urgent_messages_go_first(store, clock):
    first = approved(store)
    clock.advance(1)
    for message in store.unsent():
        store.note_shown(message, "1.0", next_at=clock.now)
    take(store, first, "s1")  # a card that may wait
    second = propose(store)  # a card that people wait for
    store.whisper("w", channel="C1", user="ANN", text="no")
    clock.advance(1)

    assert [message.key for message in store.unsent()] == [
        f"card:{second}",
        "w",
        f"card:{first}",
    ]


def test_an_urgent_message_does_not_overtake_the_earlier_words_of_its_thread(store, clock):
    plan_id = approved(store, step("s1"), step("s2", depends_on=("s1",)))
    succeed(store, plan_id, "s1")
    fail(store, plan_id, "s2")
    clock.advance(5)

    kinds = [(message.kind, message.urgent) for message in store.unsent() if message.kind == "outcome"]

    assert kinds == [("outcome", False), ("outcome", True)]


def test_a_round_takes_so_many_for_each_place_and_no_place_waits_for_another(store, clock):
    for number in range(EACH + 20):
        store.say(f"s{number}", channel="C1", text="no")
    store.say("elsewhere", channel="C2", text="no")
    clock.advance(1)

    found = [message.key for message in store.unsent()]

    assert found == [*(f"s{number}" for number in range(EACH)), "elsewhere"]


def test_a_message_is_stale_until_slack_shows_it(store, clock):
    ask(store)
    clock.advance(1)
    (card,) = store.unsent()
    store.sending(card)
    store.note_shown(card, "17.1", next_at=clock.now + timedelta(seconds=3))

    assert store.unsent() == []
    assert messages(store, "card")[0].ts == "17.1"


def test_a_card_rests_between_two_updates_unless_a_decision_is_to_be_shown(store, clock):
    plan_id = approved(store)
    clock.advance(1)
    for message in store.unsent():
        store.note_shown(message, "1.0", next_at=clock.now + timedelta(seconds=3))
    taken = take(store, plan_id, "s1")

    assert store.unsent() == []
    store.succeed(taken, ok(), actor="w1")
    assert f"card:{plan_id}" in [message.key for message in store.unsent()]


def test_a_new_card_waits_a_moment_for_the_proposal(store, clock):
    plan_id = ask(store)

    assert store.unsent() == []
    store.propose(plan_id, plan_spec(), terms(), author="planner")
    assert [message.kind for message in store.unsent()] == ["card"]


def test_a_whisper_is_said_once(store):
    for _ in range(2):
        store.whisper("why:1", channel="C1", user="ANN", text="because")

    assert [message.text for message in messages(store, "whisper")] == ["because"]


def test_what_waits_is_looked_at_without_its_words_which_come_when_it_is_sent(store, clock):
    store.say("said", channel="C1", text="a long text")
    clock.advance(1)
    (turn,) = store.in_line({})
    rows = store.still_stale([turn.message.id])

    assert (type(turn.message), rows[turn.message.id].text) == (Due, "a long text")
    assert {*Message.model_fields} - {*Due._fields} >= {"text", "seq", "wanted", "shown"}
    assert store.still_due([turn.message.id]) == {turn.message.id: turn.message}
    store.note_shown(rows[turn.message.id], "1.0", next_at=clock())
    assert (store.still_due([turn.message.id]), store.still_stale([turn.message.id])) == ({}, {})
