"""The HTTP API with a real server: who knocks comes first, one key is one plan, refusals have one form."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from aiohttp import web

from bot.machines import opening
from bot.machines.api import LARGEST, routes
from bot.machines.limits import Limits
from storage.exchange.tokens import new_secret
from tests.support.doors.asking import CHANGE, READ
from tests.support.doors.served import Doors, new_token, open_doors
from tests.support.fakes import real_contracts
from tests.support.room import Room
from tests.support.store import Store

pytestmark = pytest.mark.machines
PLANS = "/api/v1/plans"


@pytest.fixture
def room(on_disk: Store) -> Room:
    on_disk.publish(real_contracts())
    return Room(on_disk)


@pytest.fixture
def doors(room: Room) -> Iterator[Doors]:
    with open_doors(room.bot, new_token(room.store)) as found:
        yield found


def asked(doors: Doors, body: object, key: str = "k1", **more: str):
    return doors.call("POST", PLANS, body, Idempotency_Key=key, **more)


def test_a_plan_is_asked_for_looked_at_awaited_and_cancelled(doors, room):
    status, found = asked(doors, {"plan": CHANGE})
    assert (status, found["plan"], found["state"]) == (202, 1, "proposed")

    assert doors.call("GET", f"{PLANS}/1")[1]["steps"][0]["state"] == "pending"
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(doors.call, "GET", f"{PLANS}/1?wait=30&seen=proposed")
        assert doors.call("DELETE", f"{PLANS}/1", {"reason": "enough"})[1]["state"] == "cancelled"
        assert waiting.result()[1]["state"] == "cancelled"
    assert [e.data["via"] for e in room.store.events(1) if e.verb == "cancel"] == ["api"]


def test_a_wait_that_ends_says_where_it_stands(doors):
    asked(doors, {"plan": CHANGE})

    assert doors.call("GET", f"{PLANS}/1?wait=1")[1]["state"] == "proposed"


def test_what_may_be_asked_for_is_listed_with_its_names(doors):
    _, found = doors.call("GET", "/api/v1/runbooks")

    deploy = next(book for book in found["runbooks"] if book["runbook"] == "deploy-service")
    assert deploy["slots"]["service"] == ["auth-service"]


@pytest.mark.parametrize("header", ["", "Basic x", "Bearer", "Bearer sgn_nope", "Bearer \u00e9"])
def test_nobody_comes_in_without_a_token(doors, header):
    status, found = doors.call("GET", f"{PLANS}/1", Authorization=header)

    assert status == 401
    assert found["problems"][0]["code"] == "unauthorized"


def test_a_revoked_token_and_one_of_another_workspace_open_nothing(doors, room):
    room.store.revoke_token(room.store.list_tokens()[0].id, actor="terminal:op")
    assert doors.call("GET", f"{PLANS}/1")[0] == 401
    assert doors.call("GET", f"{PLANS}/1", token=new_secret())[0] == 401


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        (b"{", "invalid", ""),
        (b'{"text": "a", "text": "b"}', "invalid", ""),
        ([], "model_type", ""),
        ({"text": 7}, "string_type", "text"),
        ({"text": "x" * 2001}, "string_too_long", "text"),
        ({"text": "x", "approve": True}, "extra_forbidden", "approve"),
        ({}, "one_of", ""),
        ({"runbook": "deploy-service", "slots": {"nope": "1"}}, "unknown_slot", "slots.nope"),
        ({"plan": {"goal": "x", "steps": []}}, None, None),
    ],
)
def test_what_cannot_be_used_is_said_with_its_place_and_leaves_no_row(doors, room, body, code, path):
    status, found = asked(doors, body)

    assert status == 422
    if code:
        assert (found["problems"][0]["code"], found["problems"][0]["path"]) == (code, path)
    assert room.store.recent(1) == []


def test_an_ask_without_a_key_is_refused(doors):
    for key in ("", "a b", "x" * 201):
        status, found = asked(doors, {"plan": READ}, key=key)
        (problem,) = found["problems"]
        assert (status, problem["code"], problem["path"]) == (422, "no_key", "Idempotency-Key")
        assert problem["message"].startswith("The header Idempotency-Key needs a word")


def test_the_same_key_for_something_else_is_a_conflict(doors):
    asked(doors, {"plan": CHANGE})

    assert asked(doors, {"plan": READ})[0] == 409


def test_another_token_s_plan_is_not_there(doors, room):
    asked(doors, {"plan": CHANGE})
    other = new_token(room.store, "other")

    for method in ("GET", "DELETE"):
        assert doors.call(method, f"{PLANS}/1", token=other)[0] == 404
    assert doors.call("GET", f"{PLANS}/99999999999", token=other)[0] == 404
    assert doors.call("GET", f"{PLANS}/x", token=other)[0] == 404


def test_a_scope_that_is_missing_is_forbidden(doors, room):
    looker = new_token(room.store, "looker", scopes=("look",))

    assert asked(doors, {"plan": READ}, Authorization=f"Bearer {looker}")[0] == 403


def test_too_much_at_once_is_refused(doors):
    assert asked(doors, b" " * (LARGEST + 1))[0] == 413


def test_who_knocks_too_often_is_told_when_to_come_again(room, monkeypatch):
    monkeypatch.setattr(opening, "Limits", partial(Limits, burst=3, rate=0.001))  # on any machine
    with open_doors(room.bot, new_token(room.store)) as doors:
        found = [doors.call("GET", f"{PLANS}/1")[0] for _ in range(4)]

    assert found == [404, 404, 404, 429]


def test_a_hundred_equal_asks_from_ten_threads_are_one_plan(room, monkeypatch):
    monkeypatch.setattr(opening, "Limits", partial(Limits, burst=1000))  # who knocks too often has its test
    tokens = [new_token(room.store) for _ in range(4)]  # of one name: rotation changes nothing
    with open_doors(room.bot, tokens[0]) as doors, ThreadPoolExecutor(10) as many:
        found = [
            *many.map(
                lambda n: asked(doors, {"plan": CHANGE}, Authorization=f"Bearer {tokens[n % 4]}"), range(100)
            )
        ]

    assert {status for status, _ in found} == {202}
    assert {answer["plan"] for _, answer in found} <= {1, None}
    assert len(room.store.recent(9)) == 1


def test_every_route_of_the_api_asks_looks_or_cancels(room):
    class Nothing:
        pass

    found: list[web.RouteDef] = routes(Nothing())  # type: ignore[arg-type] # none of them is called

    assert {(route.method, route.path) for route in found} == {
        ("POST", PLANS), ("GET", f"{PLANS}/{{plan}}"), ("DELETE", f"{PLANS}/{{plan}}"),
        ("GET", "/api/v1/runbooks"),
    }  # fmt: skip
