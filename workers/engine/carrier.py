"""How due steps reach workers processes. A carrier brings ids; claims, fences, decisions stay in our rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from storage.steps.claims import Ending
from workers.engine.attempt import Attempts, Running
from workers.engine.turn import Crew, claim


class Carrier(Protocol):
    """What the clock needs of one."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin; `wake` is called when a turn would find something to take."""

    def take(self, endings: Sequence[Ending]) -> list[Running]:
        """What has ended goes on record; then what this process starts now. Raises before it, or never."""

    def stop(self) -> None:
        """Bring no more: this process takes nothing from now on."""


@dataclass(frozen=True)
class LocalCarrier:
    """Every process looks at the rows itself: a report and the next claim share one commit."""

    attempts: Attempts
    crew: Crew

    def start(self, wake: Callable[[], None]) -> None:
        """The bell of the rows wakes the clock anyhow."""

    def take(self, endings: Sequence[Ending]) -> list[Running]:
        return claim(self.attempts, self.crew, endings)

    def stop(self) -> None:
        """Nothing is on its way."""
