"""What is worked on just now: lines, each taken by one at a time, whichever bot that is.

In this process a set of names says so. Where other bots may be, each name is a lease as well: it lasts as
long as this process renews it, and what is written without it is refused.
"""

import logging
import time
import uuid
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from threading import Lock

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from storage.database import leases
from storage.database.answering import answering
from storage.database.leases import Held
from storage.errors import Unavailable

PATIENCE = 300.0  # seconds for which somebody may work on one thing; then it is left to others
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claim:
    """Names that were taken together, and are given back together."""

    names: frozenset[str]
    leases: tuple[Held, ...]
    since: float


class Claims:
    """Those of one process, for one kind of work."""

    def __init__(
        self, engine: Engine, kind: str, patience: float = PATIENCE,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._engine, self._kind, self._patience, self._steady = engine, f"{kind}: ", patience, steady
        self._shared = engine.dialect.name == "postgresql"  # on SQLite there is one bot
        self._held, self._done = set[Claim](), list[Held]()
        self._lock, self._asking = Lock(), Lock()

    def busy(self) -> set[str]:
        """The names that anybody works on; what we have done is free, also before the rows hear of it."""
        with self._lock:
            mine = {name for claim in self._held for name in claim.names}
            done = {one.name for one in self._done}
        if not self._shared:
            return mine
        with answering():
            there = leases.live(self._engine) - done
        return mine | {name.removeprefix(self._kind) for name in there if name.startswith(self._kind)}

    def take(self, wanted: Iterable[Collection[str]]) -> list[Claim | None]:
        """A claim on each of these, where all its names are free."""
        with self._asking:
            asked = [frozenset(names) for names in wanted]
            held = self._lease({name for names in asked for name in names})
            with self._lock:
                return [self._take(names, held) for names in asked]

    def give_back(self, claim: Claim) -> None:
        """It is done. The rows hear of it with the next claim, or by `rest`."""
        with self._lock:
            self._held.discard(claim)
            self._done += claim.leases

    def rest(self) -> None:
        """Give back all that is done."""
        with self._asking:
            self._lease(set())

    def keep(self) -> None:
        """Whoever works on something goes on having it; but not for ever."""
        since = self._steady() - self._patience
        with self._lock:
            owners = {one.owner for claim in self._held if claim.since > since for one in claim.leases}
        try:
            with answering():
                if owners:
                    leases.renew(self._engine, owners)
        except (Unavailable, DBAPIError) as error:
            logger.warning("claims cannot be renewed now: %s", error)

    def _take(self, names: frozenset[str], held: dict[str, Held]) -> Claim | None:
        got = tuple(held.pop(name) for name in names if name in held)
        busy = any(not names.isdisjoint(claim.names) for claim in self._held)
        if busy or (self._shared and len(got) < len(names)):
            self._done += got
            return None
        claim = Claim(names, got, self._steady())
        self._held.add(claim)
        return claim

    def _lease(self, names: set[str]) -> dict[str, Held]:
        """Those that are ours by the rows now, by an owner of their own: no late one passes for another."""
        if not self._shared:
            return {}
        with self._lock:
            done = [*self._done]
        found = dict[str, Held]()
        if names or done:
            with answering():
                found = leases.claim(
                    self._engine, [self._kind + name for name in names], uuid.uuid4().hex, done
                )
        with self._lock:
            self._done = [one for one in self._done if one not in done]
        return {name.removeprefix(self._kind): one for name, one in found.items()}
