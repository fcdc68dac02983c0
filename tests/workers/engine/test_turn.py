"""One turn of the workers on the rows: what ended, what follows, what is due, in one commit."""

import math
from datetime import timedelta
from threading import Thread

import pytest
from pydantic import BaseModel
from sqlalchemy import event

from storage.contract.report import AnyReport, Report, storable
from storage.contract.spec import Retries
from storage.contract.states import PlanState
from storage.journal.events import HEADS
from storage.settling.frames import PLANS, SPECS, STEPS
from storage.steps.claims import Claim, Ending
from storage.steps.due import DUE
from tests.conftest import emptied
from tests.support.carriers import until
from tests.support.fakes import (
    CONTRACTS,
    DEPLOY,
    NOW,
    READ,
    approved,
    chain,
    ok,
    states,
    step,
    take,
    taker,
    tamper,
    verbs,
)
from tests.support.store import Store
from workers.engine.attempt import Running
from workers.engine.turn import Crew

ALL = taker(*CONTRACTS.values())


def turn(store: Store, *ended: Claim, free: int = 10) -> list[str]:
    return [claim.key for claim in store.turn([Ending(claim, "succeed", ok()) for claim in ended], ALL, free)]


def test_a_report_and_the_next_claim_share_one_commit(store):
    plan_id = approved(store, *chain("s0", "s1", "s2"))
    first = take(store, plan_id, "s0")
    commits = []
    event.listen(
        store.engine, "commit", lambda connection: commits.append(connection.get_execution_options())
    )

    assert turn(store, first) == ["s1"]
    assert [options.get("writes") for options in commits] == [True]
    assert states(store, plan_id) == {"s0": "succeeded", "s1": "running", "s2": "pending"}


def test_a_turn_without_anything_to_do_commits_nothing(store):
    approved(store, step("s1", schedule={"not_before": NOW + timedelta(hours=1)}))
    commits = []
    event.listen(
        store.engine, "commit", lambda connection: commits.append(connection.get_execution_options())
    )

    assert turn(store) == []
    assert not any(options.get("writes") for options in commits)


def test_many_plans_end_and_go_on_in_one_turn(store):
    plans = [approved(store, *chain("s0", "s1")) for _ in range(3)]
    ended = [take(store, plan_id, "s0") for plan_id in plans]

    assert turn(store, *ended, free=2) == ["s1", "s1"]
    assert turn(store, free=5) == ["s1"]
    assert [verbs(store, plan_id)[-2:] for plan_id in plans] == [["succeed", "claim"]] * 3


def test_the_plan_is_done_when_its_last_step_is(store):
    plan_id = approved(store, *chain("s0", "s1"))
    (second,) = store.turn([Ending(take(store, plan_id, "s0"), "succeed", ok())], ALL, 1)
    turn(store, second)

    assert store.view(plan_id).state == PlanState.done


def test_no_more_is_claimed_than_there_are_hands(store):
    approved(store, *(step(f"s{n}") for n in range(5)))

    assert len(turn(store, free=2)) == 2
    assert turn(store, free=0) == []


def test_a_late_report_among_others_changes_nothing(store, clock):
    one, two = approved(store, step("s1")), approved(store, step("s1"))
    lost, fine = take(store, one, "s1"), take(store, two, "s1")
    clock.advance(60)
    store.lose(store.lapsed(owner="w2", alone=False)[0], actor="w2", probe=False)
    turn(store, lost, fine, free=0)

    assert states(store, one) == {"s1": "pending"}
    assert states(store, two) == {"s1": "succeeded"}
    assert verbs(store, one)[-1] == "late"


def test_what_another_process_did_meanwhile_counts(store):
    plan_id = approved(store, step("a"), step("b"), step("c", depends_on=("b",)))
    held = store.turn([], ALL, 2)  # this process remembers the plan now
    other = Store(store.engine, store.clock)
    other.fail(held[0], AnyReport.failed("no"), actor="w1")

    assert turn(store, held[1]) == []
    assert store.view(plan_id).state == PlanState.stalled


@pytest.mark.postgres
def test_who_ends_an_attempt_waits_for_the_plan_with_nothing_else_in_hand(postgres_engine, clock):
    store = Store(emptied(postgres_engine), clock)
    plan_id = approved(store, *chain("s0", "s1"))
    (first,) = store.turn([], ALL, 1)  # this process knows the plan now, and locks it by its first write
    ending = Thread(target=turn, args=[store, first])
    with store.engine.begin() as other:
        other.exec_driver_sql("SELECT id FROM plan FOR UPDATE")
        ending.start()
        until(lambda: waiting(store), "the turn to wait for the plan")
        other.exec_driver_sql("SELECT id FROM step FOR UPDATE NOWAIT")
    ending.join()

    assert states(store, plan_id) == {"s0": "succeeded", "s1": "running"}


