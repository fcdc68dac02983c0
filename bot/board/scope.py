"""Who sees which plan, at the board: policy's one function, asked of each plan, and a quick way to yes."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Protocol, TypeVar

from bot.board.remember import Remembered
from bot.people import People
from bot.policy.authorize import Actor
from bot.policy.visibility import visible
from storage.board.lines import PlanLine
from storage.board.sums import Reach
from storage.config import SignoffConfig
from storage.looking import Looking
from storage.reading.plan_view import PlanView

MINUTE = 60.0  # for which it is remembered who has a part in a plan
VIEWS = 300  # plans of other channels that are looked at one by one for one page


class Placed(Protocol):
    """Anything that belongs to a plan of a channel."""

    @property
    def channel(self) -> str: ...
    @property
    def team(self) -> str: ...


P = TypeVar("P", bound=Placed)
T = TypeVar("T")
Noted = dict[Hashable, tuple[Callable[["Scope"], Any], Any]]  # what was asked about a person, and answered


@dataclass
class Scopes:
    """Who sees which plans of channels that they cannot read, and which channels have plans at all."""

    store: Looking
    people: People
    config: SignoffConfig
    seen: Remembered = field(default_factory=lambda: Remembered(MINUTE, 20_000))
    _channels: set[str] = field(default_factory=set)
    _after: int = 0
    _lock: Lock = field(default_factory=Lock)

    def of(self, actor: Actor) -> "Scope":
        return Scope(self, actor)

    def reads(self, user: str, channel: str) -> bool:
        return self.people.reads(user, channel)

    def knows(self, scope: "Scope", line: PlanLine) -> bool:
        """Asked of the plan itself; remembered as long as neither it nor the person has moved."""
        find = lambda: scope.may(self.store.view(line.id))  # noqa: E731
        return self.seen.get((scope.actor, line.id, line.version), find)

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
    """What one person sees. Every answer is noted: for whom all of them are the same, the page is."""

    scopes: Scopes
    actor: Actor
    noted: Noted = field(default_factory=dict, compare=False)

    def note(self, key: Hashable, ask: Callable[["Scope"], T]) -> T:
        """Answer a question about this person, once for each page."""
        if key not in self.noted:
            self.noted[key] = ask, ask(self)
        found: T = self.noted[key][1]
        return found

    def answers_as(self, noted: Noted) -> bool:
        """Whether this person would have been answered the same, every time."""
        return all(self.note(key, ask) == answer for key, (ask, answer) in [*noted.items()])

    def sees(self, view: PlanView) -> bool:
        """Asked of the plan itself, unless whoever reads its channel sees it anyway."""
        if not view.private and self.reads(view):
            return True
        return self.note(("sees", view.id, view.version), lambda one: one.may(view))

    def may(self, view: PlanView) -> bool:
        return visible(self.actor, view, self.scopes.config, partial(self.scopes.reads, self.actor.user))

    @property
    def all(self) -> bool:
        """Whether the journal's own chain is theirs to read, too: of stops, policy and visits."""
        return self.note("all", lambda one: one.audits())

    def audits(self) -> bool:
        config = self.scopes.config
        return not self.actor.barred and self.actor.among({*config.people.admins, *config.board.auditors})

    def reads(self, placed: Placed) -> bool:
        """The quick way to yes: who could read the channel sees the plan. A no must be asked in full."""
        team, channel = placed.team, placed.channel
        return self.note(("reads", team, channel), lambda one: one.reads_in(team, channel))

    def reads_in(self, team: str, channel: str) -> bool:
        mine = not self.actor.barred and team == self.actor.team
        return mine and self.scopes.reads(self.actor.user, channel)

    def pick(self, found: Iterable[P], number: Callable[[P], int]) -> list[P]:
        """Those that this person sees. Past a bound, what must be asked in full is left out."""
        listed = [*found]
        unsure = dict.fromkeys(number(one) for one in listed if not self.reads(one))
        known = self.knowing([plan for plan in unsure if plan][:VIEWS])
        return [one for one in listed if number(one) not in unsure or number(one) in known]

    def knowing(self, plans: Sequence[int]) -> set[int]:
        """Those of these plans, in places that they cannot read, that they see all the same."""
        lines = self.scopes.store.lines_of(plans) if plans else []
        return {line.id for line in lines if self.knows(line)}

    def knows(self, line: PlanLine) -> bool:
        return self.note(("knows", line.id, line.version), lambda one: one.scopes.knows(one, line))

    def plans(self, ids: Sequence[int]) -> list[int]:
        """Those of these plans that they see."""
        return [line.id for line in self.pick(self.scopes.store.lines_of(ids), lambda line: line.id)]

    def reach(self, apart: Callable[[frozenset[str]], list[int]]) -> Reach:
        """Whose stories count for them; `apart` names plans of channels that they cannot read."""
        channels = self.scopes.channels()
        mine = frozenset(name for name in channels if self.scopes.reads(self.actor.user, name))
        if mine == channels:
            return Reach(mine)
        return Reach(mine, frozenset(self.knowing(apart(mine)[:VIEWS])))
