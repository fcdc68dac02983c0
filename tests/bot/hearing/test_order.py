"""Whose delivery is next: each person in order, one at a time in a thread and at a plan, decisions first."""

from bot.cards.blocks import pack
from bot.hearing.order import lines, ready
from storage.exchange.deliveries import Waiting


def waits(number: int, user: str, kind: str = "command", **more: str) -> Waiting:
    return Waiting(f"{kind}:{number}", number, kind, user, "C1", **more)


def keys(found: list[tuple[Waiting, frozenset[str]]]) -> list[int]:
    return [one.id for one, _ in found]


def test_a_click_on_a_card_and_words_below_it_stand_in_one_line():
    click = lines(waits(1, "ANN", "click", place="100.1", thread="", value=pack(7, 1, "d")))
    reply = lines(waits(2, "BOB", "reply", thread="100.1"))
    form = lines(waits(3, "BOB", "form", plan="7"))

    assert click & reply == {"thread C1 100.1"}
    assert click & form == {"plan 7"}


def test_each_person_has_one_at_a_time_and_so_has_each_thread():
    waiting = [
        waits(1, "ANN", "reply", thread="100.1"),
        waits(2, "ANN"),
        waits(3, "BOB", "reply", thread="100.1"),
        waits(4, "CAROL"),
        waits(5, "BOB"),
    ]

    assert keys(ready(waiting, {}, ())) == [4, 1]
    assert keys(ready(waiting[1:], {}, ())) == [2, 4, 3]
    assert keys(ready(waiting, {}, {"person CAROL", "thread C1 100.1"})) == []


def test_who_waits_behind_somebody_in_work_is_overtaken_by_nobody_in_their_thread():
    waiting = [waits(1, "ANN", "reply", thread="1"), waits(2, "BOB", "reply", thread="1")]

    assert keys(ready(waiting, {}, {"person ANN"})) == []


def test_questions_and_decisions_go_before_chatter_but_not_for_ever():
    waiting = [waits(1, "ANN", "reply", thread="1"), waits(2, "BOB", "click", place="2")]

    assert keys(ready(waiting, {}, ())) == [2, 1]
    assert keys(ready(waiting, {"BOB": 5.0}, ())) == [1, 2]


def test_who_floods_us_is_one_of_many():
    flood = [waits(n, "MALLORY", "click", place=str(n)) for n in range(1, 1000)]
    waiting = [*flood, waits(1000, "ANN"), waits(1001, "BOB")]

    assert keys(ready(waiting, {}, ())) == [1, 1000, 1001]
    assert keys(ready(waiting, {"MALLORY": 9.0}, ()))[:2] == [1000, 1001]
