"""Between a boxed client and the model: one kind of call, one model, a budget; the key is added out here."""

import json
import os
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import urllib3

from workers.base import Permanent, Transient
from workers.builtin.code.change.loop import MAX_TOKENS
from workers.builtin.code.change.port import Spent
from workers.builtin.code.ground.model import fault, key_of
from workers.builtin.code.ground.repository import Entry, Model

USUAL = "https://api.anthropic.com"
PATH = "/v1/messages"
PASSED = ("anthropic-version", "anthropic-beta", "content-type", "accept", "user-agent")
LARGEST = 20_000_000
TROUBLES = 3  # calls in a row that came to nothing, until the conversation is given up
_pool = urllib3.PoolManager(maxsize=200, retries=False)


class Proxy:
    """One agent's way to its model. `fault` is why it cannot go on, `spent` what it has cost."""

    def __init__(
        self, entry: Entry, model: Model, folder: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.entry, self.model, self.spent = entry, model, Spent()
        self.clock, self.heard, self.asked = clock, clock(), 0  # when something came last; open calls
        self.fault: Permanent | Transient | None = None
        self.over = self.refused = False
        self._troubles, self._lock = 0, threading.Lock()
        self._key = key_of(entry)
        self._server = _listening(folder, self)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def admitted(self, path: str, body: bytes) -> bytes:
        """What is passed on of a call. Permanent says why not."""
        if path.partition("?")[0] != PATH:
            raise Permanent("only messages are passed on")
        asked: Any = None
        with suppress(ValueError):
            asked = json.loads(body)
        if not isinstance(asked, dict) or asked.get("model") != self.model.name:
            raise Permanent(f"only {self.model.name} is asked here")
        if self._too_dear(len(body)):
            raise Permanent("the money of this attempt is spent")
        wanted = asked.get("max_tokens")
        return json.dumps(asked | {"max_tokens": min(wanted, MAX_TOKENS) if wanted else MAX_TOKENS}).encode()

    def send(self, headers: dict[str, str], body: bytes) -> urllib3.BaseHTTPResponse:
        address = (self.entry.api or os.environ.get("ANTHROPIC_BASE_URL") or USUAL).rstrip("/") + PATH
        return _pool.request(
            "POST", address, body=body, headers={**headers, "x-api-key": self._key},
            timeout=urllib3.Timeout(total=None, connect=10.0, read=self.entry.call_seconds),
            preload_content=False,
        )  # fmt: skip

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While a call of the model is open."""
        with self._lock:
            self.asked, self.heard = self.asked + 1, self.clock()
        try:
            yield
        finally:
            with self._lock:
                self.asked, self.heard = self.asked - 1, self.clock()

    def trouble(self, status: int, after: str = "") -> None:
        """A call that came to nothing: the client tries again, and is not let do so for ever."""
        with self._lock:
            self._troubles += 1
            found = fault(status, after)
            if isinstance(found, Permanent) or self._troubles >= TROUBLES:
                self.fault = found

    def book(self, told: bytes) -> None:
        """What a reply used, whichever form it came in; what is cached counts like the rest."""
        with self._lock:
            self._troubles = 0
            self.spent.calls += 1
            for said in _documents(told):
                self._count(said)

    def _count(self, said: dict[str, Any]) -> None:
        message = inner if isinstance(inner := said.get("message"), dict) else said
        usage = {**(message.get("usage") or {}), **(said.get("usage") or {})}
        counted = [int(usage.get(name) or 0) for name in usage if "input_tokens" in name]
        if said.get("type") in {"message_start", "message"}:
            self._spend(sum(counted), 0)
        if said.get("type") in {"message_delta", "message"}:
            self._spend(0, int(usage.get("output_tokens") or 0))
        stop = said.get("stop_reason") or (said.get("delta") or {}).get("stop_reason")
        self.refused = self.refused or stop == "refusal"

    def _spend(self, given: int, made: int) -> None:
        self.spent.input += given
        self.spent.output += made
        self.spent.usd += (given * self.model.input + made * self.model.output) / 1_000_000

    def _too_dear(self, size: int) -> bool:
        most = self.spent.usd + (size / 2 * self.model.input + MAX_TOKENS * self.model.output) / 1_000_000
        self.over = self.over or most > self.entry.max_usd
        return self.over


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 32
    proxy: Proxy


def _listening(folder: Path, proxy: Proxy) -> _Server:
    opened = os.open(folder, os.O_RDONLY)
    try:  # a socket's path may have a hundred characters only
        server = _Server(f"/proc/self/fd/{opened}/model", _Handler)
    finally:
        os.close(opened)
    server.proxy = proxy
    threading.Thread(target=server.serve_forever, args=(0.2,), name="proxy", daemon=True).start()
    return server


class _Handler(BaseHTTPRequestHandler):
    """What comes out of the box. Another method than POST is answered with 501."""

    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 600.0

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        if not 0 < size <= LARGEST:
            return self._say(413, "too large")
        try:
            return self._pass(self.server.proxy.admitted(self.path, self.rfile.read(size)))
        except Permanent as why:
            return self._say(400, str(why))

    def _pass(self, body: bytes) -> None:
        headers = {name: self.headers[name] for name in PASSED if self.headers.get(name)}
        try:
            with self.server.proxy.asking():
                reply = self.server.proxy.send(headers, body)
                told = self._copy(reply)
        except (urllib3.exceptions.HTTPError, OSError):
            self.server.proxy.trouble(0)
            self.close_connection = True
            with suppress(OSError):
                self._say(529, "the model cannot be reached")
            return
        if reply.status == 200:
            self.server.proxy.book(told)
        else:
            self.server.proxy.trouble(reply.status, reply.headers.get("retry-after", ""))

    def _copy(self, reply: urllib3.BaseHTTPResponse) -> bytes:
        """As it comes, so that the client hears that somebody is there."""
        self.close_connection = True
        self.send_response(reply.status)
        for name in ("content-type", "retry-after", "request-id"):
            if name in reply.headers:
                self.send_header(name, reply.headers[name])
        self.send_header("connection", "close")
        self.end_headers()
        told = []
        for part in reply.stream(8192, decode_content=True):
            told.append(part)
            self.server.proxy.heard = self.server.proxy.clock()
            self.wfile.write(part)
            self.wfile.flush()
        return b"".join(told)

    def _say(self, status: int, why: str) -> None:
        text = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": why}})
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def address_string(self) -> str:
        return "box"

    def log_message(self, *_: Any) -> None:
        """Nothing: what agents say is nobody's log."""


def _documents(told: bytes) -> Iterator[dict[str, Any]]:
    """The JSON of a reply, or of each event of a stream."""
    lines = [line[5:] for line in told.splitlines() if line.startswith(b"data:")] or [told]
    for line in lines:
        with suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found
