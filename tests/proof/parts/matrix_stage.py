"""Plays the matrix of `matrix.py`: everybody, by every way in, in every state, by the bot's handlers."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from sqlalchemy import text
from sqlmodel import col

from bot.cards.blocks import pack
from bot.context import Bot
from bot.inbox.forms import on_form
from bot.people import People
from bot.planner.model.wire import Declined
from bot.planner.validate import Catalogue
from bot.policy.authorize import terms
from bot.slack.app import commit
from bot.slack.http_mode import parsed
from storage.database.tables import Message
from tests.proof.parts.matrix import AUTHORS, CONFIG, FACTS, GROUPS, HOME, KINDS, STATES, UNANSWERED, expected
from tests.support.fakes import (
    CONTRACTS,
    DEPLOY,
    HERE,
    at_home,
    bad,
    ok,
    permitted,
    plan_spec,
    shown,
    step,
    step_row,
    take,
)
from tests.support.room import handle_all
from tests.support.store import Store

HELD = "plan 999"  # stopped all the time, so that there is something to resume

CORE = """
SELECT state, revision, cancelled_by, (SELECT max(id) FROM plan), (SELECT count(*) FROM override),
  (SELECT group_concat(scope) FROM stop),
  (SELECT group_concat(user) FROM approval WHERE plan_id = plan.id),
  (SELECT group_concat(state) FROM step WHERE plan_id = plan.id)
