"""Several thoughts at once: each plan in a thread of its own, reviews first, no plan twice at a time."""

import logging
import time
from collections.abc import Callable
from threading import Lock, Thread

from bot.context import Bot
from bot.plans.review import Work
from bot.turns.rounds import attempt, to_think
from storage.database.leases import Held
from storage.errors import Conflict, HandledElsewhere, Unavailable

logger = logging.getLogger(__name__)


class Thinker:
    """What this process thinks about now. A turn starts what there is room for, and waits for nothing.

    What is cut off by the end of the process is found in the rows again.
    """

    def __init__(self, bot: Bot, at_once: int, wake: Callable[[], None] = lambda: None) -> None:
        self._bot, self._at_once, self._wake = bot, at_once, wake
        self._served: dict[str, float] = {}
        self._busy: set[int] = set()
        self._lock = Lock()

    def turn(self) -> None:
        """Start what is new, the most urgent first."""
        for whose, one in to_think(self._bot, self._served):
            if not self._take(one.plan_id):
                continue
            self._served[whose] = self._served[f"plan {one.plan_id}"] = time.monotonic()
            leases = self._bot.store.leases
            Thread(target=self._think, args=(one, leases), name=f"plan-{one.plan_id}", daemon=True).start()

    def busy(self) -> int:
        with self._lock:
            return len(self._busy)

    def _take(self, plan_id: int) -> bool:
        with self._lock:
            free = len(self._busy) < self._at_once and plan_id not in self._busy
            if free:
                self._busy.add(plan_id)
            return free

    def _think(self, one: Work, leases: tuple[Held, ...]) -> None:
        try:
            with self._bot.store.under(*leases):
                attempt(self._bot, one)
        except (Conflict, HandledElsewhere, Unavailable) as error:
            logger.info("plan=%s was thought about for nothing: %s", one.plan_id, error)
        except Exception:
            logger.exception("thinking about plan %s broke", one.plan_id)
        finally:
            with self._lock:
                self._busy.discard(one.plan_id)
            self._wake()
