"""Who goes first: questions, decisions and ends, then what only tells how it goes; nobody by flooding."""

from collections import Counter
from datetime import timedelta

import pytest

from bot.slack.outbox import Outbox
from bot.slack.pace import BURST
from storage.database.tables import Message
from tests.support.fakes import (
    BACKUP,
    CONTRACTS,
    DEPLOY,
    TEAM,
    FakeClock,
    approve,
    bad,
    chain,
    fail,
    messages,
    plan_spec,
    propose,
    step,
    succeed,
    take,
    terms,
)
from tests.support.slates import SlateClient
from tests.support.store import Store

WITHIN = 5.0  # seconds in which a question is shown, whatever waits


@pytest.fixture
def slate(clock: FakeClock) -> SlateClient:
    return SlateClient(lambda: clock().timestamp())


@pytest.fixture
def outbox(lite: Store, clock: FakeClock, slate: SlateClient) -> Outbox:
    return Outbox(lite, slate, steady=lambda: clock().timestamp())


def turn(outbox: Outbox, clock: FakeClock, seconds: float) -> None:
    """The outbox's rounds in so many seconds, ten a second as in the process."""
    for _ in range(round(seconds * 10)):
        outbox.speak()
        clock.advance(0.1)


def busy(store: Store, steps: int = 4) -> int:
    """A plan that has told of each of its steps, and is not done."""
    names = [f"s{n}" for n in range(steps)]
    plan_id = propose(store, plan_spec(*chain(*names, "last")))
    approve(store, plan_id)
    for name in names:
        succeed(store, plan_id, name)
    return plan_id


def shown_at(slate: SlateClient, key: str) -> float:
    return next(one.at for one in slate.said if one.key == key)


def shut(outbox: Outbox, clock: FakeClock) -> None:
    """Cards stand in the channel, and the channel has just had all that it takes at once."""
    turn(outbox, clock, 3)
    for number in range(20):
        outbox.store.say(f"noise:{number}", channel="C1", text="noise")
    outbox.speak()


def pile_up(store: Store, plan_id: int, count: int) -> None:
    """So many lines of one thread: as if its first step had been done over and over."""
    succeed(store, plan_id, "s0")
    line = messages(store, "outcome")[0]
    with store.write() as t:
        for number in range(count - 1):
            t.queue(Message(**line.model_dump(exclude={"id"}) | {"key": f"{line.key}:{number}"}))


@pytest.mark.parametrize("where", ["in a thread of its own", "in the thread of the others"])
def test_a_question_is_shown_within_five_seconds_though_three_hundred_messages_wait(
    outbox, slate, clock, where, capsys
):
    store, own = outbox.store, where == "in a thread of its own"
    asks = propose(store, plan_spec(*chain("s0", "s1", made=DEPLOY)))
    approve(store, asks)
    shut(outbox, clock)
    if own:
        succeed(store, asks, "s0")
        assert [busy(store, 3) for _ in range(75)]  # four messages each
    else:
        pile_up(store, asks, 300)
    began, taken = clock().timestamp(), take(store, asks, "s1")
    store.doubt(taken, actor="w1", reason="it broke")
    (question,) = messages(store, "question")
    turn(outbox, clock, 8)
    took = shown_at(slate, question.key) - began
    with capsys.disabled():
        print(f"\na question {where}, behind 300 messages: shown after {took:.1f} s")  # noqa: T201 # a figure

    assert took <= WITHIN


def test_thirty_questions_at_once_do_not_wait_for_their_cards_to_be_redrawn(outbox, slate, clock):
    """A channel each, so that nothing but the pace of updates, which all cards share, could hold them up."""
    store, asking = outbox.store, []
    store.publish(CONTRACTS.values())
    for number in range(30):
        plan_id = store.request("deploy", team=TEAM, user="ANN", channel=f"C{number}")
        store.propose(plan_id, plan_spec(step("s1", BACKUP)), terms(), author="planner")
        approve(store, plan_id)
        asking.append(take(store, plan_id, "s1"))
    turn(outbox, clock, 60)
    began = clock().timestamp()
    for one in asking:
        store.doubt(one, actor="w1", reason="it broke")
    keys = [question.key for question in messages(store, "question")]
    turn(outbox, clock, 60)

    assert len(keys) == 30
    assert max(shown_at(slate, key) - began for key in keys) <= WITHIN


def test_a_question_goes_before_ends_and_ends_before_lines(lite, clock):
    told = busy(lite)
    done = propose(lite, plan_spec(step("s1")))
    approve(lite, done)
    asks = propose(lite, plan_spec(step("s1", DEPLOY)))
    approve(lite, asks)
    for card in messages(lite, "card"):
        lite.note_shown(card, "1.0", next_at=clock())
    succeed(lite, done, "s1")
    lite.doubt(take(lite, asks, "s1"), actor="w1", reason="it broke")
    clock.advance(60)
    order = [(m.plan_id, m.kind) for m in lite.unsent() if m.kind != "card"]

    assert order.index((asks, "question")) < order.index((done, "summary")) < order.index((told, "outcome"))