FROM plan WHERE id = :plan
"""


class Slack(WebClient):
    """Knows the people above."""

    def users_info(self, *, user: str, **_: Any) -> Any:
        if user in UNANSWERED:
            raise SlackApiError("no", SimpleNamespace(data={"error": "internal_error"}))
        return {"user": HOME | {"id": user} | FACTS.get(user, {})}

    def usergroups_users_list(self, *, usergroup: str, **_: Any) -> Any:
        return {"users": GROUPS[usergroup]}

    def conversations_info(self, **_: Any) -> Any:
        return {"channel": {"is_ext_shared": False, "is_private": False}}


@dataclass
class Stage:
    """One store, one bot; plans are made in any state."""

    store: Store
    opened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slack = Slack(token="xoxb-x")
        people = People(self.slack, HERE, groups=CONFIG.groups())
        self.bot = Bot(
            self.store,
            CONFIG,
            people,
            lambda trigger, view: self.opened.append(view["callback_id"]),
            ask_model=lambda *_: Declined("nobody asks it here"),  # so that any wish is one
        )
        self.numbers = count(1)
        self.store.publish(CONTRACTS.values())
        self.store.stop(HELD, reason="always", user="UADA")

    def plan(self, state: str) -> int:
        """A plan of UANN's in this state, approved by UCAROL where it can be."""
        plan_id = self.store.request("deploy a", team="T1", user="UANN", channel="C1")
        shown(self.store, plan_id, card_of(plan_id))
        if state != "planning":
            self._proposed(plan_id)
        if state in {"approved", "running", "unknown", "stalled", "done"}:
            for user in ("UBOB", "UPAT", "UABE"):
                self._approves(plan_id, user)
        self._moves(plan_id, state)
        assert state in {self.store.view(plan_id).state, "running", "unknown"}
        return plan_id

    def _proposed(self, plan_id: int) -> None:
        spec = plan_spec(step("s1", DEPLOY))
        found = terms(
            spec, Catalogue(self.store.contracts()), CONFIG, authors=AUTHORS, now=self.store.clock()
        )
        approvers = (*found.approvers, "UOLD")
        self.store.propose(
            plan_id, spec, found.__class__(**vars(found) | {"approvers": approvers}), author="planner"
        )
        self._approves(plan_id, "UCAROL")

    def _approves(self, plan_id: int, user: str) -> None:
        view = self.store.view(plan_id)
        self.store.approve(plan_id, view.revision, view.digest, team="T1", user=user, policy="p")
        permitted(self.store, plan_id)

    def _moves(self, plan_id: int, state: str) -> None:
        store, claim = self.store, None
        if state in {"running", "unknown", "stalled", "done"}:
            claim = take(store, plan_id, "s1")
        if state == "unknown":
            store.lose(step_row(store, plan_id, "s1"), actor="w2", probe=False)
        elif state == "stalled" and claim:
            store.fail(claim, bad(), actor="w1")
        elif state == "done" and claim:
            store.succeed(claim, ok(), actor="w1")
        elif state == "rejected":
            store.reject(plan_id, 1, user="UBOB", reason="no")
        elif state == "expired":
            store.clock.advance(days=2)  # type: ignore[attr-defined] # a test's clock
            store.expire()
        elif state == "cancelled":
            store.cancel(plan_id, user="UANN", reason="no")

    def core(self, plan_id: int) -> tuple[Any, ...]:
        """Everything that a decision could change."""
        with self.store.read() as t:
            return tuple(t.execute(text(CORE), {"plan": plan_id}).one())

    def drawn(self, user: str) -> int:
        """How often this person's home tab was to be drawn."""
        with self.store.read() as t:
            return sum(row.wanted for row in t.rows(Message, col(Message.key) == f"home:{user}"))

    def release(self, plan_id: int) -> None:
        """Nothing of this plan keeps a target from the next one."""
        with self.store.write() as t:
            t.connection.exec_driver_sql("DELETE FROM target")
        for stop in self.store.stops():
            if stop.scope != HELD:
                self.store.resume(stop.scope, user="UADA")
        if HELD not in [stop.scope for stop in self.store.stops()]:
            self.store.stop(HELD, reason="always", user="UADA")

    # the ways in

    def delivers(self, body: dict[str, Any]) -> None:
        commit(self.bot, at_home(body), lambda: None)
        self.handled()

    def handled(self) -> None:
        handle_all(self.bot)
        if self.store.unhandled():  # Slack does not say who it is: after half a minute, that is a no
            self.store.clock.advance(31)  # type: ignore[attr-defined] # a test's clock
            handle_all(self.bot)

    def clicks(self, user: str, plan_id: int, action: str, *, home: str = "") -> dict[str, Any]:
        view = self.store.view(plan_id)
        value = home or pack(view.id, view.revision, view.digest, "s1")
        pressed = {"action_id": action, "value": value, "action_ts": f"3.{next(self.numbers)}"}
        where: dict[str, Any] = {"channel": {"id": "C1"}, "message": {"ts": card_of(plan_id)}}
        if home:
            where = {"view": {"id": "V1", "type": "home", "private_metadata": f"D{user[1:]}"}}
        return {
            "type": "block_actions",
            "user": {"id": user},
            "trigger_id": "t",
            "actions": [pressed],
        } | where

    def says(self, user: str, text: str, kind: str, channel: str, **more: str) -> dict[str, Any]:
        said = {
            "type": kind,
            "user": user,
            "text": text,
            "channel": channel,
            "ts": f"2.{next(self.numbers):06}",
        }
        return {"type": "event_callback", "event": said | more, "authorizations": [{"user_id": "UUS"}]}

    def command(self, user: str, text: str) -> dict[str, Any]:
        given = {"command": "/plan", "user_id": user, "channel_id": "C1", "text": text}
        return given | {"trigger_id": f"4.{next(self.numbers)}"}

    def fills(self, user: str, plan_id: int, name: str, **typed: str) -> dict[str, str]:
        view = self.store.view(plan_id)
        meta = {"p": plan_id, "r": view.revision, "d": view.digest[:16], "s": "s1", "c": "C1"}
        state = {
            block: {"value": {"type": "plain_text_input", "value": text}} for block, text in typed.items()
        }
        form = {"callback_id": name, "private_metadata": json.dumps(meta), "id": f"V{next(self.numbers)}"}
        errors = on_form(self.bot, user, form | {"state": {"values": state}})
        self.handled()
        return errors

    def posts(self, body: dict[str, Any]) -> None:
        """HTTP mode: the same, as it is once its signature was found to hold."""
        body = at_home(body)
        raw = urlencode(body if "command" in body else {"payload": json.dumps(body)})
        commit(self.bot, parsed(raw.encode(), "application/x-www-form-urlencoded"), lambda: None)
        self.handled()


