"""Hooks as strangers find them: over HTTP, what is not signed is not read, and what was said once is once."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import urllib3

from bot.machines.hooks import LARGEST
from bot.machines.opening import machine_doors
from bot.machines.signatures import SKEW
from storage.config import SignoffConfig
from storage.http_server import serving
from tests.support.fakes import real_contracts
from tests.support.room import Room
from tests.support.store import Store

pytestmark = pytest.mark.machines
SECRETS = {"SIGNOFF_HOOK_OLD": "the-old-secret-of-hooks", "SIGNOFF_HOOK_NEW": "the-new-secret-of-hooks"}
KINDS = ("alertmanager", "pagerduty", "github", "standard")
BODY: dict[str, Any] = {
    "alerts": [{"status": "firing", "labels": {"service": "auth-service"}}], "groupKey": "g",
    "status": "firing", "event": {"id": "E1", "event_type": "incident.triggered", "data": {"id": "P1"}},
    "key": "k", "service": "auth-service",
}  # fmt: skip


@pytest.fixture
def room(on_disk: Store) -> Room:
    on_disk.publish(real_contracts())
    made = Room(on_disk)
    route = {"runbook": "service-status", "values": {"service": "auth-service", "environment": "production"}}
    hook = {"secret_env": [*SECRETS], "channel": "C1", "owner": "ANN", "routes": [route]}
    given = {"people": made.config.people.model_dump(), "hooks": {one: hook | {"kind": one} for one in KINDS}}
    made.bot = replace(made.bot, config=SignoffConfig.model_validate(given))
    return made


@pytest.fixture
def url(room: Room) -> Iterator[str]:
    with (
        machine_doors(room.bot, environ=SECRETS) as (routes, beside),
        serving("test", "127.0.0.1", 0, routes, beside=beside) as port,
    ):
        yield f"http://127.0.0.1:{port}/hooks/"


def proof(kind: str, raw: bytes, secret: str = SECRETS["SIGNOFF_HOOK_NEW"], skew: int = 0) -> dict[str, str]:
    """As the source signs it."""
    plain, at = hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest(), str(int(time.time()) + skew)
    whole = base64.b64encode(hmac.digest(secret.encode(), f"m1.{at}.".encode() + raw, "sha256")).decode()
    return {
        "alertmanager": {"Authorization": f"Bearer {secret}"},
        "pagerduty": {"X-PagerDuty-Signature": f"v1={plain}"},
        "github": {"X-Hub-Signature-256": f"sha256={plain}", "X-GitHub-Delivery": "d", "X-GitHub-Event": "x"},
        "standard": {"webhook-id": "m1", "webhook-timestamp": at, "webhook-signature": f"v1,{whole}"},
    }[kind]


def posted(url: str, kind: str, raw: bytes, headers: Mapping[str, str]) -> int:
    return urllib3.request("POST", url + kind, body=raw, headers=headers, retries=False, timeout=30).status


@pytest.mark.parametrize("kind", KINDS)
def test_what_its_source_signed_is_taken_once_and_nothing_else_is_read(room, url, kind):
    raw = json.dumps(BODY).encode()
    good = proof(kind, raw)
    strange = [
        {}, proof(kind, raw, "another-secret-altogether"),
        {name: value[:-1] + chr(ord(value[-1]) ^ 1) for name, value in good.items()},
        *(proof(other, raw) for other in KINDS if other != kind),
    ]  # fmt: skip
    assert {posted(url, kind, raw, headers) for headers in strange} == {401}
    assert kind == "alertmanager" or posted(url, kind, raw + b" ", good) == 401
    assert room.store.unhandled() == []

    assert {posted(url, kind, raw, good) for _ in range(3)} == {202}
    assert posted(url, kind, raw, proof(kind, raw, SECRETS["SIGNOFF_HOOK_OLD"])) == 202  # while they rotate
    assert len(room.store.unhandled()) <= 2  # by five seconds, where the source names no call


def test_a_call_of_another_time_is_refused(room, url):
    raw = json.dumps(BODY).encode()
    for skew in (-SKEW - 5, SKEW + 5):
        assert posted(url, "standard", raw, proof("standard", raw, skew=skew)) == 401

    assert posted(url, "standard", raw, proof("standard", raw, skew=SKEW - 20)) == 202


@pytest.mark.parametrize("raw", [b"", b"[", b"[]", b'{"a":1,"a":2}', b"[" * 100_000, b"\xff", b"7"])
def test_a_signed_call_that_is_no_document_is_refused_and_breaks_nothing(room, url, raw, caplog):
    for kind in KINDS:
        assert posted(url, kind, raw, proof(kind, raw)) == 400

    assert room.store.unhandled() == []
    assert "could not be answered" not in caplog.text


def test_too_large_a_call_and_one_to_no_hook_go_nowhere(room, url):
    raw = b" " * (LARGEST + 1)

    assert posted(url, "github", raw, proof("github", raw)) == 413
    assert posted(url, "nobody", b"{}", {}) == 404
    assert posted(url, "../api/v1/plans", b"{}", {}) == 401
    assert urllib3.request("GET", url + "github", retries=False).status == 405
    assert room.store.unhandled() == []
