"""One thread hears commits for everybody who waits at a door: waiting costs no thread."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from threading import Event, Thread
from typing import TypeVar

from sqlalchemy import Engine

from storage.database.commit_notices import CommitListener

ROUND = 1.0  # seconds after which is looked anyhow: a notice is about time, never about truth
logger = logging.getLogger(__name__)
T = TypeVar("T")


class Bell:
    """Rings in an event loop whenever something was committed, as long as somebody waits there."""

    def __init__(self, engine: Engine) -> None:
        self._listener, self._stopped = CommitListener(engine), Event()
        self._waiting: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(target=self._listen, name="bell", daemon=True)

    def close(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._listener.close()

    async def until(self, look: Callable[[], Awaitable[T | None]], seconds: float) -> T | None:
        """What `look` finds, as soon as it finds something; None when the time is over."""
        self._start()
        end = asyncio.get_running_loop().time() + seconds
        mine = asyncio.Event()
        self._waiting.add(mine)
        try:
            while (found := await look()) is None and (left := end - _time()) > 0:
                await _rung(mine, min(left, ROUND))
            return found
        finally:
            self._waiting.discard(mine)

    def _start(self) -> None:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._thread.start()

    def _listen(self) -> None:
        while not self._stopped.is_set():
            try:
                self._listener.wait(ROUND, self._stopped.is_set)
            except Exception:
                logger.exception("listening for commits broke; whoever waits looks every second")
                self._stopped.wait(ROUND)
            if self._waiting and self._loop and not self._stopped.is_set():
                self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        for one in self._waiting:
            one.set()


def _time() -> float:
    return asyncio.get_running_loop().time()


async def _rung(mine: asyncio.Event, seconds: float) -> None:
    mine.clear()
    try:
        async with asyncio.timeout(seconds):
            await mine.wait()
    except TimeoutError:
        return
