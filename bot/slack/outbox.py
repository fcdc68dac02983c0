"""The only speaker to Slack. Rows say what shall be shown; it is rendered when it is sent."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache, cached_property
from http.client import HTTPException
from pathlib import Path
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackRequestError

from bot.cards.blocks import Block, section
from bot.cards.thread import needless
from bot.people import Unidentified
from bot.slack.asides import Asides
from bot.slack.folding import FEW, STEPS, along, crowded, ending, held, is_line, letters, reads
from bot.slack.kinds import PERSONAL, PLAIN, TOLD, bare, barely, calls_to, method
from bot.slack.mishaps import Mishaps
from bot.slack.pace import UPDATE, Pace
from bot.slack.plan_messages import PlanMessages
from bot.slack.posting import Posting
from bot.slack.thinking import OwnStatus, Thinking
from bot.slack.together.lines import Lines
from bot.tickets import Tickets
from bot.turns.reminders import Groups
from storage.clock import Drift
from storage.contract.states import PlanState
from storage.database.tables import Message
from storage.errors import HandledElsewhere, Unavailable
from storage.exchange.outbox import Due, Turn
from storage.exchange.thoughts import KIND
from storage.intention import Intention
from storage.monitoring.troubles import Troubles
from storage.reading.plan_view import PlanView

ROUND = 1.0  # seconds of sending after which it is looked anew who goes first
SHARED = "this channel is shared with another organisation, or is about to be."
Views = Callable[[int], PlanView]  # as they are in one round: three hundred lines read a plan once
UNREACHABLE = (OSError, HTTPException, SlackRequestError)


@dataclass(frozen=True)
class Outbox:
    """Sends what is due, and remembers what Slack shows."""

    store: Intention
    client: WebClient
    home: Callable[[str, str], Block] | None = None  # (person, their direct messages) → the home tab
    artifacts: Path | None = None  # where the workers of this machine keep the logs of their steps
    on_call: str = ""  # the user group that a question calls
    site: str = ""  # the workspace's address, for links
    groups: Groups | None = None  # who is in a group whose members are called
    guides: bool = False  # whether there is a planner that a person can tell how to go on
    fresh: Callable[[PlanView], PlanView] = lambda view: view  # held against what it rests on, as it is now
    admins: Sequence[str] = ()  # who hears of an alarm
    tickets: Tickets = field(default_factory=Tickets)  # how the board is entered, where there is one
    shared: Callable[[str], bool] = lambda channel: False  # whether other organisations read a channel
    pace: Pace = field(default_factory=Pace)
    lines: Lines | None = None  # where other bots speak, too
    status: OwnStatus = field(default_factory=OwnStatus)  # where Slack shows what a planner does
    troubles: Troubles = field(default_factory=Troubles)  # what a monitor is told of Slack
    steady: Callable[[], float] = time.monotonic
    drift: Drift = field(default_factory=Drift)

    @cached_property
    def posting(self) -> Posting:
        return Posting(self.store, self.client)

    @cached_property
    def asides(self) -> Asides:
        return Asides(self.store, self.posting, self.home, self.tickets)

    @cached_property
    def plans(self) -> PlanMessages:
        whom = (self.on_call, self.site, self.groups, self.guides)
        whose = (self.fresh, self.admins, self.tickets)
        return PlanMessages(self.store, self.posting, self.artifacts, *whom, *whose)

    @cached_property
    def thinking(self) -> Thinking:
        return Thinking(self.store, self.posting, self.status)

    @cached_property
    def mishaps(self) -> Mishaps:
        return Mishaps(self.store, self.client, self.pace, self.troubles, self.steady)

    def open_view(self, trigger: str, view: dict[str, Any]) -> None:
        """Open a form for the person who clicked."""
        self.posting.open_view(trigger, view)

    def speak(self) -> None:
        """One short round over what is stale, as fast as Slack takes it; the next looks anew who is first.

        Each message is alone: one that cannot be sent or drawn waits, and stops no other.
        """
        if self.pace.silent(self.steady()):
            return
        if self.drift.set_back(self.store.clock(), self.steady()):
            self.store.hasten()  # its waits were written by a clock that has been put back
        if waiting := self.store.in_line(self.pace.served):
            self.pace.look(self.steady())
            with self._ours(waiting) as line:
                self._round(line, cache(self.store.view))

    def _ours(self, waiting: list[Turn]) -> AbstractContextManager[list[Turn]]:
        return self.lines.taken(waiting) if self.lines else nullcontext(waiting)

    def _round(self, line: Sequence[Turn], views: Views) -> None:
        until, waiting = self.steady() + ROUND, [turn.message for turn in line]
        done, late = set[int](), set[int]()
        for whose, message, urged in line:
            if self.steady() >= until or self.pace.silent(self.steady()):
                return
            if message.id in done or (message.plan_id and message.plan_id in late):
                continue  # a thread keeps its order
            if said := self._take_turn(message, waiting, views, urged=urged):
                done |= {one.id for one in said}
                self.pace.served[whose] = self.steady()
            elif not message.ts:  # what stands in its place already holds up nobody
                late.add(message.plan_id)

    def _take_turn(
        self, message: Due, waiting: Sequence[Due], views: Views, *, urged: bool
    ) -> Sequence[Due | Message]:
        """What is out of the way now: this, what went with it, or nothing."""
        if not self._grows(message, waiting, views):
            return self._take_line(message, waiting, views, urged=urged)
        rest = reads(message, waiting, lambda one: self._read(one, views))
        if self.plans.calm(message.plan_id):
            return (
                message,
                *rest,
            )  # in this round: they join a message above, so that nothing waits for them
        return self._say(message, rest, views, urged=urged, grows=True)

    def _take_line(
        self, message: Due, waiting: Sequence[Due], views: Views, *, urged: bool
    ) -> Sequence[Due | Message]:
        """Lines that wait together go together, where somebody would wait for each of them else."""
        place = message.channel or message.user
        if not self.pace.ready(method(message), place, self.steady(), urged=urged):
            return ()
        if end := ending(message, waiting):
            lines, summary = end
            return self._say(summary, lines, views, urged=urged)
        looked = is_line(message) and self._read(message, views)
        going = looked and views(message.plan_id).state == PlanState.approved
        if going and held(message, waiting, self.store.clock()):
            return (message,)  # in this round: nothing is behind it
        tight = self.pace.tight(place, self.steady())
        if message.kind == "tell":
            return self._say(message, letters(message, waiting) if tight else (), views, urged=urged)
        rest = along(message, waiting, few=1 if tight or looked else FEW) if urged or tight or looked else ()
        return self._say(message, rest, views, urged=urged)

    def _grows(self, message: Due, waiting: Sequence[Due], views: Views) -> bool:
        """Whether it tells of a look-up that goes into the thread's growing message."""
        if not is_line(message) or not self._read(message, views):
            return False
        return len(views(message.plan_id).steps) > STEPS or crowded(message, waiting)

    def _read(self, message: Due, views: Views) -> bool:
        view = views(message.plan_id)
        return view.has(message.step) and not view.step(message.step).changes

    def _say(
        self, due: Due, others: Sequence[Due], views: Views, *, urged: bool, grows: bool = False
    ) -> Sequence[Due | Message]:
        """Only now, with their words: what waits may be thousands, and few of them go in a round."""
        rows = self.store.still_stale(one.id for one in (due, *others))
        if due.id not in rows:
            return (due,)  # somebody else was faster
        message, rest = rows[due.id], [rows[one.id] for one in others if one.id in rows]
        return self._try(
            self.plans.joining(message) if grows else message, rest, views, urged=urged, grows=grows
        )

    def _try(
        self, message: Message, rest: Sequence[Message], views: Views, *, urged: bool, grows: bool
    ) -> Sequence[Message]:
        try:
            said = self._said(message, rest, views, urged=urged, grows=grows)
        except SlackApiError as error:
            self.mishaps.refused(message, error)
        except Unidentified as error:
            self.mishaps.unread(message, error)
        except UNREACHABLE as error:
            why = f"Slack cannot be reached ({type(error).__name__})"
            self.mishaps.unreachable(message, why, refused=False)
        except (Unavailable, HandledElsewhere):
            raise
        except Exception as error:  # noqa: BLE001 # whatever it is: one message holds up no other
            self.mishaps.broken(message, error)
        else:
            return said
        return ()

    def _said(
        self, message: Message, rest: Sequence[Message], views: Views, *, urged: bool, grows: bool
    ) -> Sequence[Message]:
        place, now = message.channel or message.user, self.steady()
        if not self.pace.ready(method(message), place, now, urged=urged):
            return ()
        if self._needless(message, views):
            self.posting.shown(message, "")
            return (message,)
        if self._waits_for_card(message) or not self._room(message, place, urged=urged):
            return ()
        went = self._send(message, [one for one in rest if not self._needless(one, views)], grows=grows)
        self.mishaps.none(message)
        return (message, *went)

    def _room(self, message: Message, place: str, *, urged: bool) -> bool:
        """Whether there is room for it now; a new card is changed as soon as it is there."""
        now, new = self.steady(), message.kind == "card" and not message.ts
        if new and not self.pace.ready(UPDATE, place, now):
            return False
        taken = self.pace.take(method(message), place, now, urged=urged)
        if taken and new:
            self.pace.take(UPDATE, place, now)
        return taken

    def _send(self, message: Message, rest: Sequence[Message], *, grows: bool) -> Sequence[Message]:
        """What went with it."""
        if self._overheard(message):
            self._neutrally(message)
        elif barely(message):
            self._barely(message)
        elif message.kind == KIND:
            self.thinking.send(message)
        elif message.kind in PERSONAL | PLAIN:
            return self.asides.send(message, rest)
        else:
            return self.plans.send(message, rest, grows=grows)
        return ()

    def _overheard(self, message: Message) -> bool:
        """Whether other organisations would read it."""
        aside = message.kind in PERSONAL | {"react", "unreact"}
        return not aside and self.shared(message.channel)

    def _neutrally(self, message: Message) -> None:
        """Other organisations read this channel, or soon will: of a plan they see that there is something."""
        what = f"plan {message.plan_id}" if message.plan_id else "what was asked of me"
        said = f"I say nothing about {what} here: {SHARED} Who may see it finds it in my home tab."
        if message.ts or message.kind in TOLD | PLAIN:
            view = self.store.view(message.plan_id) if message.plan_id else None
            thread = "" if view is None else view.thread or (view.card if message.kind != "card" else "")
            self.posting.post(message, thread, said, [section(said)])
        else:
            self.posting.shown(message, "")

    def _barely(self, message: Message) -> None:
        """The last resort: words that need no drawing, and nothing to press."""
        card = self.store.card_of(message.plan_id) if message.plan_id else None
        thread = card.ts if card and message.kind != "card" else ""
        if message.kind in {"whisper", "enter"}:
            self.posting.whisper(message, bare(message))
            self.posting.shown(message, message.ts)
        elif message.kind in {"home", "file", "react", KIND}:
            self.mishaps.end(message, message.problem)
        else:
            room = self.posting.room(message.user) if message.kind == "tell" else message.channel
            self.posting.post(message, thread, bare(message), [], channel=room)

    def _waits_for_card(self, message: Message) -> bool:
        """A thread has its place under the card: until that is posted, and for ever if it cannot be."""
        if not message.plan_id or message.kind in PERSONAL | PLAIN | {"card"}:
            return False
        card = self.store.card_of(message.plan_id)
        if card is None and self.store.view(message.plan_id).private:
            return False
        if card and not card.ts and card.problem and card.shown == card.wanted:
            self.store.note_shown(message, "", next_at=self.store.clock(), problem=card.problem)
        return not (card and card.ts)

    def _needless(self, message: Message, views: Views) -> bool:
        """What need not be said takes nobody's turn."""
        if wants := calls_to(message):
            view = views(wants)  # they, or somebody, may have decided meanwhile
            return view.state != PlanState.proposed or message.user in view.approved_by
        if not message.plan_id or message.ts or message.kind in PERSONAL | PLAIN:
            return False
        view = views(message.plan_id)
        if view.private:
            return message.kind != "summary"
        if view.revision == 0 and view.state == PlanState.cancelled and not view.card:
            return True  # it never became a plan, and the person was told why
        if message.kind == "card" and view.state == PlanState.planning:
            return True  # the first that everybody sees is a plan
        if message.kind not in {"outcome", "decision", "changes"}:
            return False
        return needless(message.kind, view, self.store.event(message.plan_id, message.seq))
