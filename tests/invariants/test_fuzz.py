"""Whatever comes in from outside, malformed in any way: nothing falls over, and nothing moves."""

import copy
import json
import logging
import os
import tomllib
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from sqlalchemy import select
from sqlmodel import SQLModel

from bot.context import Bot
from bot.inbox.forms import on_form
from bot.people import People
from bot.planner.model import prompt
from bot.planner.model.wire import Asked, Declined, understood
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import Planned
from bot.planner.validate import Catalogue
from bot.policy.authorize import Actor
from bot.slack.app import commit
from storage.audit.verify import check, read_checkpoint
from storage.config import SignoffConfig, read_config
from storage.contract.report import AnyReport
from storage.errors import BadConfig, SignoffError
from storage.secrets.redaction import Redactor, secret_in
from tests.support.fakes import HERE, NOW, demo_config, propose, real_contracts, take, verbs
from tests.support.fakes import approved as approved_plan
from tests.support.places import ROOT
from tests.support.room import handle_all
from tests.support.scratch import CLAIM
from tests.support.store import Store
from workers.engine.attempt import judge

pytestmark = pytest.mark.hostile
MANY = int(os.environ.get("FUZZ", "1"))  # `make proof` takes more, and other cases each time
bounded = settings(
    max_examples=150 * MANY, derandomize=MANY == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
MEANINGS = (Planned, Asked, Declined)
BOOKS = runbooks.read([runbooks.SHIPPED])
EXAMPLE = (ROOT / "signoff.example.toml").read_text(encoding="utf-8")
GOOD = json.loads(next(iter(dict(prompt.examples()).values())))
CLICK = {
    "type": "block_actions", "user": {"id": "UEVE"}, "channel": {"id": "C1"}, "trigger_id": "t1",
    "message": {"ts": "1.1", "thread_ts": "1.0"}, "team": {"id": "T1"}, "api_app_id": "A1",
    "container": {"type": "message", "channel_id": "C1", "message_ts": "1.1"},
    "actions": [{"action_id": "approve", "value": '{"p": 1, "r": 1, "d": "abc"}', "action_ts": "2.0"}],
}  # fmt: skip
COMMAND = {
    "command": "/plan", "user_id": "UEVE", "channel_id": "C1", "text": "deploy a", "trigger_id": "t2",
    "team_id": "T1", "api_app_id": "A1",
}  # fmt: skip
MENTION = {
    "type": "event_callback", "api_app_id": "A1", "authorizations": [{"team_id": "T1", "user_id": "B"}],
    "event": {"type": "app_mention", "user": "UEVE", "channel": "C1", "text": "<@B> cancel 1", "ts": "3.0"},
}  # fmt: skip

odd = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=40), st.just([]), st.just({}),
    st.sampled_from(["approve", "0", "-1", "\x00", "\u202e", "\ud800", "9" * 400, "../..", "<!channel>"]),
)  # fmt: skip
whole = st.recursive(
    odd, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


class Strangers(People):
    """Everybody is somebody who may do nothing."""

    def __init__(self) -> None:
        self.home = HERE

    def actor(self, user: str, *, fresh: bool = False) -> Actor:
        return Actor("T9", user, "Only members of this workspace may ask for or decide plans.")


@st.composite
def spoilt(draw: st.DrawFn, good: Any, other: st.SearchStrategy[Any] = whole) -> Any:
    """A good document in which one to three places hold something else, or nothing."""
    document = copy.deepcopy(good)
    for _ in range(draw(st.integers(1, 3))):
        place = document
        while isinstance(place, dict | list) and place:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys))
            if not isinstance(place[key], dict | list) or draw(st.booleans()):
                _spoil(draw, place, key, other)
                break
            place = place[key]
    return document


def _spoil(draw: st.DrawFn, place: Any, key: Any, other: st.SearchStrategy[Any]) -> None:
    if draw(st.booleans()):
        place[key] = draw(other)
    else:
        del place[key]


# What a delivery leaves in the database in any case: itself, its answer, and refusals on record.
TRACES = {"delivery", "message", "event", "system"}
COUNTS = {"version", "head", "events"}  # of a plan, which a refusal on record moves


def facts(store: Store) -> list[Any]:
    """Every row that means something, as the database has it."""
    found = []
    with store.engine.connect() as connection:
        for table in SQLModel.metadata.sorted_tables:
            columns = [column for column in table.columns if column.name not in COUNTS]
            if table.name not in TRACES:
                found += [(table.name, *map(str, row)) for row in connection.execute(select(*columns))]
    return sorted(found)


