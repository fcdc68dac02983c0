"""Plans that have come some way, for tests that begin there."""

from typing import Any

from tests.support.fakes import BACKUP, DEPLOY, approved, bad, fail, step, succeed, take, undo
from tests.support.store import Store


def rollback_plan(store: Store) -> int:
    one = step("one", BACKUP)
    two = step("two", DEPLOY, depends_on=("one",), failure_action="rollback")
    three = step("three", DEPLOY, depends_on=("two",), parameters={"service": "b"})
    undos = (undo("undo-one", "one"), undo("undo-two", "two"), undo("undo-three", "three"))
    plan_id = approved(store, one, two, three, rollback=undos)
    succeed(store, plan_id, "one")
    taken = take(store, plan_id, "two")
    store.start(taken, {"version": "2.1.3"})
    store.fail(taken, bad(), actor="w1")
    return plan_id


def failed_plan(store: Store, **fields: Any) -> int:
    plan_id = approved(store, step("s1", **fields), step("s2", depends_on=("s1",)))
    fail(store, plan_id, "s1")
    return plan_id


def busy_plan(store: Store) -> int:
    plan_id = rollback_plan(store)
    fail(store, plan_id, "undo-two")
    store.answer(plan_id, "undo-two", "retry", user="BOB")
    return plan_id
