"""HTTP mode: the same deliveries as signed posts to the app's Request URL."""

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout

from bot.local.delivery.payloads import TOKEN
from bot.local.shapes import Delivery, Json, Refused
from bot.local.state.faults import Faults

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
REASONS = {"operation_timeout": "http_timeout", "dispatch_failed": "http_error"}


class HttpMode:
    """Posts to one address; an answer with 200 within `ack_timeout` seconds is the ack."""

    def __init__(
        self, *, faults: Faults, secret: str, linked: Callable[[int], None], ack_timeout: float
    ) -> None:
        self.url = ""
        self._faults = faults
        self._secret = secret
        self._linked = linked
        self._ack_timeout = ack_timeout
        self._others: set[asyncio.Task[Delivery]] = set()

    async def verify(self, url: str) -> None:
        """Use this Request URL from now on (none is Socket Mode again), if it answers Slack's challenge."""
        challenge = secrets.token_urlsafe(24)
        question = {"type": "url_verification", "token": TOKEN, "challenge": challenge}
        if url:
            answer = await self._post(_loopback(url), JSON, json.dumps(question), {})
            if not answer.acked or challenge not in (
                answer.payload.get("challenge"),
                answer.payload.get("text"),
            ):
                raise Refused("url_verification_failed", f"{url} did not answer the challenge")
        self.use(url)

    def use(self, url: str) -> None:
        self.url = _loopback(url) if url else ""
        self._linked(1 if url else 0)

    async def wait(self) -> None:
        """Slack does not wait for a server: it tries."""

    async def deliver(self, kind: str, payload: Json, *, retry: int = 0, reason: str = "") -> Delivery:
        """Post once and wait for the answer."""
        headers = {"X-Slack-Retry-Num": str(retry), "X-Slack-Retry-Reason": REASONS.get(reason, reason)}
        content_type, body = _encoded(kind, payload)
        given = (self.url, content_type, body, headers if retry else {})
        if self._faults.strikes("duplicate"):
            other = asyncio.create_task(self._post(*given))
            self._others.add(other)
            other.add_done_callback(self._others.discard)
        delivery = await self._post(*given)
        if delivery.acked and self._faults.strikes("lost_ack"):
            return Delivery(acked=False, ms=delivery.ms, error="operation_timeout")
        return delivery

    async def echo(self, payload: Json) -> None:
        """Tell of the app's own message: once, outside the faults, whatever is answered."""
        await self._post(self.url, *_encoded("events_api", payload), {})

    async def _post(self, url: str, content_type: str, body: str, headers: dict[str, str]) -> Delivery:
        began = time.monotonic()
        signed = {"Content-Type": content_type, **headers, **signature(self._secret, body)}
        try:
            async with (
                ClientSession(timeout=ClientTimeout(self._ack_timeout)) as session,
                session.post(url, data=body, headers=signed, allow_redirects=False) as answer,
            ):
                text = await answer.text()
        except TimeoutError:
            return Delivery(acked=False, ms=_since(began), error="operation_timeout")
        except ClientError:
            return Delivery(acked=False, ms=_since(began), error="dispatch_failed")
        if answer.status != 200:
            return Delivery(acked=False, ms=_since(began), error="dispatch_failed")
        return Delivery(acked=True, ms=_since(began), payload=_said(text, answer.content_type))


def signature(secret: str, body: str) -> dict[str, str]:
    """Slack's headers: the time, and a keyed hash over the time and the body."""
    # The machine's clock, not the demo's: whoever checks it compares with the machine's.
    at = str(int(time.time()))
    digest = hmac.new(secret.encode(), f"v0:{at}:{body}".encode(), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={digest}"}


def _encoded(kind: str, payload: Json) -> tuple[str, str]:
    if kind == "events_api":
        return JSON, json.dumps(payload)
    return FORM, urlencode(payload if kind == "slash_commands" else {"payload": json.dumps(payload)})


def _said(text: str, content_type: str) -> Json:
    if content_type == JSON and text:
        answer: Json = json.loads(text)
        return answer
    return {"text": text} if text else {}


def _loopback(url: str) -> str:
    if urlsplit(url).hostname not in LOOPBACK:
        raise Refused("invalid_url", "The local workspace delivers to this machine only.")
    return url


def _since(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 1)
