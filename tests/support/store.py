"""Both façades in one: what tests of the rows play with, and no process of the product ever holds."""

from typing import Any

from storage.execution import Execution
from storage.intention import Intention
from storage.memory import Memory


class Store(Intention, Execution):
    """Every verb there is."""

    def stranger(self) -> "Store":
        """The same rows as another process has them: no lock in common."""
        return Store(self.engine, self.clock)


class TwoHands:
    """The same, by two connections: the bot's verbs by one, the workers' by one that has fewer rights."""

    def __init__(self, bot: Intention, workers: Execution) -> None:
        self.bot, self.workers = bot, workers

    def stranger(self) -> "TwoHands":
        """Another bot and other workers, with no more rights than these."""
        bot = Intention(self.bot.engine, self.bot.clock)
        return TwoHands(bot, Execution(self.workers.engine, self.workers.clock))

    def __getattr__(self, verb: str) -> Any:
        executes = verb == "turn" or verb in vars(Execution)
        return getattr(self.workers if executes else self.bot, verb)


def verbs_of(hand: Memory) -> set[str]:
    """What it lets a process do to the rows, beyond opening a transaction."""
    rows = Memory(hand.engine, hand.clock)
    return {name for name in {*dir(hand)} - {*dir(rows)} if not name.startswith("_")}
