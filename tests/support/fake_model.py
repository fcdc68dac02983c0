"""The Messages API on loopback: scripted replies and faults, and a 400 for what the real API rejects."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

from bot.planner.model import prompt

WISH = "deploy auth-service v2.1.4 to production tonight at 2am EST"
# Answers of the prompt's own examples: a plan, questions, a refusal; and that plan with a misspelt name.
GOOD, QUESTION, REFUSAL = (answer for _, answer in prompt.examples()[:3])
BROKEN = GOOD.replace('"auth_prod"', '"auth_pord"')
KEY = "sk-ant-test-0123456789"
MODEL = "claude-opus-5-5"
ERRORS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
    529: "overloaded_error",
}  # fmt: skip
FIELDS = {
    "model",
    "max_tokens",
    "messages",
    "system",
    "output_config",
    "thinking",
    "metadata",
    "stop_sequences",
    "stream",
}
NEEDED = {"model", "max_tokens", "messages"}
MODELS = {"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2"}
EFFORTS = {"low", "medium", "high", "xhigh", "max"}
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
KEYWORDS = {
    "type", "enum", "const", "anyOf", "allOf", "$ref", "$defs", "properties", "required", "items", "minItems",
    "additionalProperties", "format", "title", "description",
}  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """What goes back, and how: late, in drops, or cut off."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    drop: str = ""  # "before" any byte, or "within" the body
    fault: str = ""  # the kind of an error that comes in the middle of a stream


def says(text: str, *, stop: str | None = "end_turn", usage: Any = None, **fields: Any) -> Reply:
    """A whole message, with thinking before the text as the real models send it."""
    how = {name: fields.pop(name) for name in ("delay", "drip", "drop", "fault") if name in fields}
    thought = {"type": "thinking", "thinking": "", "signature": "sig"}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "stop_reason": stop,
        "stop_sequence": None, "content": [thought, {"type": "text", "text": text, "citations": None}],
        "usage": usage or {"input_tokens": 1000, "output_tokens": 200},
    }  # fmt: skip
    return Reply(json.dumps(message | fields).encode(), **how)


def fails(status: int, message: str = "no", **headers: object) -> Reply:
    kind = ERRORS.get(status, "api_error")
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    named = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    return Reply(json.dumps(body).encode(), status, named)


