"""`signoff mcp`: the same tools over stdio, for one developer; a Signoff elsewhere answers, by its token."""

from functools import partial

import anyio

from bot.machines.client import Client
from bot.machines.mcp_tools import server
from bot.machines.wire import Asked, Listed, Status


class Afar:
    """Another Signoff's desk, by HTTP."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def propose(self, asked: Asked, key: str) -> Status:
        return await anyio.to_thread.run_sync(partial(self._client.propose, asked, key))

    async def status(self, plan: int, seconds: float, seen: str) -> Status:
        look = partial(self._client.status, plan, seconds, seen)
        return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)

    async def cancel(self, plan: int, reason: str) -> Status:
        return await anyio.to_thread.run_sync(partial(self._client.cancel, plan, reason))

    async def runbooks(self) -> list[Listed]:
        return await anyio.to_thread.run_sync(self._client.runbooks)


def serve(url: str, token: str) -> int:
    """Until standard input ends."""
    server(Afar(Client(url, token))).run("stdio")
    return 0
