"""A person at the local workspace, driven by a script: says, clicks, fills, opens, sees."""

from dataclasses import dataclass
from typing import Any

from bot.local.client.observer import Observer
from bot.local.client.text import readable
from bot.local.people import inputs as fields
from bot.local.shapes import Delivery, Json, dm_id


@dataclass(frozen=True)
class Button:
    """A button as it stood when somebody looked; it can be clicked after the message was redrawn."""

    message_ts: str
    channel: str
    block_id: str
    element: Json


class WorkspaceClient(Observer):
    """The workspace for a story: its people, its faults, what an admin can change."""

    def person(self, user_id: str) -> "Person":
        return Person(self, user_id)

    def fault(
        self,
        *,
        retry_after: int = 1,
        delay: float = 1.0,
        seconds: float = 0.0,
        method: str = "",
        **times: int,
    ) -> None:
        """Strike the next n times, or for some seconds: `fault(rate_limit=2, method="chat.update")`."""
        self.act("fault", retry_after=retry_after, delay=delay, seconds=seconds, method=method, **times)

    def disconnect(self, *, politely: bool = True) -> None:
        self.act("disconnect", politely=politely)

    def delete(self, channel_id: str, ts: str) -> None:
        """What a person with the right does to anybody's message."""
        self.act("delete", channel=channel_id, ts=ts)

    def change_member(self, user_id: str, **changes: Any) -> None:
        """What an admin does: `change_member("U0BOB", deleted=True)`."""
        self.act("member", id=user_id, **changes)

    def change_channel(self, channel_id: str, **changes: Any) -> None:
        """`change_channel("C0OPS", is_archived=True)`; also has_bot, is_private, is_ext_shared, topic."""
        self.act("channel", id=channel_id, **changes)

    def change_group(self, group_id: str, **changes: Any) -> None:
        """`change_group("S0ONCALL", users=["U0BOB"])`."""
        self.act("group", id=group_id, **changes)

    def deliver_to(self, request_url: str) -> None:
        """HTTP mode from now on, if the address answers Slack's challenge; "" is Socket Mode again."""
        self.act("request_url", url=request_url)

    def caption(self, text: str = "", **given: str | int) -> None:
        """A sentence over everybody's page, as the person `me`, at the thread `thread`; "" takes it away."""
        self.act("caption", text=text, **given)

    def clear(self) -> None:
        """An empty workspace without faults, for the next story."""
        self.act("clear")

    def run(self, control: str, *, on: bool = True) -> str:
        """Use a demo control; its sentence."""
        return str(self.act("run", id=control, on=on)["text"])

    def wait_for_bot(self, links: int = 1) -> None:
        self.wait(lambda state: state["links"] >= links, f"{links} link(s) of the app")


