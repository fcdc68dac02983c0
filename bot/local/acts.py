"""What a person can do in the workspace, and how the app's answer shows."""

import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from bot.local import fields, limits, payloads
from bot.local.hooks import Hooks
from bot.local.shapes import SLACKBOT, Channel, Delivery, Json, Member, Refused, Shortcut
from bot.local.socketmode import SocketMode
from bot.local.triggers import Triggers
from bot.local.workspace import Workspace
from bot.local.writing import encode

Act = Callable[..., Coroutine[Any, Any, Delivery]]


class Acts:
    """Say, click, submit, close, use a shortcut: each as one member."""

    def __init__(
        self,
        workspace: Workspace,
        socket: SocketMode,
        triggers: Triggers,
        hooks: Hooks,
        *,
        commands: tuple[str, ...],
        shortcuts: tuple[Shortcut, ...],
    ) -> None:
        self._workspace = workspace
        self._socket = socket
        self._triggers = triggers
        self._hooks = hooks
        self._commands = commands
        self._shortcuts = {shortcut.callback_id for shortcut in shortcuts}
        self.by_name: dict[str, Act] = {
            "say": self.say,
            "click": self.click,
            "submit": self.submit,
            "close": self.close,
            "shortcut": self.shortcut,
        }

    async def say(self, *, user: str, text: str, channel: str = "", thread_ts: str = "") -> Delivery:
        """A slash command, a mention of the app, or a plain message."""
        member, room = self._workspace.member(user), self._room(channel)
        if text.startswith("/"):
            return await self._command(member, room, text, thread_ts)
        message = self._workspace.post(
            room,
            member,
            thread_ts=thread_ts,
            text=self._encoded(text, named=False),
            client_msg_id=str(uuid.uuid4()),
        )
        bot = self._workspace.bot
        if f"<@{bot.id}>" in message["text"]:
            self._socket.send_event(payloads.event(payloads.mentioned(message), bot))
        self._socket.send_event(payloads.event(payloads.said(message), bot))
        return Delivery(acked=True, payload={"ts": message["ts"]})

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
        delivery = await self._socket.deliver("slash_commands", payload)
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
        surface = self._workspace.view(view_id) if view_id else self._seen(member, channel, message_ts)
        place, used = (block_id or "", element) if element else _find(surface, action_id, block_id)
        if used.get("confirm") and not confirm:
            raise Refused("confirm_needed", f"{used['action_id']} asks for confirmation first")
        typed = dict(values or {})
        if used["type"] != "button":
            typed[place] = {**typed.get(place, {}), used["action_id"]: value}
        state = fields.state_values(surface.get("blocks", []), typed)
        holds = {} if used["type"] == "button" else fields.expand(used, value)
        action = payloads.action(used, place, value=holds, ts=self._workspace.next_ts())
        return await self._socket.deliver("interactive", self._clicked(member, surface, action, state))

    def _clicked(self, user: Member, surface: Json, action: Json, state: Json) -> Json:
        trigger = self._triggers.issue(user.id)
        if "hash" in surface:
            return payloads.view_click(user, surface, action, state, trigger=trigger)
        channel = self._workspace.channel(surface["channel"])
        hook = self._hooks.url(user, channel, surface)
        return payloads.message_click(user, channel, surface, action, state, trigger=trigger, hook=hook)

    async def submit(self, *, user: str, view_id: str, values: Json | None = None) -> Delivery:
        """Send a modal; what the app acks decides what becomes of it."""
        member, view = self._workspace.member(user), self._workspace.view(view_id)
        unknown = set(values or {}) - {block["block_id"] for block in view["blocks"]}
        if unknown:
            raise Refused("unknown_block", f"the view has no block {', '.join(sorted(unknown))}")
        state = fields.state_values(view["blocks"], values or {})
        mistakes = fields.mistakes(view["blocks"], state)
        if mistakes:
            return Delivery(acked=False, error="incomplete", errors=mistakes)
        payload = payloads.view_submission(member, view, state, trigger=self._triggers.issue(user))
        delivery = await self._socket.deliver("interactive", payload)
        return self._answered(member, view, delivery) if delivery.acked else delivery

    def _answered(self, user: Member, view: Json, delivery: Delivery) -> Delivery:
        answer = delivery.payload
        try:
            match answer.get("response_action"):
                case "errors":
                    return Delivery(acked=True, ms=delivery.ms, errors=_errors(view, answer), payload=answer)
                case "update":
                    limits.check_view(answer.get("view"))
                    self._workspace.update_view(view["id"], answer["view"])
                case "push":
                    limits.check_view(answer.get("view"))
                    self._workspace.open_view(user, answer["view"], under=view)
                case "clear":
                    self._shut(user, view, everything=True)
                case _:
                    self._shut(user, view, everything=bool(view["clear_on_close"]))
        except Refused as refused:
            return Delivery(acked=True, ms=delivery.ms, error=refused.code, payload=answer)
        return delivery

    def _shut(self, user: Member, view: Json, *, everything: bool) -> None:
        for open_view in self._workspace.stack(user) if everything else [view]:
            self._workspace.views.drop(open_view["id"])

    async def close(self, *, user: str, view_id: str) -> Delivery:
        """Leave a modal; the app hears of it only if it asked to."""
        member, view = self._workspace.member(user), self._workspace.view(view_id)
        cleared = bool(view["clear_on_close"])
        self._shut(member, view, everything=cleared)
        if not view["notify_on_close"]:
            return Delivery(acked=True)
        return await self._socket.deliver("interactive", payloads.view_closed(member, view, cleared=cleared))

    async def shortcut(self, *, user: str, callback_id: str, message_ts: str, channel: str = "") -> Delivery:
        if callback_id not in self._shortcuts:
            raise Refused("unknown_shortcut")
        member, room = self._workspace.member(user), self._room(channel)
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
        return await self._socket.deliver("interactive", payload)

    def _room(self, channel_id: str) -> Channel:
        return self._workspace.channel(channel_id or next(iter(self._workspace.channels)))

    def _seen(self, user: Member, channel_id: str, ts: str) -> Json:
        whisper = self._workspace.ephemerals.get(ts)
        if whisper and whisper["to"] == user.id:
            return whisper
        return self._workspace.message(self._room(channel_id).id, ts)

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
