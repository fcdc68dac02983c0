"""A web site on the loopback that serves what a test says, and remembers what it was asked."""

import ssl
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from workers.base import Report

SECRET = 'Bearer s3cr3t/t0ken"quoted"'
PARTS = ("s3cr3t/t0ken", "s3cr3t%2Ft0ken")


class Page(NamedTuple):
    body: bytes | str = b"ok"
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 # a NamedTuple's default, never changed
    drip: bool = False  # the body never ends
    hang: bool = False  # there is no answer at all
    length: int | None = None  # as announced, when that is a lie


class Site(ThreadingHTTPServer):
    """Serves `pages` (a list is served in order, its last page for ever) and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, Page | list[Page]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[bytes] = []  # of the posts among them
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def page(self, path: str) -> Page:
        found = self.pages.get(path, Page("nothing here", 404))
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        page = self.server.page(self.path)
        if page.hang:
            self.server.closing.wait(20)
            return
        body = page.body.encode() if isinstance(page.body, str) else page.body
        self.send_response(page.status)
        length = 10**9 if page.drip else len(body) if page.length is None else page.length
        for name, value in {"Content-Length": str(length), **page.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        while page.drip and not self.server.closing.wait(0.05):
            self.wfile.write(b"x")

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


@contextmanager
def serving(tls: Path | None = None) -> Iterator[Site]:
    with Site() as site:
        if tls:
            secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            secure.load_cert_chain(tls)
            site.socket = secure.wrap_socket(site.socket, server_side=True)
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            site.closing.set()
            site.shutdown()
            thread.join()


def nowhere(outcome: Report[Any] | BaseException, scratch: Path) -> bool:
    """Whether no part of the secret is in a report or an error with all its causes, nor in any file."""
    said = (
        "".join(traceback.format_exception(outcome)) + repr(outcome)
        if isinstance(outcome, BaseException)
        else outcome.model_dump_json() + repr(outcome)
    )
    files = "".join(file.read_text() for file in scratch.rglob("*") if file.is_file())
    return not any(part in said + files for part in PARTS)
