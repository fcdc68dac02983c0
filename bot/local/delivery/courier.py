"""Brings things to the app the way it chose, and carries events until they are acked."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from bot.local.delivery.http_mode import HttpMode
from bot.local.delivery.socket_mode import SocketMode
from bot.local.shapes import Delivery, Json
from bot.local.state.faults import Faults
from bot.local.state.persistence import Records

# How long an event that shall be overtaken waits for another one.
LONGEST_HOLD = 2.0


class Courier:
    """Signed posts where a Request URL is set, Socket Mode else."""

    def __init__(
        self,
        *,
        faults: Faults,
        events: Records,
        linked: Callable[[int], None],
        secret: str,
        ack_timeout: float,
        spacing: tuple[float, ...],
    ) -> None:
        self.socket = SocketMode(faults=faults, linked=linked, ack_timeout=ack_timeout)
        self.http = HttpMode(faults=faults, linked=linked, ack_timeout=ack_timeout, secret=secret)
        self._faults = faults
        self._events = events
        self._spacing = spacing
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: set[asyncio.Event] = set()

    @property
    def way(self) -> SocketMode | HttpMode:
        return self.http if self.http.url else self.socket

    @property
    def links(self) -> int:
        return 1 if self.http.url else self.socket.links

    async def deliver(self, kind: str, payload: Json) -> Delivery:
        """A command or a click: once."""
        return await self.way.deliver(kind, payload)

    def send_event(self, payload: Json) -> None:
        """Deliver an event, now or when the app is there, and again until it is acked."""
        self._events.keep(payload["event_id"], payload)
        self._begin(self._carry(payload))

    def resume_events(self) -> None:
        for payload in self._events:
            self._begin(self._carry(payload))

    def echo(self, payload: Json) -> None:
        self._begin(self.way.echo(payload))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, payload: Json) -> None:
        if self._faults.strikes("reorder"):
            await self._overtaken()
        reason = ""
        for retry, pause in enumerate((0.0, *self._spacing)):
            await asyncio.sleep(pause)
            await self.way.wait()
            delivery = await self.way.deliver("events_api", payload, retry=retry, reason=reason)
            if delivery.acked:
                break
            reason = delivery.error
        self._events.drop(payload["event_id"])
        for held in self._held:
            held.set()

    async def _overtaken(self) -> None:
        """Until another event has arrived."""
        held = asyncio.Event()
        self._held.add(held)
        waiting = asyncio.create_task(held.wait())
        await asyncio.wait([waiting], timeout=LONGEST_HOLD)
        waiting.cancel()
        self._held.discard(held)

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.socket.disconnect(politely=False)
