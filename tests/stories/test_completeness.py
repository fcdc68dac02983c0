"""One whole story, and the journal tells all of it: who, by which way, what they saw, what was checked."""

import json
from typing import Any

import pytest

from bot.cards.blocks import pack
from bot.context import Bot
from bot.inbox.forms import on_form
from bot.planner.model.usage import Usage
from bot.planner.runbooks.book import Planned
from bot.plans.permits import permit
from bot.slack.app import commit
from storage.audit.export import checkpoint, journal
from storage.audit.verify import check
from storage.config import SignoffConfig
from storage.database.tables import Event
from storage.steps.claims import report_hash
from tests.support.fakes import (
    NOW,
    Everybody,
    FakeClock,
    at_home,
    attempts,
    contract,
    ok,
    plan_spec,
    shown,
    step,
    take,
)
from tests.support.room import handle_all, think
from tests.support.samples.second_factor import filled
from tests.support.store import Store

CONFIG = SignoffConfig.model_validate({"people": {"approvers": ["BOB"], "admins": ["ROOT"]}})
SHOWING = contract("deploy", undo="restore", preview=True)


@pytest.fixture
def bot(lite: Store) -> Bot:
    def model(text: str, spend: Any, ground: Any) -> Planned:
        spend("claude-opus-5-5", Usage(input=10, output=20, written=0, read=0, usd=0.01))
        return Planned(plan_spec(step("s1", SHOWING)), "by a model")

    lite.publish([SHOWING])
    lite.adopt(CONFIG.version(), CONFIG.rules(), actor="bot")
    return Bot(lite, CONFIG, Everybody(), lambda trigger, view: None, ask_model=model)


def says(bot: Bot, user: str, text: str) -> None:
    body = {
        "command": "/plan",
        "user_id": user,
        "channel_id": "C1",
        "text": text,
        "trigger_id": f"{user}{text}",
    }
    commit(bot, at_home(body), lambda: None)
    handle_all(bot)


def clicks(bot: Bot, user: str, action: str) -> None:
    view = bot.store.recent(1)[0]
    value = {
        "action_id": action,
        "value": pack(view.id, view.revision, view.digest),
        "action_ts": f"{user}{action}",
    }
    body = {"type": "block_actions", "user": {"id": user}, "channel": {"id": "C1"}, "actions": [value]}
    shown(bot.store, view.id, "1.0")
    commit(bot, at_home(body | {"message": {"ts": "1.0"}, "trigger_id": "t"}), lambda: None)
    handle_all(bot)


def story(bot: Bot, clock: FakeClock) -> int:
    """Asked for, planned, refused, edited, approved, held up, stopped, resumed, run, done."""
    store = bot.store
    says(bot, "ANN", "deploy a")
    think(bot)
    plan_id = store.recent(1)[0].id
    (wanted,) = store.previews_wanted({("ops", "deploy")})
    store.show(wanted, "would move a to v2", "basis-1", actor="w1")
    clicks(bot, "EVE", "approve")
    later = {"when:s1": "in 5 minutes", "param:s1:service": "a"}
    form = {"callback_id": "edit", "private_metadata": json.dumps({"p": plan_id, "r": 1})}
    assert on_form(bot, "ANN", filled(form, **later)) == {}
    (wanted,) = store.previews_wanted({("ops", "deploy")})
    store.show(wanted, "would move a to v2", "", actor="w1")
    clicks(bot, "BOB", "approve")
    says(bot, "ROOT", "stop everything strange noises")
    says(bot, "ROOT", "resume everything")
    clock.advance(minutes=6)
    permit(bot)
    taken = take(store, plan_id, "s1")
    store.succeed(taken, ok(version="v2"), actor="w1")
    return plan_id


def found(events: list[Event], verb: str, actor: str, /, **data: Any) -> Event:
    """The first event that says this; data given as `...` must be there, whatever it is."""
    for event in events:
        told = all(name in event.data and value in (..., event.data[name]) for name, value in data.items())
        if (event.verb, event.actor) == (verb, actor) and told:
            return event
    raise AssertionError(f"no {verb} by {actor} with {data} in {[(e.verb, e.actor, e.data) for e in events]}")


def test_the_journal_tells_the_whole_story(bot, lite, clock, tmp_path):
    plan_id = story(bot, clock)
    mine, system = lite.events(plan_id), lite.events(0)
    policy, view = CONFIG.version(), lite.view(plan_id)

    found(mine, "request", "ANN", text="deploy a", channel="C1", via="command")
    found(mine, "book", "claude-opus-5-5", usd=0.01, input=10, output=20)
    found(mine, "propose", "planner", digest=..., risk="high", needed=1, policy=policy)
    found(mine, "preview", "w1", step="s1", revision=1, basis="basis-1", text="would move a to v2")
    found(mine, "refuse", "EVE", verb="approve", reason=..., via="click")
    found(mine, "amend", "ANN", digest=view.digest, changes=..., revision=2, policy=policy, via="form")
    found(
        mine,
        "approve",
        "BOB",
        revision=2,
        digest=view.digest,
        shown=...,
        policy=policy,
        via="click",
    )
    found(mine, "permit", "bot", step="s1", policy=policy, approvers=["BOB"])
    found(mine, "claim", "w1", step="s1", attempt=1, digest=view.steps[0].spec.digest(), target="service:a")
    (attempt,) = attempts(lite)
    found(mine, "succeed", "w1", step="s1", attempt=1, summary=..., report=report_hash(attempt.report or {}))
    found(mine, "finish", "rules")
    found(system, "policy", "bot", version=policy, rules=CONFIG.rules())
    found(system, "stop", "ROOT", scope="everything", reason="strange noises", via="command")
    found(system, "resume", "ROOT", scope="everything", via="command")
    anchored = checkpoint(lite.engine, tmp_path / "anchor", NOW)
    assert check(journal(lite.engine), anchored.heads).problems == []


def test_what_was_shown_is_part_of_the_approval(bot, lite, clock):
    story(bot, clock)
    first = found(lite.events(lite.recent(1)[0].id), "approve", "BOB")

    assert first.data["shown"]