def card_of(plan_id: int) -> str:
    """The message in which a plan's card stands."""
    return f"100.{plan_id:06}"


Play = Callable[[Stage, str, int], dict[str, str] | None]


@dataclass(frozen=True)
class Act:
    """One way to do one thing. `counts`: it is an approval itself, which nobody gives twice."""

    way: str
    name: str
    verb: str
    play: Play
    counts: bool = False
    quiet: bool = False  # it only says something; nothing changes, and no form opens


def _click(action: str) -> Play:
    return lambda stage, user, plan: stage.delivers(stage.clicks(user, plan, action))


def _home(action: str, value: str = "") -> Play:
    return lambda stage, user, plan: stage.delivers(stage.clicks(user, plan, action, home=value or str(plan)))


def _slash(text: str) -> Play:
    return lambda stage, user, plan: stage.delivers(stage.command(user, text.format(plan)))


def _form(name: str, **typed: str) -> Play:
    return lambda stage, user, plan: stage.fills(user, plan, name, **typed)


def _thread(text: str) -> Play:
    def play(stage: Stage, user: str, plan: int) -> None:
        place = {"thread_ts": card_of(plan), "channel_type": "channel"}
        stage.delivers(stage.says(user, text, "message", "C1", **place))

    return play


def _letter(stage: Stage, user: str, plan: int) -> None:
    stage.delivers(stage.says(user, "deploy b", "message", f"D{user[1:]}", channel_type="im"))


def _mention(text: str) -> Play:
    def play(stage: Stage, user: str, plan: int) -> None:
        stage.delivers(stage.says(user, f"<@UUS> {text.format(plan)}", "app_mention", "C1"))

    return play


def _shortcut(stage: Stage, user: str, plan: int) -> None:
    stage.delivers({
        "type": "message_action", "callback_id": "plan_this", "user": {"id": user}, "channel": {"id": "C1"},
        "message": {"text": "deploy b", "ts": "9.1"}, "action_ts": f"5.{next(stage.numbers)}",
    })  # fmt: skip


def _opens(stage: Stage, user: str, plan: int) -> None:
    stage.delivers(
        stage.says(
            user, "", "app_home_opened", f"D{user[1:]}", tab="home", event_ts=f"6.{next(stage.numbers)}"
        )
    )