def waiting(store: Store) -> bool:
    """Whether somebody waits for a lock."""
    with store.engine.begin() as looking:
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        return bool(looking.exec_driver_sql(query).scalar_one())


def test_a_step_that_ran_between_being_found_and_being_locked_is_not_taken(store, monkeypatch):
    plan_id = approved(store, step("a"))
    find = DUE.all

    def find_and_dawdle(c, **query):
        found = find(c, **query)
        return [row._replace(attempt=row.attempt - 1) for row in found]  # as it was before somebody's try

    claim = take(store, plan_id, "a")
    store.retry(claim, AnyReport.failed("busy", kind="transient"), actor="w1", wait=0)
    monkeypatch.setattr(DUE, "all", find_and_dawdle)

    assert turn(store) == []
    monkeypatch.undo()
    assert turn(store) == ["a"]


def test_a_turn_that_was_rolled_back_is_forgotten(store):
    plan_id = approved(store, *chain("s0", "s1", "s2"))
    (first,) = store.turn([], ALL, 1)

    def fail(connection):
        raise RuntimeError("the power is out")

    event.listen(store.engine, "commit", fail)
    with pytest.raises(RuntimeError):
        turn(store, first)
    event.remove(store.engine, "commit", fail)

    assert states(store, plan_id)["s0"] == "running"
    assert turn(store, first) == ["s1"]


@pytest.mark.hostile
@pytest.mark.parametrize(
    "statement",
    ["UPDATE revision SET spec = '{'", "UPDATE revision SET spec = '{}'", "UPDATE step SET key = 'another'"],
)
def test_a_plan_that_cannot_be_read_stops_itself_and_no_other(store, statement):
    broken, fine = approved(store, step("s1", DEPLOY)), approved(store, step("s2", READ))
    tamper(store, f"{statement} WHERE plan_id = {broken}")

    assert turn(store) == ["s2"]
    assert (store.view(broken).state, store.view(fine).state) == (PlanState.stalled, PlanState.approved)
    assert "cannot be read" in store.view(broken).reason


class Odd(BaseModel):
    """What a worker may report without meaning harm."""

    text: str
    number: float


def test_odd_values_in_a_report_are_kept_as_well_as_can_be(store):
    plan_id = approved(store, step("s1"))
    report = storable(Report[Odd].ok("a\0b \ud800", Odd(text="x\0y", number=math.nan)))
    store.turn([Ending(take(store, plan_id, "s1"), "succeed", report)], ALL, 0)

    kept = store.view(plan_id).step("s1").report
    assert (kept.summary, kept.data) == ("ab ?", {"text": "xy", "number": None})


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize("statement", [PLANS, SPECS, STEPS, HEADS])
def test_plans_are_found_by_their_ids_however_many_have_ended(engine, statement):
    with engine.connect() as c:
        compiled, cursor = statement.compiled(c), c.connection.cursor()
        cursor.execute(f"EXPLAIN QUERY PLAN {compiled.sql}", compiled.bind({"ids": [1]}))
        steps = [row[3] for row in cursor.fetchall()]

    assert not [step for step in steps if step.startswith("SCAN") and "json_each" not in step]


def test_a_worker_with_slots_of_its_own_takes_none_of_the_others() -> None:
    crew = Crew(2, own={"agent": 3})
    both = taker(READ, READ.model_copy(update={"worker": "agent"}))
    shared, own = crew.takers(both)

    assert (shared[0], [*shared[1].contracts]) == ("", [("ops", "check")])
    assert (own[0], [*own[1].contracts]) == ("agent", [("agent", "check")])
    assert (crew.free(), crew.free("agent"), crew.total) == (2, 3, 5)
    crew.add([Running(held("agent", number)) for number in range(3)] + [Running(held("ops", 9))])
    assert (crew.free(), crew.free("ops"), crew.free("agent")) == (1, 1, 0)


def held(worker: str, number: int) -> Claim:
    rest = {
        "previous": {},
        "criteria": (),
        "retries": Retries(),
        "repeat": "safe",
        "timeout": 1.0,
        "token": "",
    }
    return Claim(number, 1, f"s{number}", 1, worker, "check", {}, **rest)
