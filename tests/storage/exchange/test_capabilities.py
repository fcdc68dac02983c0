"""What workers say of themselves, and who is there."""

from functools import partial

from sqlalchemy import delete

from storage.database.tables import Capability
from tests.support.fakes import BACKUP, CONTRACTS, DEPLOY, READ, RESTORE, together


def test_a_contract_comes_back_as_it_was_published(hands):
    hands.publish(CONTRACTS.values())
    hands.publish([DEPLOY])

    assert sorted(hands.contracts(), key=lambda c: c.action) == [BACKUP, READ, DEPLOY, RESTORE]


def test_two_processes_that_start_together_both_say_what_they_can_do(store):
    """The first row of an action is written by one of them, and the other one waits for it."""
    for _ in range(10):
        with store.write() as t:
            t.execute(delete(Capability))
        strangers = [store.stranger() for _ in range(4)]
        orders = [[*CONTRACTS.values()], [*reversed(CONTRACTS.values())]] * 2

        said = together([partial(one.publish, found) for one, found in zip(strangers, orders, strict=True)])

        assert said == [None] * 4
        assert len(store.contracts()) == len(CONTRACTS)


def test_a_process_that_gives_no_sign_of_life_counts_as_gone(hands, clock):
    hands.alive("host-1", "workers", "0.1")
    clock.advance(29)
    hands.alive("host-2", "workers", "0.1")

    assert {found.name for found in hands.processes("workers")} == {"host-1", "host-2"}
    assert hands.processes("bot") == []
    clock.advance(2)
    assert [found.name for found in hands.processes("workers")] == ["host-2"]
