"""An evening of eight plans, made by hand: each for one line of the figures."""

from tests.support.fakes import (
    FakeClock,
    approve,
    approved,
    ask,
    fail,
    plan_spec,
    propose,
    step,
    succeed,
    terms,
)
from tests.support.store import Store


def evening(store: Store, clock: FakeClock) -> dict[str, int]:
    """Eight plans, as they happen: each for one line of the figures."""
    made: dict[str, int] = {}

    def later(minutes: float) -> None:
        clock.advance(minutes=minutes)

    made["well"] = approved(store, step("a"))
    succeed(store, made["well"], "a")
    later(1)
    made["opened"] = propose(store, plan_spec(step("a")))
    store.opened(made["opened"], 1, "BOB")
    later(4)
    approve(store, made["opened"])
    succeed(store, made["opened"], "a")
    made["answered"] = approved(store, step("a"))
    fail(store, made["answered"], "a")
    later(10)
    store.answer(made["answered"], "a", "retry", user="ANN")
    succeed(store, made["answered"], "a")
    made["aborted"] = approved(store, step("a"))
    fail(store, made["aborted"], "a")
    store.answer(made["aborted"], "a", "abort", user="ANN")
    made["rejected"] = propose(store)
    store.reject(made["rejected"], 1, user="BOB", reason="not today")
    made["edited"] = propose(store, plan_spec(step("a")))
    store.amend(made["edited"], plan_spec(step("b")), terms(), author="CAROL", after=1, changes=["another"])
    later(2)
    store.approve(made["edited"], 2, plan_spec(step("b")).digest(), team="T1", user="BOB", policy="p1")
    succeed(store, made["edited"], "b")
    store.book(made["edited"], model="m", usd=0.25, tokens={})
    made["cancelled"] = propose(store)
    store.cancel(made["cancelled"], user="ANN", reason="never mind")
    made["wish"] = ask(store)
    store.cancel(made["wish"], user="ANN", reason="never mind")
    return made
