"""Where agents knock. What speaks their protocol is loaded for the first of them: half a second and 29 MB."""

import asyncio
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from aiohttp import web

from bot.machines.api import bearer, of_error
from bot.machines.desk import Desk
from storage.errors import SignoffError
from storage.http_server import Beside

PATH = "/mcp"


class Speaker:
    """The protocol's manager, from the first call until the server ends."""

    def __init__(self, desk: Desk, public_url: str) -> None:
        self._desk, self._public_url = desk, public_url
        self._opening, self._over = asyncio.Lock(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.module: Any = None
        self.manager: Any = None

    async def open(self) -> None:
        async with self._opening:
            if self._task is None:
                self.module = await asyncio.to_thread(import_module, "bot.machines.mcp_http")
                self.manager = self.module.manager(self._desk, self._public_url)
                started = asyncio.Event()
                self._task = asyncio.create_task(self._live(started))
                await started.wait()

    async def _live(self, started: asyncio.Event) -> None:
        async with self.manager.run():  # its scopes must be left by the task that entered them
            started.set()
            await self._over.wait()

    async def close(self) -> None:
        self._over.set()
        if self._task:
            await self._task


def mcp_door(desk: Desk, public_url: str) -> tuple[list[web.RouteDef], Beside]:
    """Its routes, and what lives beside them: who knocks is known before the protocol is spoken."""
    speaker = Speaker(desk, public_url)

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            machine = await desk.admit(bearer(request.headers.get("Authorization", "")))
        except SignoffError as error:
            return of_error(error)
        await speaker.open()
        response: web.StreamResponse = await speaker.module.answer(request, machine, speaker.manager)
        return response

    async def beside(_: web.Application) -> AsyncIterator[None]:
        yield
        await speaker.close()

    return [web.route(method, PATH, answer) for method in ("POST", "GET", "DELETE")], beside
