"""A real coding agent, the Claude Agent SDK's own client, whose model is a script on loopback."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

Block = dict[str, Any]
Script = Callable[[list[Any]], Block]  # what its tools have answered so far → what the model says next


def says(text: str) -> Block:
    return {"type": "text", "text": text}


def uses(tool: str, **given: Any) -> Block:
    return {"type": "tool_use", "id": f"toolu_{os.urandom(6).hex()}", "name": tool, "input": given}


@contextmanager
def scripted_model(script: Script) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The Messages API as the agent's client speaks it; and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if "count_tokens" in self.path:
                return self._send("application/json", json.dumps({"input_tokens": 9}).encode())
            asked.append(body)
            known = any(tool["name"].startswith("mcp__") for tool in body.get("tools") or ())
            block = script(answers(body["messages"])) if known else says("ok")
            raw = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events(body, block))
            return self._send("text/event-stream", raw.encode())

        def _send(self, kind: str, raw: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answers(messages: list[dict[str, Any]]) -> list[Any]:
    """What the tools have answered, in order: their structured content, or their words."""
    blocks = [block for one in messages if isinstance(one["content"], list) for block in one["content"]]
    return [_answer(block["content"]) for block in blocks if block["type"] == "tool_result"]


def _answer(content: Any) -> Any:
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    try:
        return json.loads(text)
    except ValueError:
        return text


def events(body: dict[str, Any], block: Block) -> Iterator[dict[str, Any]]:
    """One message with one block, as a stream."""
    kind = block["type"]
    stop = "tool_use" if kind == "tool_use" else "end_turn"
    message = {"id": f"msg_{os.urandom(6).hex()}", "type": "message", "role": "assistant", "content": [],
               "model": body["model"], "stop_reason": None, "stop_sequence": None,
               "usage": {"input_tokens": 9, "output_tokens": 1}}  # fmt: skip
    start: Block = {"input": {}} if kind == "tool_use" else {"text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        if kind == "tool_use"
        else {"type": "text_delta", "text": block["text"]}
    )
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": block | start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


def at_home(home: Path, model: str) -> dict[str, str]:
    """The agent's environment: a home of its own, our model, and no way to anything but this machine."""
    closed = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")
    nowhere = dict.fromkeys(closed, "http://127.0.0.1:9")
    quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER",
             "DISABLE_ERROR_REPORTING")  # fmt: skip
    return nowhere | dict.fromkeys(quiet, "1") | {
        "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": "sk-ant-test-0123456789", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
    }  # fmt: skip
