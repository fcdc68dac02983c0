"""The calls that put a row of the outbox into Slack; what was half sent is looked for first."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.cards.blocks import Block, section
from bot.slack.kinds import barely
from bot.slack.refusals import code_of
from storage.database.tables import Message
from storage.errors import HandledElsewhere, SignoffError
from storage.intention import Intention

PAUSE = timedelta(seconds=3)  # between two updates of one message, unless a decision is shown
KNOWN = {"already_reacted", "no_reaction", "message_not_found"}  # an emoji that is as it shall be


@dataclass(frozen=True)
class Posting:
    """What is sent is redacted here, and noted as shown once Slack has it."""

    store: Intention
    client: WebClient
    rooms: dict[str, str] = field(default_factory=dict)  # with whom we write directly; they stay the same

    def post(
        self, message: Message, thread: str, text: str, blocks: list[Block], *, channel: str = "",
        loud: bool = False, also: Sequence[Message] = (), again_at: datetime | None = None,
        first: tuple[str, list[Block]] | None = None,
    ) -> None:  # fmt: skip
        """Post it, or change what is there. A half-sent row is looked for.

        `loud`: in the channel, too. `first`: what a new message says, at once changed into what it shall say.
        """
        text, blocks = self._redacted(text, blocks)
        first = self._redacted(*first) if first else None
        channel = channel or message.channel
        ts = message.ts or (self._find(message, channel, thread) if message.sending else "")
        self.store.sending(message)
        new = "" if ts else self._new(message, channel, thread, *(first or (text, blocks)), loud=loud)
        if ts or (first and first != (text, blocks)):
            self.client.chat_update(channel=channel, ts=ts or new, text=text, blocks=blocks)
        try:
            self.shown(message, ts or new, also, again_at=again_at)
        except HandledElsewhere:
            if new:
                self._take_back(message, channel, thread, new)
            raise

    def _redacted(self, text: str, blocks: list[Block]) -> tuple[str, list[Block]]:
        return self.store.redact.text(text), self.store.redact.data(blocks)

    def _new(
        self, message: Message, channel: str, thread: str, text: str, blocks: list[Block], *, loud: bool
    ) -> str:
        sent = self.client.chat_postMessage(
            channel=channel, thread_ts=thread or None, text=text, blocks=blocks,
            metadata={"event_type": "signoff", "event_payload": {"key": message.key}},
            unfurl_links=False, unfurl_media=False, reply_broadcast=(loud and bool(thread)) or None,
        )  # fmt: skip
        return str(sent["ts"])

    def _find(self, message: Message, channel: str, thread: str) -> str:
        """The message that a crash kept us from noting, by its metadata."""
        return next(iter(self._posted(message, channel, thread)), "")

    def _posted(self, message: Message, channel: str, thread: str) -> list[str]:
        """Wherever it stands: more than once, where somebody stood still just before the call."""
        place: dict[str, Any] = {"channel": channel, "include_all_metadata": True, "limit": 200}
        if thread:
            found = self.client.conversations_replies(ts=thread, **place)["messages"]
        else:
            found = self.client.conversations_history(**place)["messages"]
        keyed = [(m.get("metadata", {}).get("event_payload", {}).get("key"), str(m["ts"])) for m in found]
        return sorted(ts for key, ts in keyed if key == message.key)

    def _take_back(self, message: Message, channel: str, thread: str, ts: str) -> None:
        """Somebody else went on with this row. If they have said it, too, ours was once too often."""
        with suppress(SlackApiError, OSError):
            if len(self._posted(message, channel, thread)) > 1:
                self.client.chat_delete(channel=channel, ts=ts)

    def shown(
        self, message: Message, ts: str, also: Sequence[Message] = (), *, again_at: datetime | None = None
    ) -> None:
        problem = message.problem if barely(message) else ""
        next_at, ids = self.store.clock() + PAUSE, [one.id for one in also]
        self.store.note_shown(message, ts, next_at=next_at, problem=problem, also=ids, again_at=again_at)

    def whisper(self, message: Message, text: str, blocks: list[Block] | None = None) -> None:
        """Nobody can look up what one person was shown: after a crash it is said again."""
        self.store.sending(message)
        self.client.chat_postEphemeral(
            channel=message.channel,
            user=message.user,
            thread_ts=message.ts or None,
            text=self.store.redact.text(text),
            blocks=self.store.redact.data(blocks) if blocks else None,
        )

    def hand_over(self, message: Message, text: str) -> None:
        """A secret that is meant for this one person, as it is: what redacts would take it away."""
        self.store.sending(message)
        self.client.chat_postEphemeral(
            channel=message.channel, user=message.user, text=text, blocks=[section(text)]
        )

    def react(self, message: Message) -> None:
        call = self.client.reactions_add if message.kind == "react" else self.client.reactions_remove
        try:
            call(channel=message.channel, timestamp=message.ts, name=message.text)
        except SlackApiError as error:
            if code_of(error) not in KNOWN:
                raise
        self.shown(message, message.ts)

    def status(self, channel: str, thread: str, said: str) -> None:
        """Slack's own status under a thread; "" takes it away."""
        self.client.assistant_threads_setStatus(
            channel_id=channel, thread_ts=thread, status=self.store.redact.text(said)
        )

    def delete(self, message: Message) -> None:
        self.store.sending(message)
        self.client.chat_delete(channel=message.channel, ts=message.ts)

    def publish(self, user: str, view: Block) -> None:
        """Somebody's home tab."""
        self.client.views_publish(user_id=user, view=self.store.redact.data(view))

    def room(self, user: str) -> str:
        """The direct messages with one person."""
        if user not in self.rooms:
            self.rooms[user] = str(self.client.conversations_open(users=user)["channel"]["id"])
        return self.rooms[user]

    def upload(self, message: Message, thread: str, name: str, data: bytes) -> str:
        """Slack's name of the file; of a half-sent one, the one that is there."""
        file = self._found_file(message.channel, thread, name, len(data)) if message.sending else ""
        if file or not data:
            return file
        self.store.sending(message)
        sent = self.client.files_upload_v2(
            channel=message.channel, thread_ts=thread, filename=name, title=name, content=data
        )
        return str(next(iter(sent.get("files") or [{}])).get("id", ""))

    def _found_file(self, channel: str, thread: str, name: str, size: int) -> str:
        """Slack's name of our own file that a crash kept us from noting, or ""; others may post one, too."""
        found = self.client.conversations_replies(channel=channel, ts=thread, limit=200)["messages"]
        files = [file for said in found for file in said.get("files", ()) if file.get("name") == name]
        us = self.client.auth_test()["user_id"] if files else ""
        own = (file for file in files if (file.get("user"), file.get("size")) == (us, size))
        return next((str(file["id"]) for file in own), "")

    def open_view(self, trigger: str, view: dict[str, Any]) -> None:
        """Open a form for the person who clicked; a trigger lives three seconds."""
        try:
            self.client.views_open(trigger_id=trigger, view=self.store.redact.data(view))
        except SlackApiError as error:
            code = code_of(error)
            late = code in {"expired_trigger_id", "exchanged_trigger_id"}
            hint = "It took too long; please click again." if late else f"Slack refused the form ({code})."
            raise SignoffError(hint) from None
        except OSError as error:
            raise SignoffError(f"Slack cannot be reached ({error}); please click again.") from None