ACTS = (
    Act("button", "approve", "approve", _click("approve"), counts=True),
    Act("button", "edit", "amend", _click("edit")),
    Act("button", "reject", "reject", _click("reject")),
    Act("button", "retry", "answer", _click("answer_retry")),
    Act("button", "abort", "answer", _click("answer_abort")),
    Act("button", "take over", "take_over", _click("answer_take_over")),
    Act("button", "it ran", "resolve", _click("resolve_ran")),
    Act("button", "plan again", "request", _click("plan_again")),
    Act("modal", "edit", "amend", _form("edit", **{"when:s1": "in 2 hours"})),
    Act("modal", "reject", "reject", _form("reject", reason="no")),
    Act("modal", "take over", "take_over", _form("take_over", text="by hand")),
    Act("modal", "review: approve", "approve", _form("review", choice="approve", text=""), counts=True),
    Act("modal", "review: reject", "reject", _form("review", choice="reject", text="no")),
    Act("modal", "wish", "request", _form("wish", text="deploy b")),
    Act("modal", "stop", "stop", _form("halt", text="smoke")),
    Act("thread", "change it", "amend", _thread("good, but step 1 at 2am EST")),
    Act("thread", "lgtm", "amend", _thread("lgtm"), quiet=True),
    Act("mention", "wish", "request", _mention("deploy b")),
    Act("mention", "cancel", "cancel", _mention("cancel {} no")),
    Act("mention", "stop", "stop", _mention("stop everything smoke")),
    Act("direct message", "wish", "request", _letter),
    Act("shortcut", "wish", "request", _shortcut),
    Act("home", "open", "look", _opens, quiet=True),
    Act("home", "plan", "request", _home("home_plan")),
    Act("home", "review", "approve", _home("home_review")),
    Act("home", "stop", "stop", _home("home_stop")),
    Act("home", "resume", "resume", _home("home_resume", HELD)),
    Act("slash", "wish", "request", _slash("deploy b")),
    Act("slash", "list", "look", _slash("list"), quiet=True),
    Act("slash", "show", "look", _slash("show {}"), quiet=True),
    Act("slash", "cancel", "cancel", _slash("cancel {} no")),
    Act("slash", "stop", "stop", _slash("stop smoke")),
    Act("slash", "resume", "resume", _slash(f"resume {HELD}")),
    Act("slash", "break-glass", "break_glass", _slash("break-glass {} fire")),
    Act("slash", "reviewed", "review", _slash("reviewed {} fine")),
    Act("http", "approve", "approve", lambda s, u, p: s.posts(s.clicks(u, p, "approve")), counts=True),
    Act("http", "reject", "reject", lambda s, u, p: s.posts(s.clicks(u, p, "reject"))),
    Act("http", "cancel", "cancel", lambda s, u, p: s.posts(s.command(u, f"cancel {p} no"))),
)


def found(stage: Stage, kind: str, act: Act, plan_id: int) -> str:
    """What became of it, by what can be seen."""
    store, before = stage.store, stage.core(plan_id)
    heads, forms, drawn = (store.head(0)[0], store.head(plan_id)[0]), len(stage.opened), stage.drawn(kind)
    with store.read() as t:
        last = max((row.id or 0 for row in t.rows(Message, order=col(Message.id).desc(), limit=1)), default=0)
    errors = act.play(stage, kind, plan_id) or {}
    with store.read() as t:
        said = t.rows(Message, col(Message.id) > last)
    noted = [store.event(id_, n) for id_, head in zip((0, plan_id), heads, strict=True)
             for n in range(head + 1, store.head(id_)[0] + 1)]  # fmt: skip
    refusals = [event for event in noted if event and event.verb == "refuse" and "stale" not in event.data]
    stale = [event for event in noted if event and event.data.get("stale")]
    changed = stage.core(plan_id) != before or len(stage.opened) > forms
    told = [message for message in said if message.kind == "whisper"]
    alone = all(message.user == kind for message in told)
    if refusals:
        right = all(event.actor == kind for event in refusals) and not changed and alone
        others = [message for message in said if message.kind != "whisper"]
        return "refused" if right and not others and (len(told) == 1 or errors) else "wrongly refused"
    if changed:
        return "done"
    answered = told or errors or (act.name == "open" and stage.drawn(kind) > drawn)
    if act.way in {"button", "modal"} and answered and [event.actor for event in stale] != [kind]:
        return "late, and not on record"
    return ("late" if alone else "told to others") if answered else "unread"


def trials(stage: Stage, every: int = 1, start: int = 0) -> Iterator[tuple[str, str, str]]:
    """Each (case, expected, found); of all cases every n-th."""
    number = count()
    for state in STATES:
        for kind in KINDS:
            plan_id = 0
            for act in ACTS:
                if next(number) % every != start:
                    continue
                plan_id = plan_id or stage.plan(state)
                outcome = found(stage, kind, act, plan_id)
                if (
                    outcome not in {"refused", "unread", "late"}
                    or stage.store.view(plan_id).state == "planning"
                ):
                    stage.release(plan_id)
                    plan_id = 0
                yield f"{kind}, {act.way}: {act.name}, {state}", expected(kind, act, state), outcome
            stage.release(plan_id)
