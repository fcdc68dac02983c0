"""A web server in bounds: how many connections, how long a request takes to arrive, how large it is.

Behind it stands ordinary, sync code in threads of its own. Whoever adds a door adds a route.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar, cast

from aiohttp import web
from aiohttp.typedefs import Handler

from storage.errors import BadConfig

logger = logging.getLogger(__name__)
SILENT = logging.getLogger(f"{__name__}.strangers")  # aiohttp writes a traceback for each mistake of a client
SILENT.setLevel(logging.CRITICAL + 1)

T = TypeVar("T")
Beside = Callable[[web.Application], AsyncIterator[None]]


@dataclass(frozen=True)
class Bounds:
    """What one stranger can take from us."""

    connections: int = 256  # at once; one more is closed unheard
    patience: float = 5.0  # seconds for a request to arrive whole, head and body
    size: int = 1_000_000  # bytes of a body
    life: float = 60.0  # seconds for a connection in all: some never read their answer
    parting: float = 5.0  # seconds for what is under way when the server stops


BOUNDS = Bounds()


class Threads:
    """Sync work behind a door. Who finds all threads busy is sent away, not kept waiting."""

    def __init__(self, count: int, name: str) -> None:
        self._pool, self._room = ThreadPoolExecutor(count, name), asyncio.Semaphore(count)

    async def run(self, work: Callable[[], web.Response]) -> web.Response:
        if self._room.locked():
            return web.Response(status=503, headers={"Retry-After": "1"})
        async with self._room:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)


@contextmanager
def serving(
    setting: str, host: str, port: int, routes: Iterable[web.RouteDef], bounds: Bounds = BOUNDS,
    *, beside: Sequence[Beside] = (),
) -> Iterator[int]:  # fmt: skip
    """Answer in a thread of its own; the port that it became. `setting` is where somebody chose the port.

    `beside`: what lives in the server's loop as long as it listens.
    """
    with listening(setting, host, port, bounds) as listener:
        loop = asyncio.new_event_loop()
        thread = Thread(target=loop.run_forever, name="http", daemon=True)
        thread.start()
        stop = _on(loop, _start(listener, routes, bounds, beside))
        try:
            yield listener.getsockname()[1]
        finally:
            _on(loop, stop())
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


def listening(setting: str, host: str, port: int, bounds: Bounds) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=bounds.connections)
    except OSError as error:
        raise BadConfig(f"{setting}={port} cannot be used: {error}") from None


def _on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(work, loop).result()


async def _start(
    listener: socket.socket, routes: Iterable[web.RouteDef], bounds: Bounds, beside: Sequence[Beside]
) -> Callable[[], Coroutine[Any, Any, None]]:
    """Listen; what is given back ends it."""
    connections: Connections = {}
    app = web.Application(client_max_size=bounds.size, middlewares=[_in_bounds(connections, bounds)])
    app.add_routes(routes)
    app.cleanup_ctx.extend(beside)
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=SILENT,
        auto_decompress=False,  # a small body that becomes a large one
        lingering_time=1.0,
        shutdown_timeout=bounds.parting,
    )
    await runner.setup()
    factory = cast(web.Server, runner.server)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Guard(factory(), connections, bounds), sock=listener)

    async def stop() -> None:
        server.close()
        await runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:  # whoever watches a stream that has gone
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    return stop


class Guard(asyncio.Protocol):
    """One connection: counted, and gone if its head does not come, or if it stays."""

    def __init__(self, inner: web.RequestHandler, connections: "Connections", bounds: Bounds) -> None:
        self._inner, self._connections, self._bounds = inner, connections, bounds
        self._loop = asyncio.get_running_loop()
        self.deadline = self._loop.time() + bounds.patience
        self._transport: asyncio.BaseTransport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if len(self._connections) >= self._bounds.connections:
            cast(asyncio.Transport, transport).abort()
            return
        self._transport = transport
        self._connections[self._inner] = self
        self._end_at(self.deadline)
        self._inner.connection_made(transport)

    def has_a_head(self) -> None:
        """Somebody speaks HTTP; now it may take a whole life."""
        self._end_at(self.deadline + self._bounds.life)

    def data_received(self, data: bytes) -> None:
        if self._transport:
            self._inner.data_received(data)

    def eof_received(self) -> None:
        if self._transport:
            self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, error: BaseException | None) -> None:
        if self._transport:
            self._end_at(None)
            del self._connections[self._inner]
            self._inner.connection_lost(error)

    def _end_at(self, moment: float | None) -> None:
        if self._timer:
            self._timer.cancel()
        end = cast(asyncio.Transport, self._transport).abort
        self._timer = self._loop.call_at(moment, end) if moment is not None else None


Connections = dict[web.RequestHandler, Guard]


def _in_bounds(connections: Connections, bounds: Bounds) -> Any:
    """One request per connection: read whole and in time, handled, answered, closed."""

    @web.middleware
    async def handle(request: web.Request, handler: Handler) -> web.StreamResponse:
        guard = connections[request.protocol]
        guard.has_a_head()
        refused = await _arrival(request, guard.deadline, bounds)
        response = web.Response(status=refused) if refused else await _answered(request, handler)
        response.force_close()
        return response

    return handle


async def _arrival(request: web.Request, deadline: float, bounds: Bounds) -> int:
    """Read the whole request; the status with which it is refused, or 0."""
    if (request.content_length or 0) > bounds.size:
        return 413
    try:
        async with asyncio.timeout_at(deadline):
            await request.read()
    except TimeoutError:
        return 408
    except web.HTTPRequestEntityTooLarge:
        return 413
    except (web.RequestPayloadError, ConnectionError):  # it ended in the middle, or its chunks are none
        return 400
    return 0


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as refused:  # no such page, no such method
        return web.Response(status=refused.status, text=refused.reason)
    except Exception:
        logger.exception("%s could not be answered", request.path)
        return web.Response(status=500)