class FakeModel:
    """Answers each request with the next reply of its script; the last one stays."""

    def __init__(
        self,
        *script: Reply | Callable[[dict[str, Any]], Reply],
        count: Callable[[dict[str, Any]], int] = lambda body: len(json.dumps(body)) // 4,
    ) -> None:
        self.script, self.requests, self.rejected = list(script), list[dict[str, Any]](), list[str]()
        self.count, self.counted = count, list[dict[str, Any]]()
        self._lock, self._over = Lock(), Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "FakeModel":
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                self.close_connection = True
                raw = self.rfile.read(int(self.headers["content-length"]))
                with suppress(BrokenPipeError, ConnectionResetError):  # the client gave up: often the test
                    body = json.loads(raw)
                    reply = fake._reply(self, body)
                    fake._send(self, streamed(reply) if body.get("stream") else reply)

        return Handler

    def _reply(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> Reply:
        if handler.path == "/v1/messages/count_tokens":
            return self._counts(body)
        with self._lock:
            self.requests.append(body)
            reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if handler.headers["authorization"] != f"Bearer {KEY}":
            return self._reject(401, "invalid bearer token")
        if handler.path != "/v1/messages" or not handler.headers["anthropic-version"]:
            return self._reject(404, f"no such path: {handler.path}")
        if found := next(problems(body), ""):
            return self._reject(400, found)
        return reply(body) if callable(reply) else reply

    def _counts(self, body: dict[str, Any]) -> Reply:
        """How long a message would be; it takes what a message takes, but no limit."""
        self.counted.append(body)
        if found := next(problems(body | {"max_tokens": 1}), ""):
            return self._reject(400, found)
        return Reply(json.dumps({"input_tokens": self.count(body)}).encode())

    def _reject(self, status: int, why: str) -> Reply:
        self.rejected.append(why)
        return fails(status, why)

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        self._over.wait(reply.delay)
        if reply.drop == "before":
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        handler.send_response(reply.status)
        given = {"content-type": "application/json", "request-id": "req_1", "connection": "close"}
        length = (
            {} if "text/event-stream" in reply.headers.values() else {"content-length": str(len(reply.body))}
        )
        for name, value in (given | reply.headers | length).items():
            handler.send_header(name, value)
        handler.end_headers()
        self._write(handler, reply)

    def _write(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        body = reply.body[: len(reply.body) // 2] if reply.drop else reply.body
        if not reply.drip:
            handler.wfile.write(body)
            return
        for byte in body:
            handler.wfile.write(bytes([byte]))
            if self._over.wait(reply.drip):
                return


def streamed(reply: Reply) -> Reply:
    """The same message as a stream of events; what is no message comes as it is."""
    try:
        message = json.loads(reply.body)
        assert reply.status == 200
        assert message["type"] == "message"
    except (ValueError, KeyError, TypeError, AssertionError, RecursionError):
        return reply
    sent = "".join(
        f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events(message, reply.fault)
    )
    return replace(reply, body=sent.encode(), headers=reply.headers | {"content-type": "text/event-stream"})


def events(message: dict[str, Any], fault: str = "") -> Iterator[dict[str, Any]]:
    """What the API sends of a message, one thing after the other; texts come in pieces."""
    usage = message.get("usage")
    start = usage | {"output_tokens": 1} if isinstance(usage, dict) and "output_tokens" in usage else usage
    yield {"type": "message_start",
           "message": message | {"content": [], "stop_reason": None, "usage": start}}  # fmt: skip
    yield {"type": "ping"}
    if fault:
        yield {"type": "error", "error": {"type": fault, "message": "no"}}
        return
    for index, block in enumerate(message.get("content", ())):
        key, size = block["type"], max(len(block[block["type"]]) // 40, 16)
        yield {"type": "content_block_start", "index": index, "content_block": block | {key: ""}}
        for at in range(0, len(block[key]), size):
            delta = {"type": f"{key}_delta", key: block[key][at : at + size]}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {
        name: message.get(name) for name in ("stop_reason", "stop_sequence", "stop_details", "container")
    }
    sums = {k: n for k, n in usage.items() if k != "cache_creation"} if isinstance(usage, dict) else usage
    yield {"type": "message_delta", "delta": delta, "usage": sums}
    yield {"type": "message_stop"}


def problems(body: dict[str, Any]) -> Iterator[str]:
    """What the real API answers with a 400."""
    yield from (f"{name}: extra inputs are not permitted" for name in body.keys() - FIELDS)
    yield from (f"{name}: field required" for name in NEEDED - body.keys())
    if body.get("messages", [{}])[-1].get("role") != "user":
        yield "this model does not support assistant message prefill"
    if body.get("thinking", {}).get("type") == "disabled":
        yield "thinking cannot be disabled on this model"
    yield from cache_problems(body)
    if body.get("model") not in MODELS:
        yield f"model: {body.get('model')}"
    if not 0 < body.get("max_tokens", 1) <= 128_000:
        yield "max_tokens: out of range"
    if body.get("stream", True) is not True:
        yield "stream: left out, or true"
    config = body.get("output_config", {})
    if config.get("effort", "high") not in EFFORTS:
        yield "output_config.effort: unknown"
    if form := config.get("format"):
        yield from schema_problems(form["schema"], form["schema"])


def cache_problems(body: dict[str, Any]) -> Iterator[str]:
    """At most four marks, of known lengths, and the longer before the shorter."""
    system = body.get("system", [])
    marks = [block["cache_control"] for block in system if "cache_control" in block]
    if isinstance(system, str):
        return
    if len(marks) > 4:
        yield "a maximum of 4 blocks with cache_control may be provided"
    lengths = [mark.get("ttl", "5m") for mark in marks]
    if any(mark.get("type") != "ephemeral" for mark in marks) or not {*lengths} <= {"5m", "1h"}:
        yield "cache_control: unknown"
    if lengths != sorted(lengths, key=["1h", "5m"].index):
        yield "a ttl='1h' cache_control block must not come after a ttl='5m' one"
    if any(not block.get("text") for block in system):
        yield "system: text content blocks must be non-empty"


def schema_problems(node: Any, root: dict[str, Any], seen: tuple[str, ...] = ()) -> Iterator[str]:
    """Keywords, open objects and circles that strict structured output does not take."""
    yield from (f"schema: {name} is not supported" for name in node.keys() - KEYWORDS)
    if node.get("type") == "object" and node.get("additionalProperties") is not False:
        yield "schema: additionalProperties must be false"
    if node.get("minItems", 0) > 1 or node.get("format", "date") not in FORMATS:
        yield "schema: minItems or format is not supported"
    if not node.keys() & {"type", "enum", "const", "anyOf", "allOf", "$ref"}:
        yield "schema: a node needs a type"
    if link := node.get("$ref"):
        if link in seen:
            yield "schema: recursive schemas are not supported"
            return
        yield from schema_problems(root["$defs"][link.removeprefix("#/$defs/")], root, (*seen, link))
    below = [*node.get("properties", {}).values(), *node.get("anyOf", ()), *node.get("allOf", ())]
    for inner in [*below, *([node["items"]] if "items" in node else [])]:
        yield from schema_problems(inner, root, seen)


def wired(key: str, call: str, *needs: str, **args: Any) -> dict[str, Any]:
    """A step in the form of an answer; a string is a reference if it names a step."""
    given = [
        {"name": name, "kind": "ref", "value": value} if str(value).partition(".")[0] in needs
        else {"name": name, "kind": "json", "value": json.dumps(value)}
        for name, value in args.items()
    ]  # fmt: skip
    usual = {"purpose": "", "window": "", "at": "", "criteria": [], "checks": [], "failure_action": "ask"}
    return usual | {"id": key, "call": call, "args": given, "depends_on": [*needs]}
