"""A practice model: a strict Messages API on loopback with a scripted agent behind it; no model thinks here.

python -m workers.practice.model --port P [--script FILE | --seed N --rate R] [--log FILE] [--repository DIR]
"""

import argparse
import json
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from workers.practice import dialect, sample_repository
from workers.practice.scripted import EDITOR, Draw, answer, brief_of, draw

KNOWN = {"model", "max_tokens", "system", "messages", "tools", "stream", "temperature", "metadata"}
HUNG = 3600.0
WITNESS = "/tmp/signoff-witness"  # noqa: S108 # what hostile code would write, and never can


class Model:
    """Conversations by their title; what each was dealt goes into a log that nobody but a judge reads."""

    def __init__(
        self,
        *,
        seed: int = 0,
        rate: float = 0.0,
        script: dict[str, str] | None = None,
        log: Path | None = None,
        think: float = 0.0,
        witness: str = WITNESS,
    ) -> None:
        self.seed, self.rate, self.script, self.log, self.think = seed, rate, script or {}, log, think
        self.lock, self.numbers, self.dealt = (
            threading.Lock(),
            dict[str, int](),
            dict[tuple[str, int], Draw](),
        )
        self.witness, self.calls, self.now, self.peak = witness, 0, 0, 0

    def reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any], float]:
        """The status, the message, and how long it takes."""
        client = dialect.is_client(body)
        messages = dialect.heard(body) if client else body.get("messages", [])
        if wrong := "" if client else strict(body):
            return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": wrong}}, 0.0
        title, begins = str(brief_of(messages)["title"]), len(messages) == 1
        drawn = self._drawn(title, begins=begins)
        pause = random.lognormvariate(0, 0.5) * self.think
        if begins and drawn.fault == "busy":
            return 529, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, pause
        if begins and drawn.fault == "hung":
            return 0, {}, HUNG
        turn = answer(messages, drawn, self.witness)
        turn = dialect.spoken(turn, messages) if client else turn
        usage = {
            "input_tokens": len(json.dumps(body)) // 4,
            "output_tokens": 50 + len(json.dumps(turn.content)) // 4,
        }
        said = {
            "id": f"msg_{self.calls:06}",  # a client takes two of one id for one message
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [*turn.content],
            "stop_reason": turn.stop,
            "stop_sequence": None,
            "usage": usage,
        }
        return 200, said, pause

    def _drawn(self, title: str, *, begins: bool) -> Draw:
        with self.lock:
            self.calls += 1
            if begins:
                number = self.numbers[title] = self.numbers.get(title, 0) + 1
                self.dealt[title, number] = self._deal(title, number)
                self._note(title, number)
            return self.dealt.get((title, self.numbers.get(title, 0)), Draw())

    def _deal(self, title: str, number: int) -> Draw:
        if not self.script:
            return draw(self.seed, title, number, self.rate)
        said = self.script.get(title, "")
        always = said.endswith("!")
        return Draw(said.rstrip("!"), 9 if always else 1) if said and (always or number == 1) else Draw()

    def _note(self, title: str, number: int) -> None:
        if self.log:
            dealt = {"title": title, "number": number, "fault": self.dealt[title, number].fault}
            with self.log.open("a") as file:
                file.write(json.dumps(dealt) + "\n")


def strict(body: Any) -> str:
    """What the real API would not take, or ""."""
    if not isinstance(body, dict) or (odd := set(body) - KNOWN):
        return f"unknown fields: {sorted(odd) if isinstance(body, dict) else body!r}"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not isinstance(body.get("max_tokens"), int):
        return "messages and max_tokens are required"
    roles = [message.get("role") for message in messages]
    if (
        roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
        or roles[-1] != "user"
    ):
        return "roles must take turns, and a user speaks last"
    editor = [tool for tool in body.get("tools", ()) if tool.get("name") == EDITOR]
    if editor and editor[0].get("type") != "text_editor_20250728":
        return "the editor has a type of its own"
    return next(filter(None, map(_unanswered, messages[1:], messages[2:])), "")


def _unanswered(said: dict[str, Any], next_: dict[str, Any]) -> str:
    asked = {block["id"] for block in said["content"] if block["type"] == "tool_use"}
    told = {block.get("tool_use_id") for block in next_["content"] if block["type"] == "tool_result"}
    return (
        ""
        if said["role"] != "assistant" or asked == told
        else f"tool_use without tool_result: {asked ^ told}"
    )


class Handler(BaseHTTPRequestHandler):
    """One path; what the real API would refuse is refused."""

    model: Model
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", 0))
        body = json.loads(self.rfile.read(size))
        known = self.path.split("?")[0] == "/v1/messages" and self.headers.get("anthropic-version")
        if not known or not (self.headers.get("x-api-key") or self.headers.get("authorization")):
            return self._send(
                401 if known else 404, {"type": "error", "error": {"type": "x", "message": "no"}}
            )
        with self.model.lock:
            self.model.now += 1
            self.model.peak = max(self.model.peak, self.model.now)
        try:
            status, said, pause = self.model.reply(body)
            time.sleep(pause)
            self._tell(status, said, stream=bool(body.get("stream")))
        except OSError:
            self.close_connection = True
        finally:
            with self.model.lock:
                self.model.now -= 1

    def _tell(self, status: int, said: dict[str, Any], *, stream: bool) -> None:
        if not stream or status != 200:
            return self._send(status, said)
        events = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in dialect.stream(said))
        return self._write(200, "text/event-stream", "".join(events).encode())

    def _send(self, status: int, said: dict[str, Any]) -> None:
        self._write(status, "application/json", json.dumps(said).encode())

    def _write(self, status: int, kind: str, text: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        if status == 529:
            self.send_header("retry-after", "1")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Nothing: the log is the judge's."""


def handler(model: Model) -> type[Handler]:
    return type("Handler", (Handler,), {"model": model})


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 256


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workers.practice.model", description="a scripted model")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--think", type=float, default=0.0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--witness", default=WITNESS)
    parser.add_argument("--repository", type=Path)
    parser.add_argument("--parts", type=int, default=8)
    given = parser.parse_args()
    if given.repository:
        sample_repository.plant(given.repository, given.parts)
    script = json.loads(given.script.read_text()) if given.script else None
    model = Model(
        seed=given.seed,
        rate=given.rate,
        script=script,
        log=given.log,
        think=given.think,
        witness=given.witness,
    )
    Server(("127.0.0.1", given.port), handler(model)).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
