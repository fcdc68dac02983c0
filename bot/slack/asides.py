"""What stands in no plan's thread: answers to one person, home tabs, reactions, notices to a channel."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from bot.cards.blocks import Block, section, split
from bot.cards.card import editing
from bot.cards.clarify_form import choices, own_choices, questions
from bot.cards.thread import notice
from bot.planner.runbooks.questions import Form
from bot.slack.folding import folded
from bot.slack.kinds import PERSONAL, said_alone
from bot.slack.posting import Posting
from bot.tickets import Tickets
from storage.contract.states import PlanState
from storage.database.tables import Message
from storage.intention import Intention

CALM = timedelta(seconds=10)  # between two drawings of one home tab, unless its owner did something


@dataclass(frozen=True)
class Asides:
    """Draws and sends them."""

    store: Intention
    posting: Posting
    home: Callable[[str, str], Block] | None = None  # (person, their direct messages) → the home tab
    tickets: Tickets = field(default_factory=Tickets)  # how the board is entered, where there is one

    def send(self, message: Message, rest: Sequence[Message] = ()) -> Sequence[Message]:
        """What went with it, of what else one person is told directly."""
        if message.kind == "tell":
            return self._tell([message, *rest])
        if message.kind in PERSONAL:
            self._personal(message)
        else:
            self._plainly(message)
        return ()

    def _tell(self, messages: Sequence[Message]) -> Sequence[Message]:
        fit, text, blocks = folded([f"{one.text}\n" for one in messages])
        if fit == 1:
            text, blocks = messages[0].text, [section(messages[0].text)]
        room, also = self.posting.room(messages[0].user), messages[1:fit]
        self.posting.post(messages[0], "", text, blocks, channel=room, also=also)
        return also

    def _personal(self, message: Message) -> None:
        if message.kind == "home":
            self._home(message)
        elif message.kind == "enter":
            self._let_in(message)
        elif message.channel.startswith("D"):  # private already; and unlike a whisper it stays
            self.posting.post(message, "", said_alone(message), self._answer(message))
        else:
            self._whisper(message)

    def _let_in(self, message: Message) -> None:
        """The link or token of a visit. Its row knows the visit alone: who reads rows comes in nowhere."""
        visit = self.store.find_visit(message.text)
        if visit and visit.user == message.user and self.tickets.key:
            self.posting.hand_over(message, self.tickets.said(visit))
        self.posting.shown(message, "")

    def _home(self, message: Message) -> None:
        if self.home:
            self.posting.publish(message.user, self.home(message.user, message.channel))
        self.store.note_shown(message, "", next_at=self.store.clock() + CALM)

    def _whisper(self, message: Message) -> None:
        self.posting.whisper(message, said_alone(message), self._answer(message))
        if message.plan_id:
            self.store.unreact(message.plan_id)
        self.posting.shown(message, message.ts)

    def _plainly(self, message: Message) -> None:
        if message.kind in {"react", "unreact"}:
            self.posting.react(message)
        elif message.kind == "say":
            self.posting.post(message, "", message.text, [section(message.text)])
        else:
            self.posting.post(message, "", *notice(message.kind, message.text, message.user))

    def _answer(self, message: Message) -> list[Block]:
        """A sentence to one person; about a plan that may still be changed, with its Edit button."""
        view = self.store.view(message.plan_id) if message.plan_id else None
        if view and view.form and view.state == PlanState.planning:
            return questions(view, Form.model_validate_json(view.form))
        if message.kind == "choose":
            offered = json.loads(message.text)["choices"]
            return [section(said_alone(message)), *(choices(view, offered) if view else own_choices(offered))]
        told = [section(part) for part in split([message.text])]
        return [*told, *(editing(view) if view else [])]
