"""Which doors there are: the API always, hooks as configured, MCP where it is installed."""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import MappingProxyType

from aiohttp import web

from bot.context import Bot
from bot.machines import api
from bot.machines.bell import Bell
from bot.machines.desk import Desk
from bot.machines.hooks import hook_routes
from bot.machines.limits import Limits
from bot.machines.mcp_door import mcp_door
from storage.extras import missing
from storage.http_server import Beside

THREADS = 16


@contextmanager
def machine_doors(
    bot: Bot, public_url: str = "", environ: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[list[web.RouteDef], list[Beside]]]:
    """The routes, and what lives beside them."""
    bell, pool = Bell(bot.store.engine), ThreadPoolExecutor(THREADS, "machines")
    desk = Desk(bot, bell, Limits(time.monotonic), pool)
    try:
        agents, beside = _for_agents(desk, public_url)
        yield [*api.routes(desk), *hook_routes(bot, environ), *agents], beside
    finally:
        bell.close()
        pool.shutdown(wait=False)


def _for_agents(desk: Desk, public_url: str) -> tuple[list[web.RouteDef], list[Beside]]:
    """MCP, where `signoff[mcp]` is installed."""
    if missing("mcp"):
        return [], []
    routes, beside = mcp_door(desk, public_url)
    return routes, [beside]
