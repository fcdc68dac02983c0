"""What recurs is a row, its runs are one for each local date, and what stands for them is used up."""

from datetime import date, timedelta
from typing import Any

import pytest
from sqlmodel import col

from storage.contract.states import PlanState
from storage.database.tables import Message, Recurring
from storage.errors import Conflict, NotFound
from storage.plans.recurrences import Grant
from tests.support.fakes import NOW, TEAM, messages, plan_spec, propose, terms
from tests.support.store import Store

TODAY, DAY = date(2026, 11, 16), timedelta(days=1)
SPEC = plan_spec()


def recurs(store: Store, text: str = "deploy a") -> Recurring:
    when: dict[str, Any] = {"said": "every day", "cron": "0 2 * * *", "zone": "UTC", "next_at": NOW + DAY}
    return store.one_recurring(store.recur(text, **when, team=TEAM, user="ANN", channel="C1"))


def told(store: Store) -> tuple[str, str, dict[str, object]]:
    """The newest event of the system: verb, actor, and what it says."""
    event = store.events(0)[-1]
    return event.verb, event.actor, event.data


def wanted(store: Store) -> dict[str, int]:
    """How often each message was to be drawn."""
    with store.read() as t:
        return {row.key: row.wanted for row in t.rows(Message, col(Message.id) > 0)}


def stands(store: Store, one: Recurring, user: str = "BOB", runs: int = 2) -> None:
    grant = Grant(SPEC.digest(), runs, NOW + 7 * DAY)
    store.stand(one, grant, team=TEAM, user=user, policy="p1")


def proposed_run(store: Store, one: Recurring, day: date = TODAY, needed: int = 1) -> int:
    propose(store)  # so that its workers have said what they can do, and other plans are there
    plan_id = store.run(one, day, (one.next_at or NOW) + DAY)
    store.propose(plan_id, SPEC, terms(needed), author="planner")
    return plan_id


def test_what_recurs_is_found_by_its_number_and_on_record(store):
    first, second = recurs(store), recurs(store, "deploy b")

    assert (first.id + 1, store.one_recurring(second.id).text) == (second.id, "deploy b")
    said = {"recurring": second.id, "text": "deploy b", "cron": "0 2 * * *", "zone": "UTC"}
    assert told(store) == ("recur", "ANN", said)
    with pytest.raises(NotFound):
        store.one_recurring(second.id + 1)


def test_a_run_says_of_what_and_for_which_day_it_is(store):
    one = recurs(store)
    plan_id = store.run(one, TODAY, NOW + 2 * DAY)

    asked = store.events(plan_id)[0].data
    assert (asked["recurring"], asked["day"]) == (one.id, "2026-11-16")


def test_a_day_that_was_passed_by_does_not_run_later(store):
    one = recurs(store)
    store.pass_by(one, [TODAY], NOW + 2 * DAY, question="It did not run.")

    assert told(store) == ("miss", "clock", {"recurring": one.id, "days": ["2026-11-16"]})
    assert store.run(store.one_recurring(one.id), TODAY, NOW + 3 * DAY) is None
    assert store.latest_run(one) == 0


def test_the_newest_run_is_that_of_the_last_day(store):
    one, plans = recurs(store), []
    for n in (0, 1):
        plans.append(store.run(store.one_recurring(one.id), TODAY + n * DAY, NOW + (2 + n) * DAY))
    store.pass_by(store.one_recurring(one.id), [TODAY + 2 * DAY], NOW + 9 * DAY, question="missed")

    assert store.latest_run(one) == plans[-1]


@pytest.mark.parametrize("verb", ["pause", "retire"])
def test_who_turned_it_off_is_on_record(store, verb):
    one = recurs(store)
    getattr(store, verb)(one, user="CAROL")

    assert told(store) == (verb, "CAROL", {"recurring": one.id})


def test_a_second_yes_of_one_person_takes_the_place_of_the_first_and_of_no_other(store):
    one, other = recurs(store), recurs(store, "deploy b")
    stands(store, one)
    stands(store, one, user="CAROL")
    stands(store, other)
    stands(store, one, runs=5)

    assert {found.user: found.runs_left for found in store.standings(one.id)} == {"CAROL": 2, "BOB": 5}
    assert [found.runs_left for found in store.standings(other.id)] == [2]
    until = (NOW + 7 * DAY).isoformat()
    said = {"recurring": one.id, "digest": SPEC.digest(), "runs": 5, "until": until}
    assert told(store) == ("stand", "BOB", said)


