"""Who sees which plan, at the board: policy's one function, asked of each plan, and a quick way to yes."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Protocol, TypeVar

from bot.people import People
from bot.policy.authorize import Actor
from bot.policy.visibility import visible
from storage.board.sums import Reach
from storage.config import SignoffConfig
from storage.looking import Looking
from storage.reading.plan_view import PlanView

MINUTE = 60.0  # for which it is remembered who reads a channel
VIEWS = 300  # plans of other channels that are looked at one by one for one page


class Placed(Protocol):
    """Anything that belongs to a plan of a channel."""

    @property
    def channel(self) -> str: ...
    @property
    def team(self) -> str: ...


P = TypeVar("P", bound=Placed)


@dataclass
class Scopes:
    """Who reads what, remembered for a minute, and which channels have plans at all."""

    store: Looking
    people: People
    config: SignoffConfig
    clock: Callable[[], float] = time.monotonic
    _reads: dict[tuple[str, str], tuple[float, bool]] = field(default_factory=dict)
    _channels: set[str] = field(default_factory=set)
    _after: int = 0
    _lock: Lock = field(default_factory=Lock)

    def of(self, actor: Actor) -> "Scope":
        return Scope(self, actor)

    def reads(self, user: str, channel: str) -> bool:
        now = self.clock()
        with self._lock:
            at, known = self._reads.get((user, channel), (-MINUTE, False))
            if now - at < MINUTE:
                return known
        found = self.people.reads(user, channel)
        with self._lock:
            if len(self._reads) > 20_000:
                self._reads.clear()
            self._reads[user, channel] = now, found
        return found

    def channels(self) -> set[str]:
        """Where plans were ever asked for."""
        newest = self.store.newest()
        with self._lock:
            after = self._after
        fresh = self.store.channels(after) if newest > after else set()
        with self._lock:
            self._channels |= fresh
            self._after = max(self._after, newest)
            return set(self._channels)


@dataclass(frozen=True)
class Scope:
    """What one person sees."""

    scopes: Scopes
    actor: Actor

    def sees(self, view: PlanView) -> bool:
        return visible(self.actor, view, self.scopes.config, partial(self.scopes.reads, self.actor.user))

    @property
    def all(self) -> bool:
        """Whether the journal's own chain is theirs to read, too: of stops, policy and visits."""
        config = self.scopes.config
        return not self.actor.barred and self.actor.among({*config.people.admins, *config.board.auditors})

    def reads(self, placed: Placed) -> bool:
        """The quick way to yes: who could read the channel sees the plan. A no must be asked in full."""
        mine = not self.actor.barred and placed.team == self.actor.team
        return mine and self.scopes.reads(self.actor.user, placed.channel)

    def pick(self, found: Iterable[P], number: Callable[[P], int]) -> list[P]:
        """Those that this person sees. Past a bound, what must be asked in full is left out."""
        left, seen = VIEWS, dict[int, bool]()
        picked = []
        for one in found:
            if self.reads(one):
                picked.append(one)
                continue
            plan = number(one)
            if plan not in seen and left > 0:
                left -= 1
                seen[plan] = self.knows(plan)
            if seen.get(plan):
                picked.append(one)
        return picked

    def knows(self, plan_id: int) -> bool:
        store = self.scopes.store
        return bool(plan_id and store.known(plan_id) and self.sees(store.view(plan_id)))

    def plans(self, ids: Sequence[int]) -> list[int]:
        """Those of these plans that they see."""
        return [line.id for line in self.pick(self.scopes.store.lines_of(ids), lambda line: line.id)]

    def reach(self, apart: Callable[[frozenset[str]], list[int]]) -> Reach:
        """Whose stories count for them; `apart` names plans of channels that they cannot read."""
        channels = self.scopes.channels()
        mine = frozenset(name for name in channels if self.scopes.reads(self.actor.user, name))
        if mine == channels:
            return Reach(mine)
        return Reach(mine, frozenset(plan for plan in apart(mine)[:VIEWS] if self.knows(plan)))
