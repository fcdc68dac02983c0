"""Health over HTTP. Whether a process lives is answered at once, however slow the database is."""

from functools import partial

from aiohttp import web

from storage.http_server import Threads
from storage.monitoring.health import Health

THREADS = 4  # monitors that look at the rows at the same time


def health_doors(health: Health) -> list[web.RouteDef]:
    threads = Threads(THREADS, "health")

    async def lives(request: web.Request) -> web.Response:
        return page(health, request.path)

    async def looks(request: web.Request) -> web.Response:
        return await threads.run(partial(page, health, request.path))

    return [web.get("/healthz", lives), web.get("/{page:.*}", looks)]


def page(health: Health, path: str) -> web.Response:
    status, text = health.answer(path)
    kind = "text/plain; version=0.0.4; charset=utf-8"  # as Prometheus wants it
    return web.Response(status=status, body=text.encode(), headers={"Content-Type": kind})