@settings(bounded, max_examples=80 * MANY)
@given(body=st.one_of(*(spoilt(good) for good in (CLICK, COMMAND, MENTION))))
def test_no_payload_moves_a_plan_or_breaks_the_handling(lite, caplog, body):
    if not lite.open_plans():
        propose(lite)
    bot = Bot(lite, demo_config(), Strangers(), lambda trigger, view: None, BOOKS)
    before, kept = facts(lite), len(lite.unhandled())
    caplog.clear()
    try:
        commit(bot, body, lambda: None)
    except Exception:  # noqa: BLE001 # Bolt answers it with a 500; what counts is that nothing was kept
        assert len(lite.unhandled()) == kept
    handle_all(bot)

    assert facts(lite) == before
    assert lite.unhandled() == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


FORM = {
    "id": "V1", "callback_id": "edit", "private_metadata": '{"p": 1, "r": 1, "d": "abc", "c": "C1"}',
    "state": {"values": {"when:s1": {"value": {"value": "now"}}, "code": {"value": {"value": "123456"}},
                         "reason": {"value": {"value": "no"}}, "text": {"value": {"value": "x"}}}},
}  # fmt: skip


@settings(bounded, max_examples=80 * MANY)
@given(
    name=st.sampled_from(
        ["edit", "reject", "code", "glass", "review", "wish", "halt", "take_over", "clarify", "?"]
    ),
    form=spoilt(FORM),
)
def test_no_form_moves_a_plan(lite, name, form):
    if not lite.open_plans():
        propose(lite)
    bot = Bot(lite, demo_config(), Strangers(), lambda trigger, view: None, BOOKS)
    before = facts(lite)
    with suppress(Exception):  # Bolt answers it with a 500; what counts is that nothing moved
        on_form(bot, "UEVE", form | {"callback_id": name} if "callback_id" in form else form)
    handle_all(bot)

    assert facts(lite) == before
    assert lite.unhandled() == []


@bounded
@given(
    said=st.one_of(st.text(max_size=200), whole.map(repr), spoilt(GOOD).map(lambda value: json.dumps(value)))
)
def test_no_answer_of_a_model_is_more_than_a_draft_or_a_sentence(said):
    with suppress(SignoffError):
        assert isinstance(understood(said, Catalogue(real_contracts()), demo_config(), NOW), MEANINGS)


@bounded
@given(
    given=st.one_of(
        whole, spoilt({"status": "succeeded", "summary": "ok", "data": {"failed": 0}, "error": None})
    )
)
def test_no_report_is_worth_more_than_it_says(given):
    try:
        report = AnyReport.model_validate(given)
    except ValidationError:
        return
    ending = judge(CLAIM, report)

    assert ending.verb in {"succeed", "fail", "retry"}
    assert (ending.verb == "succeed") == (ending.report.status == "succeeded")


@settings(bounded, max_examples=30 * MANY)
@given(summary=st.text(max_size=80), data=st.dictionaries(st.text(max_size=9), whole, max_size=3))
def test_whatever_a_worker_reports_ends_on_record(lite, summary, data):
    plan_id = approved_plan(lite)
    lite.succeed(take(lite, plan_id, "s1"), AnyReport.ok(summary, data), actor="w1")

    assert "succeed" in verbs(lite, plan_id)
    lite.cancel(plan_id, user="ANN", reason="next") if lite.view(plan_id).state == "approved" else None


@bounded
@given(raw=st.one_of(whole, spoilt(tomllib.loads(EXAMPLE))))
def test_no_configuration_breaks_the_reading(raw):
    if isinstance(raw, dict):
        assert isinstance(secret_in(raw), list)
    with suppress(ValidationError):
        assert SignoffConfig.model_validate(raw).version()


@bounded
@given(
    cut=st.integers(0, len(EXAMPLE)),
    length=st.integers(0, 200),
    put=st.text(max_size=20) | st.sampled_from(["[[", "\x00", "'''"]),
)
def test_no_configuration_file_breaks_the_start(tmp_path, cut, length, put):
    path = tmp_path / "signoff.toml"
    path.write_bytes((EXAMPLE[:cut] + put + EXAMPLE[cut + length :]).encode(errors="replace"))
    with suppress(BadConfig):
        assert read_config(path).version()


@bounded
@given(value=whole, text=st.text(), cuts=st.lists(st.integers(0, 60), max_size=5))
def test_the_redactor_takes_whatever_comes(value, text, cuts):
    redactor = Redactor(["s3cr3t-value"])
    stream = redactor.stream()
    at = [0, *sorted(cuts), len(text)]
    shown = "".join([*(stream.feed(text[begin:end]) for begin, end in pairwise(at)), stream.close()])
    redactor.data(value)

    assert shown == redactor.text(text)


@bounded
@given(lines=st.lists(st.binary(max_size=80)), heads=whole)
def test_the_verifier_takes_whatever_comes(lines, heads):
    assert len(check(lines, {}).problems) == len(lines)
    with suppress(ValueError, KeyError, TypeError):
        assert read_checkpoint([json.dumps({"at": "", "root": "", "heads": heads})]).root == ""
