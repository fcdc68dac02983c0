"""The only module that speaks to Slack. Rows say what shall be shown; it is rendered when it is sent."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackRequestError

from bot.cards.blocks import Block, section
from bot.cards.card import card, cut, editing, simple
from bot.cards.thread import message as thread_message
from bot.cards.thread import needless, notice
from bot.slack.attachments import attachments, content
from bot.slack.pace import POST, UPDATE, Pace
from storage.contract.states import PlanState
from storage.database.tables import Message
from storage.errors import SignoffError
from storage.intention import Intention
from storage.reading.plan_view import PlanView

logger = logging.getLogger(__name__)

PAUSE = timedelta(seconds=3)  # between two updates of one message, unless a decision is shown
CALM = timedelta(seconds=10)  # between two drawings of one home tab, unless its owner did something
AGAIN = timedelta(seconds=5)
PLAIN = {"react", "say", "stop", "resume", "glass", "recurring"}
PERSONAL = {"whisper", "tell", "home"}
UNUSABLE = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"}
HOPELESS = {
    "channel_not_found": "I cannot find it (any more)",
    "is_archived": "it is archived",
    "not_in_channel": "I am not in it (any more)",
    "user_not_in_channel": "you are not in it",
    "thread_not_found": "the message that it belongs to was deleted",
    "restricted_action": "only some may write there",
}
GONE = {"message_not_found", "cant_update_message", "edit_window_closed"}
METHODS = {"home": "views.publish", "whisper": "chat.postEphemeral", "react": "reactions.add",
           "file": "files.completeUploadExternal"}  # fmt: skip


@dataclass(frozen=True)
class Outbox:
    """Sends what is due, and remembers what Slack shows."""

    store: Intention
    client: WebClient
    home: Callable[[str, str], Block] | None = None  # (person, their direct messages) → the home tab
    artifacts: Path | None = None  # where the workers of this machine keep the logs of their steps
    on_call: str = ""  # the user group that a question calls
    site: str = ""  # the workspace's address, for links
    guides: bool = False  # whether there is a planner that a person can tell how to go on
    pace: Pace = field(default_factory=Pace)

    def speak(self) -> None:
        """One round over everything stale, as fast as Slack takes it."""
        late: set[int] = set()
        for message in self.store.unsent():
            if message.plan_id and message.plan_id in late:
                continue  # a thread keeps its order
            place = message.channel or message.user
            if not self.pace.ready(method(message), place, self.store.clock()):
                late.add(message.plan_id)
                continue
            if self._needless(message):
                self._shown(message, "")
                continue
            self.pace.sent(method(message), place, self.store.clock())
            try:
                self._send(message)
            except SlackApiError as error:
                late.add(message.plan_id)
                self._refused(message, error)
            except (OSError, HTTPException, SlackRequestError) as error:
                late.add(message.plan_id)
                self._put_off(message, AGAIN, f"Slack cannot be reached: {error}", refused=False)

    def open_view(self, trigger: str, view: dict[str, Any]) -> None:
        """Open a form for the person who clicked; a trigger lives three seconds."""
        try:
            self.client.views_open(trigger_id=trigger, view=self.store.redact.data(view))
        except SlackApiError as error:
            code = _code(error)
            late = code in {"expired_trigger_id", "exchanged_trigger_id"}
            hint = "It took too long; please click again." if late else f"Slack refused the form ({code})."
            raise SignoffError(hint) from None
        except OSError as error:
            raise SignoffError(f"Slack cannot be reached ({error}); please click again.") from None

    def _send(self, message: Message) -> None:
        if message.kind in PERSONAL:
            self._personal(message)
            return
        if message.kind in PLAIN:
            self._plainly(message)
            return
        view = self.store.view(message.plan_id)
        if message.kind == "card":
            self._card(message, view)
        elif view.card and message.kind == "file":
            self._file(message, view)
        elif view.card:
            self._thread(message, view)

    def _needless(self, message: Message) -> bool:
        """What need not be said takes nobody's turn."""
        if not message.plan_id or message.ts or message.kind in PERSONAL | PLAIN:
            return False
        view = self.store.view(message.plan_id)
        if view.revision == 0 and view.state == PlanState.cancelled and not view.card:
            return True  # it never became a plan, and the person was told why
        if message.kind not in {"outcome", "decision"}:
            return False
        return needless(message.kind, view, self.store.event(message.plan_id, message.seq))

    def _personal(self, message: Message) -> None:
        if message.kind == "home":
            self._home(message)
        elif message.kind == "tell":
            room = self.client.conversations_open(users=message.user)["channel"]["id"]
            self._post(message, "", message.text, [section(message.text)], channel=room)
        elif message.channel.startswith("D"):  # private already; and unlike a whisper it stays
            self._post(message, "", message.text, self._answer(message))
        else:
            self._whisper(message)

    def _home(self, message: Message) -> None:
        if self.home:
            view = self.store.redact.data(self.home(message.user, message.channel))
            self.client.views_publish(user_id=message.user, view=view)
        self.store.note_shown(message, "", next_at=self.store.clock() + CALM)

    def _whisper(self, message: Message) -> None:
        """Nobody can look up what one person was shown: after a crash it is said again."""
        self.client.chat_postEphemeral(
            channel=message.channel,
            user=message.user,
            thread_ts=message.ts or None,
            text=self.store.redact.text(message.text),
            blocks=self.store.redact.data(self._answer(message)),
        )
        self._shown(message, message.ts)

    def _plainly(self, message: Message) -> None:
        """What belongs to no plan's thread."""
        if message.kind == "react":
            self._react(message)
        elif message.kind == "say":
            self._post(message, "", message.text, [section(message.text)])
        else:
            self._post(message, "", *notice(message.kind, message.text, message.user))

    def _react(self, message: Message) -> None:
        try:
            self.client.reactions_add(channel=message.channel, timestamp=message.ts, name=message.text)
        except SlackApiError as error:
            if _code(error) not in {"already_reacted", "message_not_found"}:
                raise
        self._shown(message, message.ts)

    def _answer(self, message: Message) -> list[Block]:
        """A sentence to one person; about a plan that may still be changed, with its Edit button."""
        view = self.store.view(message.plan_id) if message.plan_id else None
        return [section(message.text), *(editing(view) if view else [])]

    def _card(self, message: Message, view: PlanView) -> None:
        now = self.store.clock()
        alive = bool(self.store.processes("workers"))
        text, blocks = (
            simple(view, now)
            if message.problem in UNUSABLE
            else card(view, now, workers=alive, site=self.site)
        )
        self._post(message, view.thread, text, blocks)
        if cut(view, now):
            key = f"plan:{view.id}:{view.revision}"
            self.store.attach(key, plan_id=view.id, channel=message.channel)
        self.store.redraw_homes({view.requester, *view.approvers, *view.approved_by})

    def _thread(self, message: Message, view: PlanView) -> None:
        event = self.store.event(message.plan_id, message.seq)
        for key, path in attachments(message.kind, view, event):
            self.store.attach(key, plan_id=view.id, channel=message.channel, text=path)
        answer = self.store.answer_to(view.id, message.step, message.seq) if message.step else None
        more: dict[str, Any] = {"answer": answer, "on_call": self.on_call, "guides": self.guides}
        text, blocks = thread_message(message.kind, view, event, self.store.clock(), **more)
        if message.problem in UNUSABLE:  # the words alone, and the buttons
            blocks = [section(text), *(block for block in blocks if block["type"] == "actions")]
        self._post(message, view.thread or view.card, text, blocks)

    def _file(self, message: Message, view: PlanView) -> None:
        """A log or the timeline, as a file in the thread. A half-sent one is looked for by its name."""
        name, data = content(self.store, message, view, self.artifacts)
        thread = view.thread or view.card
        if data and not (message.sending and self._has_file(message.channel, thread, name)):
            self.store.sending(message)
            self.client.files_upload_v2(
                channel=message.channel, thread_ts=thread, filename=name, title=name, content=data
            )
        self._shown(message, "")

    def _has_file(self, channel: str, thread: str, name: str) -> bool:
        found = self.client.conversations_replies(channel=channel, ts=thread, limit=200)["messages"]
        return any(file.get("name") == name for said in found for file in said.get("files", ()))

    def _post(
        self, message: Message, thread: str, text: str, blocks: list[Block], *, channel: str = ""
    ) -> None:
        """Post it, or change what is there. A half-sent row is first looked for."""
        text, blocks = self.store.redact.text(text), self.store.redact.data(blocks)
        channel = channel or message.channel
        ts = message.ts or (self._find(message, channel, thread) if message.sending else "")
        self.store.sending(message)
        if ts:
            self.client.chat_update(channel=channel, ts=ts, text=text, blocks=blocks)
        else:
            sent = self.client.chat_postMessage(
                channel=channel, thread_ts=thread or None, text=text, blocks=blocks,
                metadata={"event_type": "signoff", "event_payload": {"key": message.key}},
                unfurl_links=False, unfurl_media=False,
            )  # fmt: skip
            ts = sent["ts"]
        self._shown(message, ts)

    def _find(self, message: Message, channel: str, thread: str) -> str:
        """The message that a crash kept us from noting, by its metadata."""
        place: dict[str, Any] = {"channel": channel, "include_all_metadata": True, "limit": 200}
        if thread:
            found = self.client.conversations_replies(ts=thread, **place)["messages"]
        else:
            found = self.client.conversations_history(**place)["messages"]
        keys = {m.get("metadata", {}).get("event_payload", {}).get("key"): m["ts"] for m in found}
        return str(keys.get(message.key, ""))

    def _shown(self, message: Message, ts: str) -> None:
        self.store.note_shown(message, ts, next_at=self.store.clock() + PAUSE)

    def _refused(self, message: Message, error: SlackApiError) -> None:
        code = _code(error)
        if error.response.status_code == 429:
            wait = timedelta(seconds=patience(error.response.headers.get("Retry-After", "")))
            self.pace.refused(method(message), self.store.clock(), wait)
            self._put_off(message, wait, code, refused=True)
        elif code in UNUSABLE and message.problem not in UNUSABLE and message.plan_id:
            self._put_off(message, timedelta(0), code, refused=True)
        elif code in GONE and message.ts:
            self._again(message)
        elif code == "thread_not_found" and (card := self.store.card_of(message.plan_id)) and card.ts:
            self._again(card)
            self._put_off(message, AGAIN, code, refused=True)
        elif code in HOPELESS or code in UNUSABLE:
            logger.error("message %s cannot be shown: %s", message.key, code)
            self.store.note_shown(message, message.ts, next_at=self.store.clock() + PAUSE, problem=code)
            self._apologise(message, code)
        else:
            wait, refused = AGAIN * (1 + min(message.tries, 11)), error.response.status_code < 500
            self._put_off(message, wait, code, refused=refused)

    def _again(self, message: Message) -> None:
        """Somebody deleted it: it is posted anew, and the requester hears of the card's new place."""
        self.store.forget(message)
        if message.kind == "card" and message.channel[:1] != "D":
            said = f"My card of plan {message.plan_id} in <#{message.channel}> was deleted; I post it again."
            requester = self.store.view(message.plan_id).requester
            self.store.tell(f"deleted:{message.plan_id}:{message.ts}", user=requester, text=said)

    def _apologise(self, message: Message, code: str) -> None:
        """The requester hears that their plan cannot be seen where it was asked for: once per reason."""
        if not message.plan_id or message.kind in PERSONAL or message.channel.startswith("D"):
            return
        view, why = self.store.view(message.plan_id), HOPELESS.get(code, f"Slack refuses it ({code})")
        said = f"I cannot write into <#{message.channel}> about plan {view.id}: {why}."
        more = " Nothing else changes: those who may decide find it in my home tab."
        self.store.tell(f"mute:{view.id}:{code}", user=view.requester, text=said + more)

    def _put_off(self, message: Message, wait: timedelta, problem: str, *, refused: bool) -> None:
        logger.warning("message %s waits: %s", message.key, problem)
        self.store.put_off(message, self.store.clock() + wait, problem=problem, refused=refused)


def method(message: Message) -> str:
    """The call of Slack that this message takes: a shown one is changed."""
    return METHODS.get(message.kind) or (UPDATE if message.ts else POST)


def patience(said: str) -> float:
    """How long Slack asks us to wait, within reason, whatever stands in the header."""
    try:
        return min(max(1.0, float(said)), 300.0)  # in this order: NaN loses every comparison
    except ValueError:
        return 1.0


def _code(error: SlackApiError) -> str:
    """Slack's error code, or the HTTP status of what was no answer of Slack's."""
    data = error.response.data
    return str(data.get("error")) if isinstance(data, dict) else f"http_{error.response.status_code}"
