"""What workers say of themselves, and who is there."""

from tests.support.fakes import BACKUP, CONTRACTS, DEPLOY, READ, RESTORE


def test_a_contract_comes_back_as_it_was_published(hands):
    hands.publish(CONTRACTS.values())
    hands.publish([DEPLOY])

    assert sorted(hands.contracts(), key=lambda c: c.action) == [BACKUP, READ, DEPLOY, RESTORE]


def test_a_process_that_gives_no_sign_of_life_counts_as_gone(hands, clock):
    hands.alive("host-1", "workers", "0.1")
    clock.advance(29)
    hands.alive("host-2", "workers", "0.1")

    assert {found.name for found in hands.processes("workers")} == {"host-1", "host-2"}
    assert hands.processes("bot") == []
    clock.advance(2)
    assert [found.name for found in hands.processes("workers")] == ["host-2"]