def test_what_goes_first_takes_only_the_earlier_words_of_its_thread_along(lite, clock):
    plan_id = busy(lite)
    question = messages(lite, "outcome")[1]
    with lite.write() as t:
        t.connection.exec_driver_sql("UPDATE message SET urgent = false")
        t.connection.exec_driver_sql("UPDATE message SET urgent = true WHERE id = ?", (question.id,))
    lite.say("other", channel="C1", text="no")
    clock.advance(60)
    keys = [m.key for m in lite.unsent() if m.kind in {"outcome", "say"}]

    assert keys.index(question.key) == 1
    assert [k for k in keys if k != "other"] == [m.key for m in messages(lite, "outcome")]
    assert plan_id


def test_sixty_plans_of_one_member_do_not_hold_up_the_card_of_another(outbox, slate, clock):
    store = outbox.store
    shut(outbox, clock)
    for _ in range(60):
        propose(store)
    turn(outbox, clock, 3)
    eves = store.request("deploy a", team=TEAM, user="EVE", channel="C1")
    store.propose(eves, plan_spec(), terms(), author="planner")
    began = clock().timestamp()
    turn(outbox, clock, 10)

    assert shown_at(slate, f"card:{eves}") - began <= 3


def test_a_flood_of_answers_to_one_person_does_not_hold_up_the_answer_to_another(lite, clock):
    for number in range(100):
        lite.whisper(f"no:{number}", channel="C1", user="MALLORY", text="You may not.")
    lite.whisper("yes", channel="C1", user="ANN", text="It is asked for.")
    clock.advance(1)

    assert "yes" in [message.key for message in lite.unsent()][:2]


def test_a_round_ends_after_a_while_so_that_what_came_meanwhile_can_go_first(outbox, slate, clock):
    def slowly(_: object) -> None:
        clock.advance(0.3)

    slate.refuse = slowly
    for number in range(20):
        outbox.store.say(f"say:{number}", channel=f"C{number}", text="no")
    outbox.speak()

    assert len(slate.said) == 4


def test_lines_that_pile_up_in_a_thread_go_as_one_message_and_each_once(outbox, slate, clock):
    store = outbox.store
    plan_id = propose(store, plan_spec(*chain(*(f"s{n}" for n in range(8)))))
    approve(store, plan_id)
    turn(outbox, clock, 5)
    for number in range(7):
        succeed(store, plan_id, f"s{number}")
    fail(store, plan_id, "s7")
    slate.said.clear()
    turn(outbox, clock, 20)
    lines = [one for one in slate.said if one.key.startswith("outcome")]

    assert [one.text.count("it is done") for one in lines] == [7, 0]
    assert "failed" in lines[1].text
    assert store.unsent() == []


def test_two_lines_of_changes_go_one_by_one(outbox, slate, clock):
    store = outbox.store
    plan_id = propose(store, plan_spec(*chain("s0", "s1", "s2", made=DEPLOY)))
    approve(store, plan_id)
    turn(outbox, clock, 5)
    succeed(store, plan_id, "s0")
    succeed(store, plan_id, "s1")
    turn(outbox, clock, 5)

    assert [one.text.count("it is done") for one in slate.said if one.key.startswith("outcome")] == [1, 1]


def test_a_look_up_goes_with_the_line_that_follows_and_alone_where_none_does(outbox, slate, clock):
    store = outbox.store
    plan_id = propose(
        store,
        plan_spec(
            *chain("s0", "s1"), step("s2", DEPLOY, depends_on=("s1",)), step("s3", DEPLOY, depends_on=("s2",))
        ),
    )
    approve(store, plan_id)
    turn(outbox, clock, 5)
    succeed(store, plan_id, "s0")
    turn(outbox, clock, 1.9)
    early = [one for one in slate.said if one.key.startswith("outcome")]
    turn(outbox, clock, 3)
    succeed(store, plan_id, "s1")
    turn(outbox, clock, 1)
    succeed(store, plan_id, "s2")
    turn(outbox, clock, 0.2)

    assert early == []
    assert [one.text.count("it is done") for one in slate.said if one.key.startswith("outcome")] == [1, 2]


def test_the_last_lines_go_with_the_end_in_one_message_that_stays_whole(outbox, slate, clock):
    store = outbox.store
    plan_id = propose(store, plan_spec(*chain("s0", "s1", made=DEPLOY)))
    approve(store, plan_id)
    turn(outbox, clock, 5)
    succeed(store, plan_id, "s0")
    succeed(store, plan_id, "s1")
    turn(outbox, clock, 5)
    (summary,) = messages(store, "summary")
    with store.write() as t:
        t.connection.exec_driver_sql("UPDATE message SET shown = 0 WHERE kind = 'summary'")
    turn(outbox, clock, 5)
    said = [one for one in slate.said if one.key == summary.key or one.method == "chat.update"]

    assert [one.key for one in slate.said if one.key.startswith("outcome")] == []
    assert [one.ts for one in messages(store, "outcome")] == [summary.ts] * 2
    assert [one.text.count("it is done") for one in (said[-1], next(s for s in said if s.key))] == [2, 2]


