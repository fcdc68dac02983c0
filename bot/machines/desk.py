"""Behind every door stands the same desk: who knocks, how often, what the rows say. Sync work in threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from bot.context import Bot
from bot.machines import asking
from bot.machines.bell import Bell
from bot.machines.limits import Limits
from bot.machines.principal import Machine, identified
from bot.machines.wire import Asked, Listed, Status

PROMPT = 2.0  # seconds in which an ask is usually handled: then its answer says more than “accepted”
LONGEST_WAIT = 50  # seconds; the server ends a connection after 60
T = TypeVar("T")


@dataclass(frozen=True)
class Desk:
    """What the doors of one process share."""

    bot: Bot
    bell: Bell
    limits: Limits
    pool: ThreadPoolExecutor

    async def run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.pool, work)

    async def admit(self, secret: str) -> Machine:
        """Which machine this is; TooFast when it knocks too often."""
        machine = await self.run(partial(identified, self.bot, secret))
        self.limits.knock(machine.name)
        return machine

    async def propose(self, machine: Machine, asked: Asked, key: str) -> Status:
        """Committed, and given a moment to be handled; never longer, for planning may take minutes."""
        found = await self.run(partial(asking.take_in, self.bot, machine, asked, key))

        async def handled() -> Status | None:
            return await self.run(partial(asking.standing_of, self.bot, machine, found))

        known = await self.bell.until(handled, PROMPT)
        return (known or Status(state="accepted")).model_copy(update={"key": key})

    async def status(self, machine: Machine, plan_id: int, seconds: float = 0, seen: str = "") -> Status:
        """Where a plan stands; with seconds, as soon as that is another state than `seen`, or the end."""
        look = partial(asking.status, self.bot, machine, plan_id)
        first = await self.run(look)
        told = seen or first.state

        async def moved() -> Status | None:
            now = await self.run(look)
            return now if now.over or now.needs or now.state != told else None

        if seconds <= 0:
            return first
        with self.limits.wait(machine.name):
            found = await self.bell.until(moved, min(seconds, LONGEST_WAIT))
        return found if found is not None else await self.run(look)

    async def cancel(self, machine: Machine, plan_id: int, reason: str, via: str) -> Status:
        return await self.run(partial(asking.cancel, self.bot, machine, plan_id, reason, via))

    async def runbooks(self, machine: Machine) -> list[Listed]:
        return await self.run(partial(asking.runbooks, self.bot, machine))
