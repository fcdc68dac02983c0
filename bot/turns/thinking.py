"""Several thoughts at once, in any number of bots: of each plan one at a time, reviews first."""

import logging
import time
from contextlib import suppress
from threading import Thread

from bot.context import Bot
from bot.plans.review import Work
from bot.turns.claims import Claim, Claims
from bot.turns.rounds import attempt, line, to_think
from storage.errors import Conflict, Unavailable

logger = logging.getLogger(__name__)


class Thinker:
    """What this process thinks about now. A turn starts what there is room for, and waits for nothing.

    What is cut off by the end of the process is found in the rows again.
    """

    def __init__(self, bot: Bot, claims: Claims, at_once: int) -> None:
        self._bot, self._claims, self._at_once = bot, claims, at_once
        self._served = dict[str, float]()
        self._running = dict[Thread, Claim]()

    def turn(self) -> None:
        """Start what is new, the most urgent first."""
        mine = self._take(self._at_once - self.busy())
        try:
            for whose, one in self._wanted() if mine else ():  # as it stands now that nobody else has it
                if claim := mine.pop(line(one), None):
                    self._start(whose, one, claim)
        finally:
            for claim in mine.values():  # somebody else has thought about it meanwhile
                self._claims.give_back(claim)
            if mine:
                self._rest()

    def busy(self) -> int:
        """How many plans are thought about."""
        self._running = {thread: claim for thread, claim in self._running.items() if thread.is_alive()}
        return len(self._running)

    def close(self) -> None:
        """What is under way is left to others at once; what we still write of it is refused."""
        for claim in self._running.values():
            self._claims.give_back(claim)
        self._rest()

    def _take(self, room: int) -> dict[str, Claim]:
        """The first plans that nobody thinks about, as many as there is room for, by a claim on each."""
        if not room or not (wanted := self._wanted()):
            return {}
        busy = self._claims.busy()
        lines = [one for one in dict.fromkeys(line(one) for _, one in wanted) if one not in busy][:room]
        claims = self._claims.take([one] for one in lines)
        return {one: claim for one, claim in zip(lines, claims, strict=True) if claim}

    def _wanted(self) -> list[tuple[str, Work]]:
        return to_think(self._bot, self._served)

    def _start(self, whose: str, one: Work, claim: Claim) -> None:
        self._served[whose] = self._served[line(one)] = time.monotonic()
        thread = Thread(target=self._think, args=(one, claim), name=f"plan-{one.plan_id}", daemon=True)
        self._running[thread] = claim
        thread.start()

    def _think(self, one: Work, claim: Claim) -> None:
        try:
            with self._bot.store.under(*claim.leases):
                attempt(self._bot, one)
        except (Conflict, Unavailable) as error:
            logger.info("plan=%s was thought about for nothing: %s", one.plan_id, error)
        except Exception:
            logger.exception("thinking about plan %s broke", one.plan_id)
        finally:
            self._claims.give_back(claim)
            self._rest()

    def _rest(self) -> None:
        with suppress(Unavailable):  # then they lapse by themselves
            self._claims.rest()
