"""While a planner thinks: Slack's own status in a thread, a line on the card, or a message in its place."""

from dataclasses import dataclass, field

from slack_sdk.errors import SlackApiError

from bot.cards.blocks import escape, section
from bot.slack.posting import Posting
from bot.slack.refusals import code_of
from bot.untrusted import clip
from storage.contract.states import PlanState
from storage.database.tables import Message
from storage.exchange.thoughts import AGAIN, thinks_for
from storage.intention import Intention
from storage.reading.plan_view import PlanView

GONE = {"message_not_found", "cant_delete_message"}  # as it shall be
WAITS = {PlanState.proposed, PlanState.approved, PlanState.stalled}


@dataclass
class OwnStatus:
    """Which channels have no status of Slack's own: not every workspace has it, and not everywhere."""

    without: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Thinking:
    """Shows what a planner does just now, and takes it away when that is over."""

    store: Intention
    posting: Posting
    own: OwnStatus

    def send(self, message: Message) -> None:
        view = self.store.view(thinks_for(message))
        said, place = (message.text if thinks(view) else ""), view.thread or view.card
        if not (said or message.shown or message.ts):
            self.posting.shown(message, "")  # it was over before anybody was told
            return
        native = bool(place) and self._natively(message.channel, place, said)
        if view.card:
            self.store.say_on_card(view.id)
        if said and not native and not view.card:
            self._in_its_place(message, view, said)
        else:
            self._take_away(message)

    def _natively(self, channel: str, thread: str, said: str) -> bool:
        """Whether this workspace shows a status of Slack's own there."""
        if channel in self.own.without:
            return False
        try:
            self.posting.status(channel, thread, said)
        except SlackApiError as error:
            if code_of(error) == "ratelimited":
                raise
            self.own.without.add(channel)
            return False
        return True

    def _in_its_place(self, message: Message, view: PlanView, said: str) -> None:
        """Where the card will stand: the wish, and what is done about it. Nobody is called by it."""
        told = f"*{escape(clip(' '.join(view.text.split()), 300))}*\n{escape(said)}"
        until = self.store.clock() + AGAIN  # then it is looked whether it still does
        self.posting.post(message, view.thread, told, [section(told)], again_at=until)

    def _take_away(self, message: Message) -> None:
        if message.ts:
            try:
                self.posting.delete(message)
            except SlackApiError as error:
                if code_of(error) not in GONE:
                    raise
        self.posting.shown(message, "")


def thinks(view: PlanView) -> bool:
    """Whether a planner may be at it; a wish that waits for an answer, or has ended, is not thought about."""
    return view.state in WAITS or (view.state == PlanState.planning and not view.form)
