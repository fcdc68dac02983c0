"""One step at a time touches a thing, until everybody knows how it ended."""

from functools import partial

import pytest

from tests.support.fakes import (
    DEPLOY,
    approved,
    bad,
    claim,
    due,
    ok,
    step,
    step_row,
    strangers,
    take,
    targets,
    together,
)
from tests.support.store import Store


def two_plans(store: Store) -> tuple[int, int]:
    return approved(store), approved(store)


def test_a_second_plan_waits_for_what_it_touches(store):
    one, two = two_plans(store)
    taken = take(store, one, "s1")

    assert claim(store, two, "s1") is None
    assert due(store) == []
    assert store.view(two).step("s1").held_by == one
    assert store.view(two).step("s1").held_at == ("C1", "")
    store.succeed(taken, ok(), actor="w1")
    assert targets(store) == []
    assert claim(store, two, "s1") is not None


@pytest.mark.parametrize("verb", ["fail", "retry"])
def test_a_target_is_free_again_however_the_attempt_ends(store, verb):
    one, two = two_plans(store)
    taken = take(store, one, "s1")
    store.fail(taken, bad(), actor="w1") if verb == "fail" else store.retry(taken, bad(), actor="w1", wait=9)

    assert claim(store, two, "s1") is not None


def test_an_unknown_step_keeps_its_target(store):
    one, two = two_plans(store)
    take(store, one, "s1")
    store.lose(step_row(store, one, "s1"), actor="w2", probe=False)

    assert claim(store, two, "s1") is None
    store.resolve(one, "s1", "ran", user="BOB")
    assert claim(store, two, "s1") is not None


def test_other_targets_do_not_wait(store):
    one = approved(store)
    two = approved(store, step("s1", DEPLOY, parameters={"service": "b"}))
    take(store, one, "s1")

    assert claim(store, two, "s1") is not None


def test_of_many_plans_that_want_one_target_one_gets_it(store):
    plans = [approved(store) for _ in range(4)]
    calls = [partial(claim, mine, plan, "s1") for mine, plan in zip(strangers(store, 4), plans, strict=True)]

    assert sum(found is not None for found in together(calls)) == 1
