"""Socket Mode: the links the app opens, the envelopes that go down them, the acks that come back."""

import asyncio
import contextlib
import json
import secrets
import uuid
from collections.abc import Callable

from aiohttp import WSMsgType, web

from bot.local.shapes import APP_ID, Delivery, Json
from bot.local.state.faults import Faults

HEARTBEAT = 0.1
ANSWERABLE = ("slash_commands", "interactive")


class SocketMode:
    """Delivers to one of the app's links; each envelope is awaited for `ack_timeout` seconds."""

    def __init__(self, *, faults: Faults, linked: Callable[[int], None], ack_timeout: float) -> None:
        self._faults = faults
        self._report = linked
        self._ack_timeout = ack_timeout
        self._tickets: set[str] = set()
        self._links: list[web.WebSocketResponse] = []
        self._linked = asyncio.Event()
        self._awaited: dict[str, asyncio.Future[Json]] = {}

    @property
    def links(self) -> int:
        return len(self._links)

    def ticket(self) -> str:
        ticket = secrets.token_urlsafe(12)
        self._tickets.add(ticket)
        return ticket

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One link, from hello to its end."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPForbidden(text="unknown ticket")
        self._tickets.discard(ticket)
        link = web.WebSocketResponse()
        await link.prepare(request)
        await link.send_json(self._hello())
        self._join(link)
        beating = asyncio.create_task(_beat(link))
        try:
            async for frame in link:
                if frame.type == WSMsgType.TEXT:
                    self._hear(json.loads(frame.data))
        finally:
            beating.cancel()
            self._leave(link)
        return link

    def _hello(self) -> Json:
        info = {"host": "local", "build_number": 1, "approximate_connection_time": 18060}
        count = len(self._links) + 1
        return {
            "type": "hello",
            "num_connections": count,
            "connection_info": {"app_id": APP_ID},
            "debug_info": info,
        }

    def _join(self, link: web.WebSocketResponse) -> None:
        self._links.append(link)
        self._linked.set()
        self._report(len(self._links))

    def _leave(self, link: web.WebSocketResponse) -> None:
        if link not in self._links:
            return
        self._links.remove(link)
        if not self._links:
            self._linked.clear()
        self._report(len(self._links))

    def _hear(self, ack: Json) -> None:
        answer = self._awaited.get(ack.get("envelope_id", ""))
        if answer is None or answer.done() or self._faults.strikes("lost_ack"):
            return
        answer.set_result(ack.get("payload") or {})

    async def wait(self) -> None:
        """Until the app has a link."""
        await self._linked.wait()

    async def deliver(self, kind: str, payload: Json, *, retry: int = 0, reason: str = "") -> Delivery:
        """Send one envelope and wait for its ack."""
        if not self._links:
            return Delivery(acked=False, error="dispatch_failed")
        loop = asyncio.get_running_loop()
        envelope = _envelope(kind, payload, retry)
        answer = self._awaited[envelope["envelope_id"]] = loop.create_future()
        began = loop.time()
        try:
            await self._send(envelope)
            if self._faults.strikes("duplicate"):
                await self._send(_envelope(kind, payload, retry))
            said = await asyncio.wait_for(answer, self._ack_timeout)
        except TimeoutError:
            return Delivery(acked=False, ms=_ms(loop.time() - began), error="operation_timeout")
        except ConnectionError:
            return Delivery(acked=False, ms=_ms(loop.time() - began), error="dispatch_failed")
        finally:
            del self._awaited[envelope["envelope_id"]]
        return Delivery(acked=True, ms=_ms(loop.time() - began), payload=said)

    async def _send(self, envelope: Json) -> None:
        if not self._links:
            raise ConnectionResetError
        self._links.append(self._links.pop(0))
        await self._links[-1].send_json(envelope)

    async def echo(self, payload: Json) -> None:
        """Send an event about the app's own message: once, outside the faults, never awaited."""
        with contextlib.suppress(ConnectionError):
            await self._send(_envelope("events_api", payload, 0))

    async def disconnect(self, *, politely: bool) -> None:
        """Ask the app to open new links (as Slack does every few hours), or just drop them."""
        for link in list(self._links):
            self._leave(link)
            if politely:
                await link.send_json({"type": "disconnect", "reason": "refresh_requested"})
            else:
                await link.close()


async def _beat(link: web.WebSocketResponse) -> None:
    # slack_sdk's client reads for three seconds under a lock; a ping lets it close or change links at once.
    with contextlib.suppress(ConnectionError):
        while not link.closed:
            # Its parser wants more than two bytes, so a ping carries words, as Slack's do.
            await link.ping(b"Ping from local")
            await asyncio.sleep(HEARTBEAT)


def _envelope(kind: str, payload: Json, retry: int) -> Json:
    envelope = {
        "envelope_id": str(uuid.uuid4()),
        "type": kind,
        "payload": payload,
        "accepts_response_payload": kind in ANSWERABLE,
    }
    if kind != "events_api":
        return envelope
    return envelope | {"retry_attempt": retry, "retry_reason": "timeout" if retry else ""}


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
