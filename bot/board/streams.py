"""Live by numbers: which plans moved is told to whoever sees them. Pages fetch themselves."""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from storage.board.lines import PlanLine
from storage.board.stories import BEHIND
from storage.contract.states import BUSY
from storage.looking import Looking

logger = logging.getLogger(__name__)
FULL = 32  # things that one stream has not taken yet; then the oldest is forgotten
LASTS = 50.0  # seconds of one stream: who comes again is looked at again
COMMENT = 15.0
BYE = "bye"


@dataclass(eq=False)
class Stream:
    """One open page."""

    user: str
    session: str
    gone: Callable[[], bool] = lambda: False  # whether the page went away without a word
    queue: asyncio.Queue[str] = field(default_factory=lambda: asyncio.Queue(FULL))

    def put(self, said: str) -> None:
        if self.queue.full():
            with suppress(asyncio.QueueEmpty):
                self.queue.get_nowait()
        self.queue.put_nowait(said)


@dataclass
class Hub:
    """All open pages. Lives on the server's loop; `tell` may be called from any thread."""

    streams: set[Stream] = field(default_factory=set)
    seq: int = 0  # grows with everything that was told
    over: bool = False
    loop: asyncio.AbstractEventLoop | None = None

    def open(self, user: str, session: str, gone: Callable[[], bool] = lambda: False) -> Stream:
        stream = Stream(user, session, gone)
        self.loop = asyncio.get_running_loop()
        self.streams.add(stream)
        return stream

    def close(self, stream: Stream) -> None:
        self.streams.discard(stream)

    def count(self, session: str) -> int:
        """Of the pages of one session; one that somebody has left holds no place."""
        self.streams -= {one for one in self.streams if one.gone()}
        return sum(one.session == session for one in self.streams)

    def users(self) -> set[str]:
        return {one.user for one in [*self.streams]}

    def tell(self, user: str, said: str) -> None:
        if self.loop and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._put, user, said)

    def _put(self, user: str, said: str) -> None:
        for stream in self.streams:
            if stream.user == user:
                stream.put(said)

    def end(self) -> None:
        """Every page is told to come again: the process stops."""
        self.over = True
        for user in self.users():
            self.tell(user, BYE)


def event(name: str, data: object = None) -> str:
    return f"event: {name}\ndata: {json.dumps(data if data is not None else {})}\n\n"


@dataclass
class Watch:
    """What has moved since the last look: by events, and by how far running steps are."""

    store: Looking
    last: int = 0
    seen: set[int] = field(default_factory=set)
    progress: dict[int, tuple[int, str]] = field(default_factory=dict)

    def begin(self) -> None:
        self.last, self.progress = self.store.last_event(), self.store.progress(BUSY)
        self.seen = {id_ for id_, _ in self.store.moved(self.last - BEHIND)}

    def moved(self) -> set[int]:
        """Plans, each once; 0 is what belongs to none. An event may appear behind a newer one: PostgreSQL."""
        found = [(id_, plan) for id_, plan in self.store.moved(self.last - BEHIND) if id_ not in self.seen]
        self.seen |= {id_ for id_, _ in found}
        self.last = max([self.last, *(id_ for id_, _ in found)])
        self.seen = {id_ for id_ in self.seen if id_ > self.last - 2 * BEHIND}
        now = self.store.progress(BUSY)
        further = {plan for id_, (plan, said) in now.items() if self.progress.get(id_) != (plan, said)}
        self.progress = now
        return {plan for _, plan in found} | further


def spread(hub: Hub, moved: set[int], picks: Callable[[str, Sequence[PlanLine]], list[int]],
           lines: Callable[[list[int]], Sequence[PlanLine]]) -> None:  # fmt: skip
    """Tell each person of what they see; who sees none of it hears nothing."""
    if not moved:
        return
    hub.seq += 1
    found = lines([*moved - {0}]) if hub.streams else ()
    for user in hub.users():
        mine = picks(user, found)
        if mine or 0 in moved:
            hub.tell(user, event("moved", {"plans": sorted(mine)}))
