"""What a person can do in the workspace, and how the app's answer shows."""

import uuid
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from bot.local.api.parts import Parts
from bot.local.api.response_urls import ResponseUrls
from bot.local.delivery import payloads
from bot.local.delivery.courier import Courier
from bot.local.people import inputs as fields
from bot.local.people.escaping import encode
from bot.local.schema import limits
from bot.local.shapes import SLACKBOT, Channel, Delivery, Json, Member, Refused, Shortcut

Act = Callable[..., Coroutine[Any, Any, Delivery]]


class Acts:
    """Say, click, submit, close, use a shortcut: each as one member."""

    def __init__(
        self,
        parts: Parts,
        courier: Courier,
        hooks: ResponseUrls,
        *,
        commands: tuple[str, ...],
        shortcuts: tuple[Shortcut, ...],
    ) -> None:
        self._workspace = parts.workspace
        self._views = parts.views
        self._triggers = parts.triggers
        self._scopes = parts.scopes
        self._courier = courier
        self._hooks = hooks
        self._commands = commands
        self._shortcuts = {shortcut.callback_id for shortcut in shortcuts}
        self.by_name: dict[str, Act] = {
            "say": self.say,
            "click": self.click,
            "suggest": self.suggest,
            "submit": self.submit,
            "close": self.close,
            "shortcut": self.shortcut,
            "home": self.home,
        }

    async def say(self, *, user: str, text: str, channel: str = "", thread_ts: str = "") -> Delivery:
        """A slash command, a mention of the app, or a plain message."""
        member = self._workspace.member(user)
        room = self._room(channel, member)
        if text.startswith("/"):
            return await self._command(member, room, text, thread_ts)
        if room.is_archived:
            raise Refused("is_archived", f"#{room.name} is archived")
        message = self._workspace.post(
            room,
            member,
            thread_ts=thread_ts,
            text=self._encoded(text, named=False),
            client_msg_id=str(uuid.uuid4()),
        )
        if room.has_bot:
            self._tell(room, message)
        return Delivery(acked=True, payload={"ts": message["ts"]})

    def _tell(self, room: Channel, message: Json) -> None:
        """Slack tells of a mention and of the message; in direct messages there is no mention."""
        if f"<@{self._workspace.bot.id}>" in message["text"] and not room.user:
            self._send_event(payloads.mentioned(message, room), room)
        self._send_event(payloads.said(message, room), room)

    def _send_event(self, inner: Json, room: Channel | None = None) -> None:
        if not self._scopes.hear(inner):
            return
        shared = bool(room and room.is_ext_shared)
        self._courier.send_event(payloads.event(inner, self._workspace.bot, ext_shared=shared))

    async def home(self, *, user: str, tab: str = "home") -> Delivery:
        """Open the app's page."""
        if tab not in ("home", "messages"):
            raise Refused("invalid_arguments", "the app's page has the tabs home and messages")
        member, ts = self._workspace.member(user), self._workspace.next_ts()
        self._send_event(payloads.home_opened(member, tab, self._views.homes.get(user), ts=ts))
        return Delivery(acked=True)

    async def _command(self, user: Member, channel: Channel, text: str, thread_ts: str) -> Delivery:
        command, _, rest = text.partition(" ")
        refusal = self._not_a_command(command, thread_ts)
        if refusal:
            self._workspace.whisper(channel, user, sender=SLACKBOT, text=refusal, thread_ts=thread_ts)
            return Delivery(acked=False, error="invalid_command")
        payload = payloads.slash(
            user,
            channel,
            command,
            self._encoded(rest.strip(), named=True),
            trigger=self._triggers.issue(user.id),
            hook=self._hooks.url(user, channel),
        )
        delivery = await self._courier.deliver("slash_commands", payload)
        if not delivery.acked:
            sign = f'{command} failed with the error "{delivery.error}"'
            self._workspace.whisper(channel, user, sender=SLACKBOT, text=sign)
        if delivery.payload:
            self._hooks.show(user, channel, delivery.payload)
        return delivery

    def _not_a_command(self, command: str, thread_ts: str) -> str:
        if command not in self._commands:
            return f"{command} is not a valid command."
        return f"{command} is not supported in threads. Sorry!" if thread_ts else ""

    async def click(
        self,
        *,
        user: str,
        action_id: str = "",
        block_id: str | None = None,
        message_ts: str = "",
        channel: str = "",
        view_id: str = "",
        value: Any = None,
        values: Json | None = None,
        confirm: bool = False,
        element: Json | None = None,
    ) -> Delivery:
        """Use an element of a message or view; `element` is one the person saw before it was redrawn."""
        member = self._workspace.member(user)
        surface = self._views.find(view_id) if view_id else self._seen(member, channel, message_ts)
        place, used = (block_id or "", element) if element else _find(surface, action_id, block_id)
        if used.get("confirm") and not confirm:
            raise Refused("confirm_needed", f"{used['action_id']} asks for confirmation first")
        typed = dict(values or {})
        if used["type"] not in fields.STATELESS:
            typed[place] = {**typed.get(place, {}), used["action_id"]: value}
        state = fields.state_values(surface.get("blocks", []), typed)
        holds = {} if used["type"] == "button" else fields.expand(used, value)
        action = payloads.action(used, place, value=holds, ts=self._workspace.next_ts())
        return await self._courier.deliver("interactive", self._clicked(member, surface, action, state))

    async def suggest(
        self, *, user: str, action_id: str, typed: str = "", block_id: str | None = None,
        message_ts: str = "", channel: str = "", view_id: str = "",
    ) -> Delivery:  # fmt: skip
        """Type into a select whose options the app knows; `payload["options"]` is what it offers."""
        member = self._workspace.member(user)
        surface = self._views.find(view_id) if view_id else self._seen(member, channel, message_ts)
        place, used = _find(surface, action_id, block_id)
        if used["type"] != "external_select" or len(typed) < used.get("min_query_length", 3):
            raise Refused("no_suggestions", f"{action_id} asks the app for nothing yet")
        payload = payloads.suggestion(member, surface, used, place, typed, self._place(surface))
        delivery = await self._courier.deliver("interactive", payload)
        if not delivery.acked:
            return delivery
        try:
            return replace(delivery, payload={"options": limits.check_suggestions(delivery.payload)})
        except Refused as refused:
            return Delivery(acked=True, ms=delivery.ms, error=refused.code, payload={"options": []})

    def _place(self, surface: Json) -> Json:
        if "hash" in surface:
            return {"container": {"type": "view", "view_id": surface["id"]}}
        room = self._workspace.channel(surface["channel"])
        container = {"type": "message", "message_ts": surface["ts"], "channel_id": room.id}
        return {"container": container, "channel": {"id": room.id, "name": room.name}}

    def _clicked(self, user: Member, surface: Json, action: Json, state: Json) -> Json:
        if "hash" in surface:
            trigger = self._triggers.issue(user.id)
            return payloads.view_click(user, surface, action, state, trigger=trigger)
        channel, trigger = self._workspace.channel(surface["channel"]), self._triggers.issue(user.id)
        hook = self._hooks.url(user, channel, surface)
        return payloads.message_click(user, channel, surface, action, state, trigger=trigger, hook=hook)

    async def submit(self, *, user: str, view_id: str, values: Json | None = None) -> Delivery:
        """Send a modal; what the app acks decides what becomes of it."""
        member, view = self._workspace.member(user), self._views.find(view_id)
        unknown = set(values or {}) - {block["block_id"] for block in view["blocks"]}
        if unknown:
            raise Refused("unknown_block", f"the view has no block {', '.join(sorted(unknown))}")
        state = fields.state_values(view["blocks"], values or {})
        mistakes = fields.mistakes(view["blocks"], state)
        if mistakes:
            return Delivery(acked=False, error="incomplete", errors=mistakes)
        payload = payloads.view_submission(member, view, state, trigger=self._triggers.issue(user))
        delivery = await self._courier.deliver("interactive", payload)
        return self._answered(member, view, delivery) if delivery.acked else delivery

    def _answered(self, user: Member, view: Json, delivery: Delivery) -> Delivery:
        answer = delivery.payload
        try:
            match answer.get("response_action"):
                case "errors":
                    return Delivery(acked=True, ms=delivery.ms, errors=_errors(view, answer), payload=answer)
                case "update":
                    limits.check_view(answer.get("view"))
                    self._views.update(view["id"], answer["view"])
                case "push":
                    limits.check_view(answer.get("view"))
                    self._views.push(user, answer["view"])
                case "clear":
                    self._views.close(self._views.stack(user))
                case _:
                    self._views.close(self._views.stack(user) if view["clear_on_close"] else [view])
        except Refused as refused:
            return Delivery(acked=True, ms=delivery.ms, error=refused.code, payload=answer)
        return delivery

    async def close(self, *, user: str, view_id: str, everything: bool = False) -> Delivery:
        """Leave a modal, or all that are stacked; the app hears of those that asked to be told."""
        member, view = self._workspace.member(user), self._views.find(view_id)
        cleared = everything or bool(view["clear_on_close"])
        shut = self._views.stack(member)[::-1] if cleared else [view]
        self._views.close(shut)
        told = [
            await self._courier.deliver("interactive", payloads.view_closed(member, one, cleared=cleared))
            for one in shut
            if one["notify_on_close"]
        ]
        return told[0] if told else Delivery(acked=True)

    async def shortcut(self, *, user: str, callback_id: str, message_ts: str, channel: str = "") -> Delivery:
        if callback_id not in self._shortcuts:
            raise Refused("unknown_shortcut")
        member = self._workspace.member(user)
        room = self._room(channel, member)
        message = self._workspace.message(room.id, message_ts)
        payload = payloads.message_action(
            member,
            room,
            message,
            callback_id,
            trigger=self._triggers.issue(user),
            hook=self._hooks.url(member, room, message),
            ts=self._workspace.next_ts(),
        )
        return await self._courier.deliver("interactive", payload)

    def _room(self, channel_id: str, user: Member) -> Channel:
        room = self._workspace.channel(channel_id or next(iter(self._workspace.channels)))
        if room.user not in ("", user.id):
            raise Refused("channel_not_found", "these are somebody else's direct messages")
        if room.is_private and not room.has(user.id):
            raise Refused("channel_not_found", f"{user.name} is not in #{room.name}")
        return room

    def _seen(self, user: Member, channel_id: str, ts: str) -> Json:
        whisper = self._workspace.ephemerals.get(ts)
        if whisper and whisper["to"] == user.id:
            return whisper
        return self._workspace.message(self._room(channel_id, user).id, ts)

    def _encoded(self, text: str, *, named: bool) -> str:
        return encode(text, self._workspace.members.values(), self._workspace.channels.values(), named=named)


def _find(surface: Json, action_id: str, block_id: str | None) -> tuple[str, Json]:
    """The element, and the id of the block it stands in."""
    found = fields.find(surface.get("blocks", []), action_id, block_id)
    if found is None:
        raise Refused("no_such_element", f"there is no {action_id} to click")
    return found[0]["block_id"], found[1]


def _errors(view: Json, answer: Json) -> dict[str, str]:
    """Slack drops the whole answer when it names a block that takes no input."""
    inputs = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    errors = answer.get("errors")
    if not isinstance(errors, dict) or not errors or not set(errors) <= inputs:
        raise Refused("invalid_response")
    return errors
