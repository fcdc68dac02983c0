"""What becomes of a message that could not be sent: it waits, is said more simply, comes anew, or ends."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.cards.card import WORDS
from bot.people import Unidentified
from bot.slack.kinds import BARELY, PERSONAL, barely, method
from bot.slack.pace import Pace
from bot.slack.plan_messages import simply
from bot.slack.posting import PAUSE
from bot.slack.refusals import AWAY, HOPELESS, REFUSED, Then, backoff, barred, code_of, patience, verdict
from storage.database.tables import Message
from storage.intention import Intention
from storage.monitoring.troubles import Troubles

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Mishaps:
    """One message that cannot be sent holds up no other; a monitor hears where it is not the message."""

    store: Intention
    client: WebClient
    pace: Pace
    troubles: Troubles
    steady: Callable[[], float]

    def none(self, message: Message) -> None:
        """Slack took it: what was in the way of such messages is mended."""
        self.pace.heard()
        for about in ("Slack", "token", f"scope of {method(message)}"):
            self.troubles.mend(about)

    def unread(self, message: Message, error: Unidentified) -> None:
        """Slack does not say who reads a channel."""
        if isinstance(error.__cause__, SlackApiError):
            self.refused(message, error.__cause__)
        else:
            self.unreachable(message, str(error), refused=True)

    def unreachable(self, message: Message, problem: str, *, refused: bool) -> None:
        """Nobody else is tried for a while, either; and a monitor hears of it."""
        self.pace.lost(self.steady())
        self.troubles.say("Slack", f"{problem}; what shall be shown there waits.")
        self._put_off(message, backoff(message.tries, AWAY), problem, refused=refused)

    def broken(self, message: Message, error: Exception) -> None:
        """It cannot be drawn: once more, then in bare words, then never."""
        logger.exception("message %s cannot be drawn", message.key)
        if barely(message):
            self.end(message, f"{BARELY}{type(error).__name__}")
        else:
            why = f"{BARELY if message.tries else ''}{type(error).__name__}"
            self._put_off(message, backoff(message.tries), why, refused=True)

    def refused(self, message: Message, error: SlackApiError) -> None:
        code, personal = code_of(error), message.kind in PERSONAL
        if code == "account_inactive" and personal and not self._accepted():
            personal = False  # the bot's own account, then
        status, tries = error.response.status_code, message.tries
        card = self.store.card_of(message.plan_id) if code == "thread_not_found" else None
        if card and card.ts:
            self._again(card)
            self._put_off(message, backoff(0), code, refused=True)
            return
        then = verdict(code, status, shown=bool(message.ts), tries=tries, personal=personal)
        if then == Then.paused:
            wait = patience(error.response.headers.get("Retry-After", ""))
            self.pace.refused(method(message), self.steady(), wait)
            self._put_off(message, timedelta(seconds=wait), code, refused=True)
        elif then == Then.away:
            self.unreachable(message, f"Slack does not answer properly ({code})", refused=False)
        elif then == Then.barred:
            self.troubles.say(*barred(method(message), code, str(error.response.get("needed") or "")))
            self._put_off(message, backoff(tries), code, refused=True)
        else:
            self._judged(message, code, then)

    def _judged(self, message: Message, code: str, then: Then) -> None:
        if then == Then.anew:
            self._again(message)
        elif then == Then.waits or message.key.startswith("plan:"):  # without that file nobody can decide
            self._put_off(message, backoff(message.tries), code, refused=True)
        elif message.kind == "card" and code in REFUSED and self._plainer(message):
            self._put_off(message, timedelta(0), code, refused=True)
        elif then == Then.ends or barely(message):
            self.end(message, code)
        else:
            simpler = message.plan_id and not simply(message)
            self._put_off(message, timedelta(0), code if simpler else f"{BARELY}{code}", refused=True)

    def _plainer(self, message: Message) -> bool:
        """From now on this workspace is spoken to more plainly; False where there is no plainer way."""
        team = self.store.view(message.plan_id).team
        level = self.store.plainness(team)
        if level < WORDS:
            self.store.speak_plainer(team, level + 1)
        return level < WORDS

    def _accepted(self) -> bool:
        """Whether Slack still knows the bot."""
        try:
            self.client.auth_test()
        except SlackApiError:
            return False
        return True

    def end(self, message: Message, code: str) -> None:
        """It is never shown; why stands in its row, and the requester hears of it if they can."""
        logger.error("message %s cannot be shown: %s", message.key, code)
        self.store.note_shown(message, message.ts, next_at=self.store.clock() + PAUSE, problem=code)
        self._apologise(message, code)

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
        if message.key.startswith("plan:") and message.problem != problem:
            self.store.unfile(message.plan_id)  # the card says why there is no Approve yet
