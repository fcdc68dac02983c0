"""The Messages API on loopback, for a demo without a key: it hands each request to the stand-in."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from bot.demo.stand_in import answer

KEY = "no-key-the-model-is-a-scripted-stand-in"
LARGEST = 5_000_000


class Handler(BaseHTTPRequestHandler):
    """One path, one answer; everything that the real one would refuse is for the tests' fake to refuse."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """The demo's terminal is for people."""

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if self.path != "/v1/messages" or not 0 < length <= LARGEST:
            self._send(
                404, {"type": "error", "error": {"type": "not_found_error", "message": "no such path"}}
            )
            return
        body = json.loads(self.rfile.read(length))
        if body.get("stream"):
            told = (f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events(reply(body)))
            self._write(200, "text/event-stream", "".join(told).encode())
        else:
            self._send(200, reply(body))

    def _send(self, status: int, body: dict[str, Any]) -> None:
        self._write(status, "application/json", json.dumps(body).encode())

    def _write(self, status: int, kind: str, text: bytes) -> None:
        self.send_response(status)
        for name, value in (("content-type", kind), ("content-length", str(len(text)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)


def reply(body: dict[str, Any]) -> dict[str, Any]:
    """The stand-in's answer as a message; it costs nothing."""
    return {
        "id": "msg_stand_in", "type": "message", "role": "assistant", "model": body["model"],
        "content": [{"type": "text", "text": json.dumps(answer(body)), "citations": None}],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 0, "output_tokens": 0},
    }  # fmt: skip


def events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same message as a stream: its beginning, its one text, its end."""
    (block,) = message["content"]
    yield {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": block | {"text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": block["text"]}}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 0}}
    yield {"type": "message_stop"}


@contextmanager
def serving() -> Iterator[str]:
    """Its address, while it is there."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.1,), name="stand-in", daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
