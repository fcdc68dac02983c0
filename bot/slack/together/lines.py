"""Who says what, where several bots speak: of each line one at a time, and in its order."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from bot.slack.kinds import PERSONAL
from bot.turns.claims import Claims
from storage.errors import Unavailable
from storage.exchange.outbox import Due, Turn
from storage.exchange.thoughts import KIND, thinks_for
from storage.intention import Intention

AT_ONCE = 8  # lines that one bot takes in a round; the others are for the others


def line(message: Due) -> str:
    """Where it stands: with its plan's card and thread, with a person's own words, or with its channel's."""
    plan = thinks_for(message) if message.kind == KIND else message.plan_id
    if message.kind in PERSONAL:
        return f"person {message.user}"
    return f"plan {plan}" if plan else f"place {message.channel}"


@dataclass(frozen=True)
class Lines:
    """The lines that this bot takes for a round. What is noted without them is refused."""

    store: Intention
    claims: Claims

    @contextmanager
    def taken(self, turns: Sequence[Turn]) -> Iterator[list[Turn]]:
        """Those of these that are ours now, as the rows stand since."""
        busy = self.claims.busy() if turns else set[str]()
        free = [*dict.fromkeys(name for one in turns if (name := line(one.message)) not in busy)][:AT_ONCE]
        found = [one for one in self.claims.take([name] for name in free) if one]
        try:
            with self.store.under(*(lease for one in found for lease in one.leases)):
                yield self._again(turns, {name for one in found for name in one.names})
        finally:
            for one in found:
                self.claims.give_back(one)
            with suppress(Unavailable):  # then they lapse by themselves
                self.claims.rest()

    def _again(self, turns: Sequence[Turn], mine: set[str]) -> list[Turn]:
        """Between the look and the claim somebody may have said it."""
        ours = [one for one in turns if line(one.message) in mine]
        rows = self.store.still_due(one.message.id for one in ours) if ours else {}
        return [one._replace(message=rows[one.message.id]) for one in ours if one.message.id in rows]
