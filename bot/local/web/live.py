"""Whoever watches: open pages get every change at once, scripts wait for the next one."""

import asyncio

from aiohttp import web

from bot.local.shapes import Json

SHOWN = {"message", "ephemeral", "view", "home", "notice", "member", "channel", "group"}
SHOWN |= {"fault", "control", "link", "caption"}


class Live:
    """Counts the changes that can be seen and hands each to every watcher."""

    def __init__(self) -> None:
        self.version = 0
        self._pages: set[asyncio.Queue[Json]] = set()
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def watched(self) -> bool:
        return bool(self._pages)

    def changed(self, kind: str, id: str, body: Json | None) -> None:
        if kind not in SHOWN:
            return
        self.version += 1
        for page in self._pages:
            page.put_nowait({"kind": kind, "id": id, "body": body})
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()

    async def after(self, version: int, seconds: float) -> None:
        """Return when something has changed since `version`, or when the time is up."""
        if self.version > version:
            return
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        await asyncio.wait([waiting], timeout=seconds)
        self._waiting.discard(waiting)

    async def feed(self, page: web.WebSocketResponse, snapshot: Json) -> None:
        """Send the whole, then every change, until the page goes away."""
        changes: asyncio.Queue[Json] = asyncio.Queue()
        self._pages.add(changes)
        sender = asyncio.create_task(_send(page, snapshot, changes))
        try:
            async for _ in page:
                pass
        finally:
            self._pages.discard(changes)
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)


async def _send(page: web.WebSocketResponse, snapshot: Json, changes: asyncio.Queue[Json]) -> None:
    await page.send_json({"kind": "snapshot", "body": snapshot})
    while True:
        await page.send_json(await changes.get())
