"""Handles what was delivered, several at once: of each line one at a time, whichever bot has it."""

import logging
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Lock

from bot.context import Bot
from bot.hearing.order import ready
from bot.inbox.dispatch import LATER, handle_one
from bot.turns.claims import Claim, Claims
from storage.database.tables import Delivery
from storage.errors import HandledElsewhere, Unavailable

AT_ONCE = 4  # threads: while one waits for Slack to say who somebody is, the others go on
EACH = 4  # deliveries for each of them that are taken with one look at what waits
AGAIN = 1.0  # seconds after which what must wait is tried again
LATELY = 3.0  # seconds in which it counts that somebody was served
logger = logging.getLogger(__name__)


class Hearer:
    """Handles what was delivered. A turn starts what there is room for, and waits where there is none."""

    def __init__(self, bot: Bot, claims: Claims, at_once: int = AT_ONCE) -> None:
        self._bot, self._claims, self._at_once = bot, claims, at_once
        self._served, self._aside = dict[str, float](), dict[str, float]()
        self._next, self._looking = deque[tuple[Delivery, Claim]](), Lock()
        self._running, self._progress, self._over = list[Future[None]](), Event(), Event()
        self._pool = ThreadPoolExecutor(at_once, "hear")

    def turn(self) -> None:
        """Start a thread for each that can be handled now; a bug in one of them is raised here."""
        self._progress.clear()
        if not self.busy() < self._at_once:
            self._progress.wait()  # who is done takes what is next; if nobody ever is, this loop stands still
            return
        with self._looking:
            self._look()
            wanted = min(len(self._next), self._at_once - len(self._running))
        for _ in range(wanted):
            self._running.append(one := self._pool.submit(self.go_on))
            one.add_done_callback(lambda _: self._progress.set())

    def busy(self) -> int:
        """How many threads handle something."""
        for one in [one for one in self._running if one.done()]:
            self._running.remove(one)
            one.result()
        return len(self._running)

    def close(self) -> None:
        """Nothing new is begun, and what is under way comes to its end."""
        self._over.set()
        self._pool.shutdown()
        for _, claim in self._next:
            self._claims.give_back(claim)
        with suppress(Unavailable):  # then they lapse by themselves
            self._claims.rest()

    def go_on(self) -> None:
        """One after the other, until there is none."""
        try:
            while not self._over.is_set() and (taken := self._take()):
                self._handle(*taken)
            self._claims.rest()
        except Unavailable as error:
            logger.info("nothing is handled now: %s", error)

    def _handle(self, delivery: Delivery, claim: Claim) -> None:
        try:
            with self._bot.store.under(*claim.leases):
                handle_one(self._bot, delivery)
        except HandledElsewhere as error:  # we stood still, and somebody else went on
            logger.info("%s", error)
        except LATER as error:
            logger.info("delivery %s waits: %s", delivery.key, error)
            self._aside[delivery.key] = time.monotonic() + AGAIN
        finally:
            self._claims.give_back(claim)
            self._progress.set()

    def _take(self) -> tuple[Delivery, Claim] | None:
        with self._looking:
            if not self._next:
                self._look()
            return self._next.popleft() if self._next else None

    def _look(self) -> None:
        """Take the first of what waits, in turn; what stands behind it in its lines waits on."""
        now = time.monotonic()
        self._aside = {key: until for key, until in self._aside.items() if until > now}
        self._served = {user: at for user, at in self._served.items() if at > now - LATELY}
        waiting = [one for one in self._bot.store.waiting_deliveries() if one.key not in self._aside]
        if not waiting:
            return
        found = ready(waiting, self._served, self._claims.busy())[: EACH * self._at_once]
        claims = self._claims.take(lines for _, lines in found)
        mine = {one.key: claim for (one, _), claim in zip(found, claims, strict=True) if claim}
        try:
            rows = self._bot.store.still_unhandled(mine)
            for key in [one for one in mine if one in rows]:
                self._next.append((rows[key], mine.pop(key)))
                self._served[rows[key].user] = now
        finally:
            for claim in mine.values():
                self._claims.give_back(claim)
