"""Each message alone: what cannot be drawn, sent or received stops no other, and is not tried for ever."""

import pytest

import bot.slack.plan_messages
from bot.slack.outbox import Outbox
from storage.errors import HandledElsewhere
from tests.support.fakes import FakeClock, approve, messages, propose
from tests.support.slates import Posted, SlateClient, refusal
from tests.support.store import Store


@pytest.fixture
def slate(clock: FakeClock) -> SlateClient:
    return SlateClient(lambda: clock().timestamp())


@pytest.fixture
def outbox(lite: Store, clock: FakeClock, slate: SlateClient) -> Outbox:
    return Outbox(lite, slate, steady=lambda: clock().timestamp())


def minutes(outbox: Outbox, clock: FakeClock, count: float, step: float = 1.0) -> None:
    for _ in range(round(count * 60 / step)):
        outbox.speak()
        clock.advance(step)


def hours(outbox: Outbox, clock: FakeClock, count: float) -> None:
    minutes(outbox, clock, count * 60, 15.0)


def refusing(code: str, status: int = 200, *, method: str = "", channel: str = "") -> object:
    def refuse(call: Posted) -> None:
        if method in ("", call.method) and channel in ("", call.channel):
            raise refusal(code, status)

    return refuse


def breaks(*_: object, **__: object) -> None:
    raise ZeroDivisionError("no such card")


def test_a_card_that_cannot_be_drawn_is_said_in_bare_words_and_stops_no_other(
    outbox, slate, clock, monkeypatch
):
    monkeypatch.setattr(bot.slack.plan_messages, "card", breaks)
    plan_id = propose(outbox.store)
    outbox.store.say("other", channel="C1", text="hello")
    minutes(outbox, clock, 1)
    (words,) = [one for one in slate.said if one.key == f"card:{plan_id}"]

    assert "hello" in slate.texts()
    assert words.text == (
        f":warning: I cannot draw plan {plan_id} here. Nothing else changes, and nothing can be pressed. "
        f"`signoff show {plan_id}` shows it to an operator."
    )
    assert words.blocks == []
    assert messages(outbox.store, "card")[0].problem == "barely: ZeroDivisionError"
    assert outbox.store.unsent() == []


