"""Tokens: only a hash is kept; they expire, rotate and are revoked; each act is on record."""

from dataclasses import replace
from datetime import timedelta

import pytest

from storage.errors import Conflict, NotFound
from storage.exchange.tokens import Grant, new_secret
from tests.support.fakes import NOW
from tests.support.store import Store

pytestmark = pytest.mark.machines
GRANT = Grant("T1", "ci", "ANN", ("C1",))


def made(store: Store, grant: Grant = GRANT, days: int = 90) -> str:
    secret = new_secret()
    store.add_token(grant, secret, expires_at=NOW + timedelta(days=days), actor="terminal:op")
    return secret


def test_a_token_is_found_by_its_secret_which_is_not_kept(store):
    secret = made(store)

    found = store.token_of(secret)
    assert found
    assert (found.name, found.owner, found.team) == ("ci", "ANN", "T1")
    assert secret not in str(found.model_dump())
    assert secret not in str([event.data for event in store.events(0)])


@pytest.mark.parametrize(
    "spoil", [lambda s: s[:-1], lambda s: s.upper(), lambda s: s + "a", lambda s: "", lambda s: "é"]
)
def test_another_secret_finds_none(store, spoil):
    assert store.token_of(spoil(made(store))) is None


def test_it_ends_with_its_time(store, clock):
    secret = made(store, days=1)
    clock.advance(days=1)

    assert store.token_of(secret) is None


def test_two_of_one_name_hold_at_once_until_the_old_one_is_revoked(store):
    old, new = made(store), made(store)

    assert store.token_of(old)
    number = store.list_tokens()[0].id
    store.revoke_token(number, actor="terminal:op")
    assert store.token_of(old) is None
    assert store.token_of(new)
    with pytest.raises(NotFound):
        store.revoke_token(number, actor="terminal:op")
    assert [event.verb for event in store.events(0)] == ["token", "token", "revoke"]


def test_a_name_belongs_to_one_person(store):
    made(store)

    with pytest.raises(Conflict):
        made(store, replace(GRANT, owner="EVE"))


def test_when_it_was_used_is_known_to_the_minute(store, clock):
    secret = made(store)
    store.token_of(secret)
    clock.advance(seconds=30)
    store.token_of(secret)

    assert store.list_tokens()[0].used_at == NOW