def test_only_proposed_runs_of_what_somebody_stands_for_are_asked_about(store):
    one, other = recurs(store), recurs(store, "deploy b")
    mine, _ = proposed_run(store, one), proposed_run(store, other)
    stands(store, one)

    assert store.stood_for() == [(mine, one.id)]
    store.reject(mine, 1, user="BOB", reason="no")
    assert store.stood_for() == []


def test_one_run_is_counted_for_each_yes_until_none_is_left(store):
    one = recurs(store)
    stands(store, one, runs=1)
    first = proposed_run(store, one)
    (standing,) = store.standings(one.id)
    assert store.stand_in(first, 1, standing, policy="p1")
    assert store.view(first).state == PlanState.approved
    second = proposed_run(store, store.one_recurring(one.id), TODAY + DAY)

    with pytest.raises(Conflict, match="used up or has ended"):
        store.stand_in(second, 1, standing, policy="p1")
    assert store.view(second).approved_by == ()
    assert store.standings(one.id)[0].runs_left == 0


def test_a_standing_approval_has_ended_when_its_time_has_come(store, clock):
    one = recurs(store)
    stands(store, one)
    (standing,) = store.standings(one.id)
    clock.advance(days=7)
    plan_id = store.run(one, TODAY, NOW + 9 * DAY)
    store.propose(plan_id, SPEC, terms(expires_at=NOW + 20 * DAY), author="planner")

    with pytest.raises(Conflict, match="used up or has ended"):
        store.stand_in(plan_id, 1, standing, policy="p1")


def test_what_is_void_says_why_in_the_channel_and_on_record_once(store):
    one, other = recurs(store), recurs(store, "deploy b")
    stands(store, one)
    stands(store, other)
    for _ in range(2):
        store.void(one.id, reason="policy has changed")

    assert told(store) == ("void", "rules", {"recurring": one.id, "reason": "policy has changed"})
    assert (store.standings(one.id), len(store.standings(other.id))) == ([], 1)
    (said,) = messages(store, "recurring")
    assert said.text == f"The standing approval of recurring plan {one.id} has ended: policy has changed."


def test_hours_that_were_passed_by_do_not_run_later_and_the_others_of_that_day_do(store):
    one = recurs(store)
    store.pass_by(one, [TODAY, TODAY], NOW + 2 * DAY, question="why?", hours=[7, 8])

    assert [m.key for m in messages(store, "recurring")] == [f"missed:{one.id}:{TODAY}:8"]
    for n, hour in enumerate((7, 8, 0, 9, 9)):
        made = store.run(store.one_recurring(one.id), TODAY, NOW + (3 + n) * DAY, hour=hour)
        assert bool(made) is (n in {2, 3})


def test_a_number_of_days_and_of_hours_that_differ_is_a_mistake(store):
    with pytest.raises(ValueError, match="zip"):
        store.pass_by(recurs(store), [TODAY, TODAY], NOW + 2 * DAY, question="why?", hours=[7])


def test_what_was_passed_by_has_no_plan_and_no_plan_is_a_run_of_nothing(store):
    one = recurs(store)
    store.pass_by(one, [TODAY], NOW + 2 * DAY, question="why?")

    assert store.latest_run(store.one_recurring(one.id)) == 0
    assert store.run_of(propose(store)) == 0


def test_one_invitation_for_a_run_is_on_record_and_drawn_anew_when_it_is_answered(store):
    one = recurs(store)
    plan_id = proposed_run(store, one)
    other = propose(store)
    for _ in range(2):
        store.invite(plan_id, one, runs=3)
    (event,) = [e for e in store.events(plan_id) if e.verb == "invite"]
    before = wanted(store)
    stands(store, store.one_recurring(one.id))
    after = wanted(store)
    (asked,) = messages(store, "standing")

    assert (event.actor, event.data) == (
        "rules", {"recurring": one.id, "said": "every day", "zone": "UTC", "runs": 3},
    )  # fmt: skip
    assert (asked.plan_id, asked.wanted, asked.urgent) == (plan_id, before[asked.key] + 1, True)
    assert {key for key in before if before[key] != after[key]} == {asked.key}
    assert other != plan_id
