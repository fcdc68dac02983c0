"""A plan's messages as they are sent: its card, its thread, its files, and whom they call."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bot.cards.blocks import Block, elements, section
from bot.cards.card import card, fits, unready
from bot.cards.face.running import redrawn_at
from bot.cards.phrases import altered
from bot.cards.read_answer import read_answer
from bot.cards.thread import message as thread_message
from bot.policy.authorize import mention
from bot.slack.attachments import attachments, content
from bot.slack.folding import folded, latest
from bot.slack.kinds import ASKING, file_key
from bot.slack.posting import Posting
from bot.slack.refusals import TOO_LONG, UNUSABLE
from bot.tickets import Tickets
from bot.turns.reminders import Groups, call
from storage.contract.states import PlanState
from storage.database.tables import Message
from storage.intention import Intention
from storage.reading.plan_view import PlanView

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PlanMessages:
    """Draws what belongs to a plan from the rows as they stand, and sends it."""

    store: Intention
    posting: Posting
    artifacts: Path | None  # where the workers of this machine keep the logs of their steps
    on_call: str  # the user group that a question calls
    site: str  # the workspace's address, for links
    groups: Groups | None  # who is in a group whose members are called
    guides: bool  # whether there is a planner that a person can tell how to go on
    fresh: Callable[[PlanView], PlanView]  # held against what it rests on, as it is now
    admins: Sequence[str]  # who hears of an alarm
    tickets: Tickets  # where the board is, if there is one

    def send(self, message: Message, rest: Sequence[Message], *, grows: bool) -> Sequence[Message]:
        """What went with it, of the lines that may. `grows`: into the thread's growing message."""
        view = self.store.view(message.plan_id)
        if why := self.store.tampered(view.id):
            self._alarm(message, view, why)
            return ()
        if view.private:
            self._alone(message, view)
            return ()
        if grows:
            return self._grow([message, *rest], view)
        if message.kind == "summary":
            return self._summary(message, rest, view)
        if rest:
            return self._lines([message, *rest], view)
        drawing = {"card": self._card, "file": self._file, "call": self._call, "over": self._over}
        draw = drawing.get(message.kind, self._thread)
        draw(message, view)
        return ()

    def _alarm(self, message: Message, view: PlanView, why: str) -> None:
        """Words that were changed behind our back are not drawn: on the card stands that they were."""
        logger.error("ALARM plan=%s is not shown: %s", view.id, why)
        said = altered(view.id, why)
        for admin in self.admins:
            self.store.tell(f"altered:{view.id}:{admin}:{why}", user=admin, text=said)
        if message.kind == "card" or message.ts:
            self.posting.post(message, view.thread, said, [section(said)])
        else:
            self.posting.shown(message, "")

    def _alone(self, message: Message, view: PlanView) -> None:
        """The answer to a question, to whoever asked it."""
        text, blocks = read_answer(view)
        if message.channel.startswith("D"):
            self.posting.post(message, view.thread, text, blocks)
        else:
            alone = message.model_copy(update={"user": view.requester, "ts": view.thread})
            self.posting.whisper(alone, text, blocks)
            self.posting.shown(message, "")
        self.store.unreact(view.id)

    def _call(self, message: Message, view: PlanView) -> None:
        said = f"{' '.join(map(mention, message.text.split()))}: this waits for your approval."
        self.posting.post(message, view.thread or view.card, said, [section(said)])

    def _over(self, message: Message, view: PlanView) -> None:
        """What a hook called about is over: our own words, once, in the thread."""
        self.posting.post(message, view.thread or view.card, message.text, [section(message.text)])

    def _card(self, message: Message, view: PlanView) -> None:
        """What has no room on it goes into a file first; until Slack has taken that, there is no Approve."""
        now, view = self.store.clock(), self._roomy(message, self.fresh(view))
        draw = partial(
            card, now=now, workers=bool(self.store.processes("workers")), site=self.site,
            on_call=self.on_call, planner=self.guides, plainness=self.store.plainness(view.team),
            board=self.tickets.page(view.id), thinking=self.store.thought_of(view.id),
        )  # fmt: skip
        text, blocks = draw(view)
        # Whoever can press something gets a message of their own; the card itself rings nobody.
        first = draw(unready(view)) if view.state == PlanState.proposed and not message.ts else None
        again = redrawn_at(view, now) if view.state == PlanState.approved else None
        self.posting.post(message, view.thread, text, blocks, again_at=again, first=first)
        if not message.ts:
            self.store.unreact(view.id)
        if view.state == PlanState.proposed and view.lengthy and not view.filed:
            self.store.attach(file_key(view), plan_id=view.id, channel=message.channel)
        self._tell(view, blocks)

    def _roomy(self, message: Message, view: PlanView) -> PlanView:
        now = self.store.clock()
        long = message.problem in TOO_LONG or not fits(view, now, on_call=self.on_call, planner=self.guides)
        if view.state != PlanState.proposed or not long or view.lengthy:
            return view
        self.store.lengthen(view.id, view.revision)
        return self.fresh(self.store.view(view.id))

    def _tell(self, view: PlanView, blocks: list[Block]) -> None:
        """Those who can press something hear of it; home tabs follow."""
        if self.groups and any(made.get("action_id") == "approve" for made in elements(blocks)):
            call(self.store, self.groups, self.store.view(view.id), self.site)
        self.store.redraw_homes({view.requester, *view.approvers, *view.approved_by})

    def _summary(self, message: Message, rest: Sequence[Message], view: PlanView) -> Sequence[Message]:
        """The end, below the last lines where these waited with it, or stand in its message already."""
        there = [one for one in self.store.lines(view.id) if message.ts and one.ts == message.ts]
        lines = [self._line(one, view) for one in (*there, *rest)]
        fit, text, blocks = folded(lines) if lines else (0, "", [])
        if rest and fit < len(lines):  # the end follows in a message of its own
            return self._lines(rest, view)
        self._thread(message, view, (text, blocks), also=rest)
        return rest

    def _thread(
        self, message: Message, view: PlanView, above: tuple[str, list[Block]] = ("", []),
        also: Sequence[Message] = (),
    ) -> None:  # fmt: skip
        event = self.store.event(message.plan_id, message.seq)
        for key, path in attachments(message.kind, view, event):
            self.store.attach(key, plan_id=view.id, channel=message.channel, text=path)
        answer = self.store.answer_to(view.id, message.step, message.seq) if message.step else None
        seen = self.fresh(view) if message.kind == "outcome" and view.state == PlanState.stalled else view
        text, blocks = thread_message(
            message.kind, seen, event, self.store.clock(), answer=answer, on_call=self.on_call,
            guides=self.guides, site=self.site,
        )  # fmt: skip
        if simply(message):  # the words alone, and the buttons
            blocks = [section(text), *(block for block in blocks if block["type"] == "actions")]
        text, blocks = f"{text}\n{latest(above[0])}" if above[0] else text, [*above[1], *blocks]
        asks = message.kind in ASKING and any(block["type"] == "actions" for block in blocks)
        self.posting.post(message, view.thread or view.card, text, blocks, also=also, loud=asks)

    def _lines(self, messages: Sequence[Message], view: PlanView) -> Sequence[Message]:
        """Several lines of a thread in one message; those that went with the first."""
        fit, text, blocks = folded([self._line(one, view) for one in messages])
        self.posting.post(messages[0], view.thread or view.card, text, blocks, also=messages[1:fit])
        return messages[1:fit]

    def _line(self, message: Message, view: PlanView) -> str:
        event = self.store.event(message.plan_id, message.seq)
        return thread_message("outcome", view, event, self.store.clock())[0]

    def calm(self, plan_id: int) -> bool:
        """Whether the message that grows in this thread was changed a moment ago."""
        return any(one.not_before > self.store.clock() for one in self._grown(plan_id))

    def joining(self, message: Message) -> Message:
        """The same, in the message that it joins, if there is one."""
        told = self._grown(message.plan_id)
        return message.model_copy(update={"ts": told[-1].ts}) if told else message

    def _grown(self, plan_id: int) -> list[Message]:
        """The lines of the last message in this thread that tells of look-ups alone, and may grow."""
        looked = {step.spec.id for step in self.store.view(plan_id).steps if not step.changes}
        told = [one for one in self.store.lines(plan_id) if one.step in looked and one.ts]
        return [one for one in told if one.ts == told[-1].ts]

    def _grow(self, messages: Sequence[Message], view: PlanView) -> Sequence[Message]:
        """What was looked up joins the lines above it; where that message is full, a new one begins."""
        told = self._grown(view.id)
        fit, text, blocks = folded([self._line(one, view) for one in (*told, *messages)])
        if fit <= len(told):
            return self._lines([messages[0].model_copy(update={"ts": ""}), *messages[1:]], view)
        joined = messages[1 : fit - len(told)]
        self.posting.post(messages[0], view.thread or view.card, latest(text), blocks, also=joined)
        return joined

    def _file(self, message: Message, view: PlanView) -> None:
        """A log or the timeline, as a file in the thread."""
        name, data = content(self.store, message, view, self.artifacts)
        file = self.posting.upload(message, view.thread or view.card, name, data)
        if message.key == file_key(view) and file:
            hashed = hashlib.sha256(data).hexdigest()
            self.store.file(view.id, view.revision, view.digest, content=hashed, file=file)
        self.posting.shown(message, "")


def simply(message: Message) -> bool:
    """Whether Slack has refused it as it was drawn."""
    return bool(message.tries) and message.problem in UNUSABLE
