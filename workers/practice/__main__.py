"""The practice cluster's server: python -m workers.practice --port P --state FILE [--seed SERVICE=VERSION]"""

import argparse
import json
import os
import threading
import time
from collections import deque
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from workers.base import Permanent
from workers.practice.metrics import errors
from workers.practice.model import Model
from workers.practice.page import page
from workers.practice.sample_repository import plant as plant_shop
from workers.practice.sample_repository import subtasks, title_of
from workers.practice.world import START, World

VERBS = {"get", "find", "apply", "patch", "scale", "logs"}
PARTS = 8
# One is wrong first and mended, one stays wrong and reaches a person, one is hostile and held by the gate.
SCRIPT = {title_of(1): "wrong", title_of(4): "wrong!", title_of(6): "hostile!"}
LABEL = "practice cluster — nothing real is deployed here"


class Practice:
    """The world, one caller at a time, and the file that it survives in."""

    def __init__(self, path: Path, seeds: list[tuple[str, str]], pace: float) -> None:
        self.path, self.lock, self.saved = path, threading.Lock(), ""
        self.told: deque[str] = deque(maxlen=50)  # what the hook was told
        self.world = World(json.loads(path.read_text()) if path.exists() else {}, pace=pace)
        if not self.world.objects:
            for service, version in seeds:
                plant(self.world, service, version)
        self.save()

    def ask(self, namespace: str, verb: str, arguments: dict[str, Any]) -> str:
        """The answer as text, written before the next caller may change what it is made of."""
        with self.lock:
            self.world.settle()
            result = getattr(self.world, verb)(namespace, **arguments)
            self.save()
            return json.dumps({"result": result})

    def look(self) -> World:
        """The world as of now; a copy, so that drawing it needs no lock."""
        with self.lock:
            self.world.settle()
            self.save()
            return World(json.loads(self.saved), pace=self.world.pace)

    def save(self) -> None:
        """Whole or not at all: a kill between any two instructions leaves the old file or the new one."""
        text = json.dumps(self.world.state())
        if text == self.saved:
            return
        draft = self.path.with_suffix(".partial")
        with draft.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)
        self.saved = text


def plant(world: World, service: str, version: str) -> None:
    """A service that has been running for a while, of the shape that the deployer gives to one."""
    labels = {"app": service, "color": "blue"}
    container = {"name": service, "image": f"practice.example/{service}:{version}"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": f"{service}-blue", "labels": labels, "annotations": {}}
    world.apply("default", {"kind": "Deployment", "metadata": metadata, "spec": spec})
    for pod in world.find("default", "Pod", labels):
        pod["born"] = time.time() - 10 * START
    metadata = {"name": service, "labels": {"app": service}}
    world.apply("default", {"kind": "Service", "metadata": metadata, "spec": {"selector": labels}})


def seed(text: str) -> tuple[str, str]:
    service, found, version = text.partition("=")
    if not (service and found and version):
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form SERVICE=VERSION")
    return service, version


class Handler(BaseHTTPRequestHandler):
    """`/` is the page, `/version` what the service itself would say, `/cluster/…` what the deployer asks.

    Around it: `/metrics` are the error rates of two weeks, `/hook` takes messages and shows them.
    """

    practice: Practice
    model: Model

    def do_GET(self) -> None:
        if self.path.rstrip("/") in {"/metrics", "/metrics/errors"}:
            self.answer_json(200, errors(datetime.now(UTC).date()))
        elif self.path.strip("/") == "hook":
            self.answer(200, "".join(f"{text}\n" for text in self.practice.told), "text/plain; charset=utf-8")
        else:
            self.look()

    def look(self) -> None:
        world = self.practice.look()
        first, _, rest = self.path.strip("/").partition("/")
        asked = rest if first == "version" else first
        known = world.services()
        service = asked or next(iter(known), "")
        if service not in known:
            self.unknown(service, known)
        elif first == "version":
            self.say_version(world, known[service], service)
        else:
            self.answer(200, page(world, known[service], service, LABEL), "text/html; charset=utf-8")

    def unknown(self, service: str, known: dict[str, str]) -> None:
        sentence = "The practice cluster runs no service yet."
        if known:
            sentence = f"The practice cluster runs no service named '{service}'. It runs: {', '.join(known)}."
        self.answer(404, f"{sentence}\n", "text/plain; charset=utf-8")

    def say_version(self, world: World, namespace: str, service: str) -> None:
        version = world.version(namespace, service)
        body = {"service": service, "version": version}
        self.answer_json(
            200 if version else 503, body if version else {"error": f"{service} has no ready pods."}
        )

    def do_POST(self) -> None:
        if self.path.partition("?")[0] == "/v1/messages":
            self.think()
            return
        kind, namespace, verb = (*self.path.strip("/").split("/"), "", "", "")[:3]
        # A foreign web page can post, but not as JSON without asking first.
        known = kind == "hook" or (kind == "cluster" and verb in VERBS)
        if not known or self.headers["Content-Type"] != "application/json":
            self.answer_json(404, {"error": f"The practice cluster knows no '{self.path}'."})
            return
        arguments = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if kind == "hook":
            self.practice.told.append(str(arguments.get("text", "")))
            self.answer_json(200, {"ok": True})
            return
        try:
            self.answer(200, self.practice.ask(namespace, verb, arguments), "application/json")
        except Permanent as refusal:
            self.answer_json(422, {"error": str(refusal)})

    def think(self) -> None:
        """The scripted model of the sample repository; nobody thinks here."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, said, pause = self.model.reply(body)
        time.sleep(min(pause, 5.0))
        self.answer_json(status or 500, said)

    def answer_json(self, status: int, body: Any) -> None:
        self.answer(status, json.dumps(body), "application/json")

    def answer(self, status: int, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: a deployer asks once a second."""


def end_with(parent: int) -> None:
    """A practice cluster that outlived its demo would keep the port."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m workers.practice", description=LABEL)
    parser.add_argument("--port", type=int, required=True, help="on loopback; 0 picks a free one")
    parser.add_argument("--state", type=Path, required=True, help="the file that the cluster survives in")
    parser.add_argument(
        "--seed", type=seed, action="append", default=[], metavar="SERVICE=VERSION", help="if the file is new"
    )
    parser.add_argument("--pace", type=float, default=1.0, help="how many times faster pods start")
    parser.add_argument("--shop", type=Path, help="where a sample repository is made, with a plan beside it")
    options = parser.parse_args()
    if options.shop:
        plant_shop(options.shop, PARTS)
        (options.shop.parent / "subtasks").mkdir(exist_ok=True)
        (options.shop.parent / "subtasks" / "prices.json").write_text(subtasks(PARTS))
    Handler.model = Model(script=SCRIPT, think=1.0)
    Handler.practice = Practice(options.state, options.seed, options.pace)
    try:
        server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    except OSError as error:
        parser.error(f"port {options.port} cannot be had: {error.strerror}")
    if parent := int(os.environ.get("SIGNOFF_PARENT", "0")):
        threading.Thread(target=end_with, args=[parent], daemon=True).start()
    with server:
        print(f"{LABEL}: http://127.0.0.1:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
