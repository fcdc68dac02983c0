"""On call by schedule, against fakes of the providers: what cannot be said gives nobody a right."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from bot.machines.oncall import shift
from bot.machines.oncall.duty import Duty, duties
from bot.people import People, Unidentified
from bot.plans.permits import on_call_then, permit
from bot.policy.authorize import Actor, Allowed, Refused, authorize, mention
from bot.process import on_call_now
from storage.config import SignoffConfig
from storage.errors import BadConfig
from tests.support.fakes import HERE, TEAM, plan_spec, terms
from tests.support.room import Room
from tests.support.samples.cards import plan_view

pytestmark = pytest.mark.machines
PERSON = {"id": "PBOB", "email": "bob@example.com"}


@contextmanager
def provider(status: int = 200, body: Any = None, *, hang: bool = False) -> Iterator[tuple[str, list[Any]]]:
    """A provider that answers so; and what it was asked."""
    asked: list[Any] = []
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, dict(self.headers)))
            if hang:
                over.wait(30)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def config(url: str, kind: str = "pagerduty", **more: Any) -> SignoffConfig:
    entry = {
        "provider": kind,
        "token_env": "SIGNOFF_ONCALL_PD",
        "schedule": "PSCHED",
        "url": url,
        "otherwise": "S0OPS",
    }
    return SignoffConfig.model_validate({
        "people": {"approvers": ["CAROL"], "pagerduty": {"PEVE": "EVE"}},
        "oncall": {"primary": entry | more}, "policy": {"on_call": "oncall:primary"},
    })  # fmt: skip


def duty(found: SignoffConfig, emails: dict[str, str] | None = None) -> Duty:
    known = {"bob@example.com": "BOB"} if emails is None else emails
    return duties(found, {"SIGNOFF_ONCALL_PD": "t0ken"}, lambda email: known.get(email, ""))["oncall:primary"]


def oncalls(*people: dict[str, str], level: int = 1) -> dict[str, Any]:
    one = {
        "escalation_level": level,
        "schedule": {"id": "PSCHED"},
        "start": "2026-11-15T08:00:00Z",
        "end": "2026-11-16T08:00:00Z",
    }
    return {"oncalls": [one | {"user": person} for person in people], "more": False}


def test_pagerduty_says_who_and_that_is_on_record():
    with provider(body=oncalls(PERSON)) as (url, asked):
        found = duty(config(url))

        assert found() == {"BOB"}
    assert found.answer["BOB"]["schedule"] == "PSCHED"
    assert found.answer["BOB"]["end"] == "2026-11-16T08:00:00Z"
    path, headers = asked[0]
    assert "schedule_ids%5B%5D=PSCHED" in path
    assert headers["Authorization"] == "Token token=t0ken"


def test_the_map_of_people_comes_before_addresses():
    with provider(body=oncalls({"id": "PEVE", "email": "bob@example.com"})) as (url, _):
        assert duty(config(url))() == {"EVE"}


def test_opsgenie_names_people_by_address():
    with provider(body={"data": {"onCallRecipients": ["bob@example.com"]}}) as (url, asked):
        assert duty(config(url, "opsgenie"))() == {"BOB"}
    assert asked[0][0] == "/v2/schedules/PSCHED/on-calls?flat=true"
    assert asked[0][1]["Authorization"] == "GenieKey t0ken"


@pytest.mark.parametrize("kind", ["pagerduty", "opsgenie"])
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"oncalls": [], "data": {"onCallRecipients": []}}), (401, {}), (429, {}), (500, {}), (302, {}),
        (200, b"<html>"), (200, {}), (200, []), (200, b"[" + b" " * 300_000), (200, {"oncalls": [{}]}),
        (200, oncalls({"id": "PNEW"}) | {"data": {"onCallRecipients": ["new@example.com"]}}),
    ],
)  # fmt: skip
def test_whatever_else_it_answers_gives_nobody_a_right_and_names_the_provider(kind, status, body):
    with provider(status, body) as (url, asked):
        found = duty(config(url, kind))
        with pytest.raises(Unidentified, match=kind):
            found()
        with pytest.raises(Unidentified):
            found()
    assert len(asked) == 1  # one try, and then it is left alone for a while


def test_a_provider_that_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(shift, "PATIENCE", 0.2)
    with provider(hang=True) as (url, _), pytest.raises(Unidentified, match="does not answer"):
        duty(config(url))()


def test_other_levels_do_not_count():
    with provider(body=oncalls(PERSON, level=2)) as (url, _), pytest.raises(Unidentified):
        duty(config(url))()
    with provider(body=oncalls(PERSON, level=2)) as (url, _):
        assert duty(config(url, levels=[1, 2]))() == {"BOB"}


def test_a_schedule_without_its_secret_does_not_start():
    with pytest.raises(BadConfig, match="SIGNOFF_ONCALL_PD"):
        duties(config("http://127.0.0.1:1"), {}, str)


class Slack:
    """Knows everybody."""

    def conversations_info(self, channel: str) -> Any:
        return {"channel": {"id": channel, "is_channel": True}}

    def users_info(self, user: str) -> Any:
        return {"user": {"id": user, "team_id": TEAM, "profile": {}}}


def people(found: SignoffConfig, on_duty: Any) -> People:
    return People(Slack(), HERE, groups=("oncall:primary",), duties={"oncall:primary": on_duty})  # type: ignore[arg-type] # a fake


def asked_of(found: SignoffConfig) -> SignoffConfig:
    return found.model_copy(
        update={"people": found.people.model_copy(update={"approvers": ("oncall:primary",)})}
    )


def test_whoever_is_on_call_approves_and_others_do_not():
    found = asked_of(config("http://127.0.0.1:1"))
    view = replace(plan_view(), approvers=("oncall:primary",), authors=("ANN",), team=TEAM)
    them = people(found, lambda: frozenset({"BOB"}))

    assert authorize(them.actor("BOB", fresh=True), "approve", view, found) == Allowed()
    assert authorize(them.actor("EVE", fresh=True), "approve", view, found) != Allowed()


def test_a_provider_that_fails_refuses_with_its_name_and_takes_nothing_from_others():
    def broken() -> frozenset[str]:
        raise Unidentified("I could not learn who is on call (primary, pagerduty): PagerDuty answered 500.")

    found = asked_of(config("http://127.0.0.1:1"))
    view = replace(plan_view(), approvers=("oncall:primary",), authors=("ANN",), team=TEAM)
    refused = authorize(people(found, broken).actor("BOB", fresh=True), "approve", view, found)
    assert isinstance(refused, Refused)
    assert "PagerDuty answered 500" in refused.reason

    plain = config("http://127.0.0.1:1")
    named = replace(plan_view(), approvers=("CAROL",), authors=("ANN",), team=TEAM)
    assert authorize(people(plain, broken).actor("CAROL", fresh=True), "approve", named, plain) == Allowed()


def test_a_yes_given_on_call_outlives_the_shift_unless_the_schedule_says_otherwise(lite):
    room = Room(lite)
    after = Actor(TEAM, "BOB")
    for holds, kept in (("approval", {"oncall:primary"}), ("shift", set())):
        bot = replace(room.bot, config=config("http://127.0.0.1:1", holds=holds))
        assert on_call_then(bot, after, ("BOB", "oncall:primary", "S1")).groups == kept


@pytest.mark.parametrize(("holds", "runs"), [("approval", True), ("shift", False)])
def test_a_handover_between_approval_and_run(lite, holds, runs, monkeypatch):
    monkeypatch.setattr("bot.people.GROUP", 0.0)  # seconds for which a group is remembered
    found = asked_of(config("http://127.0.0.1:1", holds=holds))
    now_on_call, told = {"BOB"}, {"schedule": "PSCHED", "end": "2026-11-16T08:00:00Z"}

    class OnDuty:
        answer: ClassVar = {"BOB": told}

        def __call__(self) -> frozenset[str]:
            return frozenset(now_on_call)

    room = Room(lite)
    approvers = {"approvers": ("oncall:primary",)}
    plan_id = room.proposed(plan_spec(), terms(policy=found.version(), **approvers))
    room.bot = replace(room.bot, config=found, people=people(found, OnDuty()))
    room.clicks("EVE", "approve")  # the wrong person
    assert room.view().state == "proposed"
    room.clicks("BOB", "approve")
    assert room.view().state == "approved", room.whispers("BOB")
    (yes,) = (event for event in lite.events(plan_id) if event.verb == "approve")
    assert "PSCHED" in str(yes.data)

    now_on_call.clear()
    now_on_call.add("EVE")
    permit(room.bot)

    why = room.view().steps[0].withheld
    assert (why == "") is runs, why
    assert runs or "an approval no longer holds" in why


def test_a_question_calls_the_people_and_falls_back_when_nobody_can_say(lite):
    room = Room(lite)

    def broken() -> frozenset[str]:
        raise Unidentified("no")

    found = config("http://127.0.0.1:1")
    for on_duty, called in ((lambda: frozenset({"BOB", "EVE"}), "BOB EVE"), (broken, "S0OPS")):
        bot = replace(room.bot, config=found, people=people(found, on_duty))
        assert on_call_now(bot) == called


def test_a_schedule_is_said_in_words_and_mentions_nobody():
    assert mention("oncall:primary") == "whoever is on call (primary)"


@pytest.mark.parametrize(
    "given", [{"people": {"approvers": ["oncall:nope"]}}, {"policy": {"on_call": "oncall:nope"}}]
)
def test_a_schedule_that_is_not_there_is_a_problem_of_the_file(given):
    with pytest.raises(ValueError, match="oncall:nope"):
        SignoffConfig.model_validate(given)