def test_a_card_that_can_be_drawn_again_is_drawn(outbox, slate, clock, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(bot.slack.plan_messages, "card", breaks)
        plan_id = propose(outbox.store)
        minutes(outbox, clock, 1)
    approve(outbox.store, plan_id)
    minutes(outbox, clock, 1)

    assert slate.said[-1].blocks or slate.said[-2].blocks
    assert [m.problem for m in messages(outbox.store, "card")] == [""]


def test_a_thread_message_that_cannot_be_drawn_holds_up_nothing_behind_it(outbox, slate, clock, monkeypatch):
    plan_id = propose(outbox.store)
    minutes(outbox, clock, 0.2)
    monkeypatch.setattr(bot.slack.plan_messages, "thread_message", breaks)
    approve(outbox.store, plan_id)
    minutes(outbox, clock, 1)

    assert "cannot draw what happened in plan" in slate.texts()[-1]
    assert outbox.store.unsent() == []


def test_words_that_even_bare_are_refused_end_with_the_reason_on_record(outbox, slate, clock):
    slate.refuse = refusing("invalid_blocks", channel="C1")
    outbox.store.say("odd", channel="C1", text="x")
    minutes(outbox, clock, 2)

    assert len(slate.tried) == 2
    assert [m.problem for m in messages(outbox.store, "say")] == ["invalid_blocks"]
    assert outbox.store.unsent() == []


@pytest.mark.parametrize("code", ["user_disabled", "user_not_found", "account_inactive"])
def test_a_person_who_has_left_is_written_to_once(outbox, slate, clock, code):
    slate.refuse = refusing(code, method="conversations.open")
    outbox.store.tell("t", user="GONE", text="hello")
    hours(outbox, clock, 1)

    assert [one.method for one in slate.tried if one.method != "auth.test"] == ["conversations.open"]
    assert [m.problem for m in messages(outbox.store, "tell")] == [code]
    assert outbox.troubles.told(serious=True) == []


def test_the_bots_own_account_that_is_gone_keeps_what_it_would_tell(outbox, slate, clock):
    slate.refuse = refusing("account_inactive")
    outbox.store.tell("t", user="ANN", text="hello")
    minutes(outbox, clock, 10, 3.0)
    kept, said = messages(outbox.store, "tell")[0], outbox.troubles.told(serious=True)
    slate.refuse = lambda _: None
    minutes(outbox, clock, 6, 3.0)

    assert kept.shown < kept.wanted
    assert said == [
        "Slack refuses the bot token (account_inactive). Put a valid one into SLACK_BOT_TOKEN, and restart."
    ]
    assert (slate.texts(), outbox.troubles.told(serious=True)) == (["hello"], [])


def test_a_missing_right_is_said_to_the_monitor_and_only_what_needs_it_waits(outbox, slate, clock):
    slate.refuse = refusing("missing_scope", method="reactions.add")
    outbox.store.react("C1", "1.0", "eyes")
    outbox.store.say("other", channel="C1", text="hello")
    hours(outbox, clock, 1)
    tried = [one for one in slate.tried if one.method == "reactions.add"]

    assert slate.texts() == ["hello"]
    assert 5 < len(tried) < 20
    assert "reactions.add (missing_scope)" in outbox.troubles.told(serious=True)[0]


def test_a_code_that_nobody_knows_is_tried_ever_less_often_and_then_no_more(outbox, slate, clock):
    slate.refuse = refusing("something_new", channel="C1")
    outbox.store.say("odd", channel="C1", text="x")
    hours(outbox, clock, 2)

    assert len(slate.tried) == 11
    assert [m.problem for m in messages(outbox.store, "say")] == ["something_new"]


@pytest.mark.parametrize("how", ["unreachable", "ill"])
def test_slack_away_for_ten_minutes_costs_few_calls_is_said_and_loses_and_doubles_nothing(
    outbox, slate, clock, how
):
    def away(_: Posted) -> None:
        raise ConnectionRefusedError if how == "unreachable" else refusal("internal_error", 500)

    for number in range(300):
        outbox.store.say(f"s{number}", channel=f"C{number % 30}", text=f"line {number}")
    slate.refuse = away
    minutes(outbox, clock, 10, 3.0)
    tried, told = len(slate.tried), outbox.troubles.told(serious=True)
    slate.refuse = lambda _: None
    minutes(outbox, clock, 2)

    assert 10 < tried < 60
    assert told[0].startswith("Slack ")
    assert told[0].endswith("what shall be shown there waits.")
    assert sorted(slate.texts()) == sorted(f"line {n}" for n in range(300))
    assert outbox.troubles.told(serious=True) == []


def test_a_message_that_always_times_out_does_not_pass_for_a_slack_that_is_away(outbox, slate, clock):
    def slow(call: Posted) -> None:
        if call.channel == "CBAD":
            raise TimeoutError

    slate.refuse = slow
    outbox.store.say("bad", channel="CBAD", text="x")
    for number in range(50):
        outbox.store.say(f"s{number}", channel=f"C{number}", text="hello")
    minutes(outbox, clock, 1)

    assert len(slate.texts()) == 50


def test_what_another_bot_has_sent_meanwhile_is_not_sent_again(outbox, slate, clock):
    outbox.store.say("once", channel="C1", text="x")
    (mine,) = outbox.store.unsent()
    outbox.speak()

    with pytest.raises(HandledElsewhere, match="was sent by another bot meanwhile"):
        outbox.store.sending(mine)


def test_a_thread_whose_card_cannot_be_posted_takes_nobodys_turn(outbox, slate, clock):
    slate.refuse = refusing("is_archived", channel="C1")
    plan_id = propose(outbox.store)
    approve(outbox.store, plan_id)
    minutes(outbox, clock, 1)

    assert [one.key for one in slate.tried if one.channel == "C1"] == [f"card:{plan_id}"]
    assert {m.problem for m in messages(outbox.store, "decision")} == {"is_archived"}
