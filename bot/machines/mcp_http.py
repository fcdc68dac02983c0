"""MCP over streamable HTTP, inside the one server: who knocks is known before the protocol is spoken."""

import asyncio
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from bot.machines.desk import Desk
from bot.machines.mcp_tools import server
from bot.machines.principal import Machine
from bot.machines.wire import Asked, Listed, Status

LARGEST = 256 * 1024
LOOK = 0.5  # seconds between two looks whether the client is still there
MACHINE: ContextVar[Machine] = ContextVar("machine")
Message = MutableMapping[str, Any]


class Here:
    """The desk, for whichever machine this request is of."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def propose(self, asked: Asked, key: str) -> Status:
        return await self._desk.propose(MACHINE.get(), asked, key)

    async def status(self, plan: int, seconds: float, seen: str) -> Status:
        return await self._desk.status(MACHINE.get(), plan, seconds, seen)

    async def cancel(self, plan: int, reason: str) -> Status:
        return await self._desk.cancel(MACHINE.get(), plan, reason, "mcp")

    async def runbooks(self) -> list[Listed]:
        return await self._desk.runbooks(MACHINE.get())


def manager(desk: Desk, public_url: str) -> StreamableHTTPSessionManager:
    """What speaks the protocol. No session: any bot answers any call."""
    return StreamableHTTPSessionManager(
        server(Here(desk))._lowlevel_server, stateless=True, max_request_body_size=LARGEST,
        security_settings=allowed(public_url),
    )  # fmt: skip


async def answer(
    request: web.Request, machine: Machine, speaker: StreamableHTTPSessionManager
) -> web.StreamResponse:
    MACHINE.set(machine)
    return await Bridge(request).run(speaker)


def allowed(public_url: str) -> TransportSecuritySettings:
    """Who may be asked for by which name: a page in somebody's browser must not reach us by another."""
    names = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
    origins = [f"http://{name}" for name in names]
    if public := urlsplit(public_url).netloc:
        names, origins = [*names, public], [*origins, f"https://{public}"]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=names, allowed_origins=origins
    )


class Bridge:
    """One request of aiohttp as ASGI; its body was read whole and in bounds before."""

    def __init__(self, request: web.Request) -> None:
        self._request, self._asked = request, False
        self._response: web.StreamResponse | None = None

    async def run(self, speaker: StreamableHTTPSessionManager) -> web.StreamResponse:
        await speaker.handle_request(self._scope(), self._receive, self._send)
        return self._response or web.Response(status=500)

    def _scope(self) -> Message:
        request = self._request
        headers = [(name.lower().encode(), value.encode()) for name, value in request.headers.items()]
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method,
            "scheme": request.scheme, "path": request.path, "raw_path": request.path.encode(),
            "root_path": "",
            "query_string": request.query_string.encode(), "headers": headers,
            "client": (request.remote or "", 0), "server": None,
        }  # fmt: skip

    async def _receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": await self._request.read(), "more_body": False}
        while (transport := self._request.transport) is not None and not transport.is_closing():
            await asyncio.sleep(LOOK)  # aiohttp does not tell a handler that its client has gone
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        try:
            if message["type"] == "http.response.start":
                self._response = web.StreamResponse(status=message["status"])
                for name, value in message["headers"]:
                    self._response.headers.add(name.decode(), value.decode())
                self._response.force_close()
                await self._response.prepare(self._request)
            elif self._response:
                await self._response.write(message.get("body", b""))
                if not message.get("more_body"):
                    await self._response.write_eof()
        except ConnectionError:  # the client has gone; whoever writes hears of it by `receive`
            return
