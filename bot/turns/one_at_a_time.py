"""Several bots over the same rows: what they do not share, one of them does at a time, without a leader."""

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Sequence

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from storage.database import leases
from storage.database.leases import SECONDS, Held
from storage.memory import Memory

logger = logging.getLogger(__name__)


class Shifts:
    """The leases of one bot. Who stands still loses its own, and another one goes on.

    A lease spares work; that nothing happens twice is for its fence and for the conditions of the rows.
    """

    def __init__(
        self,
        engine: Engine,
        names: Iterable[str],
        stands_still: Callable[[str], bool] = lambda _: False,
        steady: Callable[[], float] = time.monotonic,
        keeps: Sequence[Callable[[], None]] = (),
    ) -> None:
        self.owner, self._engine, self._names = uuid.uuid4().hex, engine, sorted(names)
        self._stands_still, self._steady = stands_still, steady
        self._held: dict[str, tuple[Held, float]] = {}
        self._keeps = keeps  # what is renewed together with them
        self._alone = engine.dialect.name != "postgresql"  # one machine, one bot

    def keep(self) -> None:
        """Renew what is ours, take what is free; but nothing for a loop that stands still."""
        if self._alone:
            return
        for keep in self._keeps:
            keep()
        at, turning = self._steady(), [name for name in self._names if not self._stands_still(name)]
        try:
            held = leases.hold(self._engine, turning, self.owner)
        except DBAPIError as error:
            logger.warning("leases cannot be renewed now: %s", error)
            return
        for name in held.keys() - self._held.keys():
            logger.info("this bot does “%s” now", name)
        self._held = {name: (lease, at) for name, lease in held.items()}

    def in_turn(self, memory: Memory, name: str, work: Callable[[], None]) -> Callable[[], None]:
        """The same work, left out while another bot does it; what is shared stays as it is."""

        def turn() -> None:
            if lease := self._mine(name):
                with memory.under(lease):
                    work()

        return turn if name in self._names and not self._alone else work

    def give_back(self) -> None:
        """Who ends leaves its work to the others at once; if the database is away, when its leases lapse."""
        if self._alone:
            return
        try:
            leases.give_back(self._engine, self.owner)
        except DBAPIError as error:
            logger.warning("leases cannot be given back now, and lapse by themselves: %s", error)

    def _mine(self, name: str) -> Held | None:
        lease, at = self._held.get(name, (None, 0.0))
        return lease if self._steady() - at < SECONDS else None