class Person:
    """One member, by id."""

    def __init__(self, workspace: WorkspaceClient, id: str) -> None:
        self.id = id
        self.workspace = workspace

    def says(self, text: str, *, thread: str = "", channel: str = "") -> Delivery:
        """Type into the composer; for a plain message `payload["ts"]` is where it stands."""
        return self._does("say", text=text, thread_ts=thread, channel=channel)

    def writes(self, text: str, *, thread: str = "") -> Delivery:
        """Type into the direct messages with the app."""
        return self.says(text, thread=thread, channel=self.dm)

    @property
    def dm(self) -> str:
        """The channel of this person's direct messages with the app."""
        return dm_id(self.id)

    def button(self, action_id: str, *, message: str = "", block_id: str | None = None) -> Button:
        """The newest button of that name this person can see, waited for."""

        def look(state: Json) -> Button | None:
            for body in _visible(state, self.id):
                found = fields.find(body.get("blocks", []), action_id, block_id)
                if found and message in ("", body["ts"]):
                    return Button(body["ts"], body["channel"], found[0]["block_id"], found[1])
            return None

        return self.workspace.wait(look, f"a button {action_id}")

    def clicks(
        self,
        action: str | Button,
        *,
        message: str = "",
        block_id: str | None = None,
        value: Any = None,
        values: Json | None = None,
        confirm: bool = True,
    ) -> Delivery:
        """Click a button (or use another element of a message, with `value`) and wait for the ack."""
        button = (
            action if isinstance(action, Button) else self.button(action, message=message, block_id=block_id)
        )
        return self._does(
            "click",
            message_ts=button.message_ts,
            channel=button.channel,
            block_id=button.block_id,
            element=button.element,
            value=value,
            values=values,
            confirm=confirm,
        )

    def chooses(self, label: str, *, message: str = "") -> Delivery:
        """Choose what stands behind the dots of a message, by its words."""

        def look(state: Json) -> tuple[Button, str] | None:
            for body in _visible(state, self.id):
                found = fields.option(body.get("blocks", []), label)
                if found and message in ("", body["ts"]):
                    block, menu, value = found
                    return Button(body["ts"], body["channel"], block["block_id"], menu), value
            return None

        button, value = self.workspace.wait(look, f"{label} behind the dots")
        return self.clicks(button, value=value)

    def view(self) -> Json:
        """The modal in front of this person, waited for."""

        def look(state: Json) -> Json | None:
            mine: list[Json] = [view for view in state["views"] if view["user"] == self.id]
            return mine[-1] if mine else None

        return self.workspace.wait(look, f"a view open for {self.id}")

    def fills(self, values: Json) -> Delivery:
        """Fill the open modal by block id and submit it; `errors` stand at the fields."""
        return self._does("submit", view_id=self.view()["id"], values=values)

    def closes(self, *, everything: bool = False) -> Delivery:
        """Leave the modal in front, or the whole stack at once."""
        return self._does("close", view_id=self.view()["id"], everything=everything)

    def opens_home(self) -> Delivery:
        """Open the app's home tab; the app hears of it."""
        return self._does("home", tab="home")

    def opens_messages(self) -> Delivery:
        """Open the app's messages tab; the app hears of it."""
        return self._does("home", tab="messages")

    def home(self) -> Json:
        """The home tab that the app published for this person, waited for."""

        def look(state: Json) -> Json | None:
            return next((view for view in state["homes"] if view["user"] == self.id), None)

        return self.workspace.wait(look, f"a home tab for {self.id}")

    def clicks_at_home(
        self, action_id: str, *, block_id: str | None = None, value: Any = None, values: Json | None = None
    ) -> Delivery:
        """Use an element of the home tab, waited for."""

        def look(state: Json) -> str | None:
            mine = [view for view in state["homes"] if view["user"] == self.id]
            return mine[0]["id"] if mine and fields.find(mine[0]["blocks"], action_id, block_id) else None

        given = {"action_id": action_id, "block_id": block_id, "value": value, "values": values}
        view_id = self.workspace.wait(look, f"{action_id} in the home tab of {self.id}")
        return self._does("click", view_id=view_id, confirm=True, **given)

    def uses(self, callback_id: str, *, message: str, channel: str = "") -> Delivery:
        """Choose a message shortcut."""
        return self._does("shortcut", callback_id=callback_id, message_ts=message, channel=channel)

    def file(self, name: str) -> Json:
        """The newest file of that name that this person can see, waited for."""

        def look(state: Json) -> Json | None:
            shown = [file for body in _visible(state, self.id) for file in body.get("files", [])]
            return next((file for file in shown if file["name"] == name), None)

        return self.workspace.wait(look, f"a file {name}")

    def sees(self, text: str, *, thread: str = "") -> Json:
        """Wait until the text stands somewhere this person can see; the message (or view) that has it."""

        def look(state: Json) -> Json | None:
            views = [*state["views"], *state["homes"]]
            mine: list[Json] = [view for view in views if view["user"] == self.id]
            for body in [*_visible(state, self.id), *mine]:
                if text in readable(body) and thread in ("", body.get("thread_ts")):
                    return body
            return None

        return self.workspace.wait(look, f"{self.id} to see {text!r}")

    def notices(self) -> list[Json]:
        """What this person was notified of, oldest first: channel, ts, and why (direct, mention, thread)."""
        return [one for one in self.workspace.state()["notices"] if one["user"] == self.id]

    def types(self, action_id: str, text: str, *, block_id: str | None = None) -> list[Json]:
        """Type into a select of the open modal whose options the app knows; what it offers."""
        asked = {"view_id": self.view()["id"], "action_id": action_id, "block_id": block_id, "typed": text}
        options: list[Json] = self._does("suggest", **asked).payload["options"]
        return options

    def ephemerals(self) -> list[str]:
        """What only this person saw, oldest first."""
        return [readable(body) for body in self.workspace.state()["ephemerals"] if body["to"] == self.id]

    def _does(self, act: str, **given: Any) -> Delivery:
        return Delivery(**self.workspace.act(act, user=self.id, **given))


def _visible(state: Json, user_id: str) -> list[Json]:
    """Messages in channels, this person's direct messages and whispers to them, newest first."""
    mine = [body for body in state["ephemerals"] if body["to"] == user_id]
    open_to_all = [m for m in state["messages"] if m["channel"][0] != "D" or m["channel"] == dm_id(user_id)]
    return sorted([*open_to_all, *mine], key=lambda body: float(body["ts"]), reverse=True)