def test_a_plan_of_three_steps_takes_seven_posts_and_changes(outbox, slate, clock):
    """From the wish to the end; that they are no more than that is what this test is for."""
    store = outbox.store
    plan_id = propose(
        store, plan_spec(*chain("s0"), *(step(f"s{n}", DEPLOY, depends_on=(f"s{n - 1}",)) for n in (1, 2)))
    )
    turn(outbox, clock, 2)
    approve(store, plan_id)
    turn(outbox, clock, 0.5)
    for name in ("s0", "s1", "s2"):
        succeed(store, plan_id, name)
        turn(outbox, clock, 0.5)
    turn(outbox, clock, 20)
    made = [one.method for one in slate.said if one.channel == "C1" and "chat." in one.method]

    lines = [one.text.count("it is done") for one in slate.said if one.key[:7] in {"outcome", "summary"}]

    assert store.view(plan_id).outcome == "succeeded"
    assert store.unsent() == []
    assert Counter(made) == {"chat.postMessage": 4, "chat.update": 3}
    assert lines == [2, 1]


def test_that_a_new_card_is_changed_at_once_counts_among_the_changes(outbox, slate, clock):
    store = outbox.store
    store.publish(CONTRACTS.values())
    for number in range(40):
        plan_id = store.request("deploy", team=TEAM, user="ANN", channel=f"C{number}")
        store.propose(plan_id, plan_spec(step("s1", BACKUP)), terms(), author="planner")
        approve(store, plan_id)
        propose(store)
    turn(outbox, clock, 60)

    assert [one.method for one in slate.said].count("chat.update") <= 50


def test_where_a_channel_takes_one_message_a_second_two_lines_of_a_thread_go_together(outbox, slate, clock):
    store = outbox.store
    plan_id = propose(store, plan_spec(*chain("s0", "s1", "s2")))
    approve(store, plan_id)
    turn(outbox, clock, 5)
    for number in range(BURST):
        store.say(f"before:{number}", channel="C1", text="no")
    turn(outbox, clock, 0.5)
    succeed(store, plan_id, "s0")
    succeed(store, plan_id, "s1")
    turn(outbox, clock, 5)

    assert [one.text.count("it is done") for one in slate.said if one.key.startswith("outcome")] == [2]
    assert store.unsent() == []


@pytest.mark.parametrize("back", [timedelta(seconds=40), timedelta(hours=2)])
def test_a_clock_that_is_put_back_silences_nobody(lite, clock, slate, back):
    passed = [0.0]
    outbox = Outbox(lite, slate, steady=lambda: passed[0])

    def second() -> None:
        outbox.speak()
        passed[0] += 1
        clock.advance(1)

    plan_id = propose(lite)
    slate.refuse = lambda call: None
    for _ in range(5):
        second()
    approve(lite, plan_id)
    for number in range(12):  # as many as wait for the pace, too
        lite.say(f"before:{number}", channel="C1", text="no")
    taken = take(lite, plan_id, "s1")
    second()
    clock.now -= back
    lite.fail(taken, bad(), actor="w1")
    lite.say("after", channel="C1", text="no")
    for _ in range(20):
        second()

    assert [one.key for one in slate.said if one.key in {"after", f"outcome:{plan_id}:7"}]
    assert lite.unsent() == []


def test_a_bot_that_starts_after_the_clock_was_put_back_does_not_wait_for_the_old_time(lite, clock, slate):
    lite.say("before", channel="C1", text="no")
    clock.now -= timedelta(hours=2)
    Outbox(lite, slate, steady=lambda: 0.0).speak()

    assert slate.texts() == ["no"]


def test_of_what_waits_a_round_reads_the_words_of_what_it_sends_alone(outbox, slate, monkeypatch):
    for number in range(50):
        outbox.store.say(f"say:{number}", channel="C1", text="no")
    read, rows = list[int](), outbox.store.still_stale
    monkeypatch.setattr(outbox.store, "still_stale", lambda ids: (found := rows(ids), read.extend(found))[0])
    outbox.speak()

    assert len(read) == len(slate.said) < 50


def test_what_another_has_said_since_the_look_is_not_said_again(outbox, slate, clock, monkeypatch):
    outbox.store.say("said", channel="C1", text="yes")
    line = outbox.store.in_line({})
    (row,) = messages(outbox.store, "say")
    outbox.store.note_shown(row, "1.0", next_at=clock())
    monkeypatch.setattr(outbox.store, "in_line", lambda _served: line)
    outbox.speak()

    assert slate.said == []
