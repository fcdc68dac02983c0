"""HTTP mode: signed requests instead of Socket Mode. Nothing is parsed before its signature holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from slack_bolt import App, BoltRequest, BoltResponse
from slack_sdk.signature import SignatureVerifier

from storage.errors import BadConfig

LARGEST = 1_000_000  # bytes of a request; Slack's own are far smaller
PATIENCE = 5.0  # seconds for a request to arrive whole
PATH = "/slack/events"


@contextmanager
def serving(app: App, secret: str, host: str, port: int) -> Iterator[int]:
    """Answer Slack at http://host:port/slack/events; the port that it became."""
    if not secret.strip():
        raise BadConfig("SLACK_SIGNING_SECRET is not set, so nobody could tell Slack's requests from others.")
    server = Server((host, port), app, SignatureVerifier(secret))
    thread = Thread(target=server.serve_forever, name="http", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Server(ThreadingHTTPServer):
    """One thread per request: each commits its row, and is answered."""

    daemon_threads = True

    def __init__(self, place: tuple[str, int], app: App, verifier: SignatureVerifier) -> None:
        self.app, self.verifier = app, verifier
        super().__init__(place, Answer)


class Answer(BaseHTTPRequestHandler):
    """One request of somebody who may be Slack."""

    server: Server
    timeout = PATIENCE

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if self.path != PATH:
            self._answer(BoltResponse(status=404))
        elif not length.isdigit() or int(length) > LARGEST:
            self._answer(BoltResponse(status=413))
        else:
            self._answer(self._heard(self.rfile.read(int(length))))

    def _heard(self, raw: bytes) -> BoltResponse:
        if not self._is_slack(raw):
            return BoltResponse(status=401)
        request = BoltRequest(body=raw.decode("utf-8", "replace"), headers=dict(self.headers.items()))
        return self.server.app.dispatch(request)

    def _is_slack(self, raw: bytes) -> bool:
        """Signed with our secret, within the last five minutes."""
        try:
            return self.server.verifier.is_valid_request(raw, dict(self.headers.items()))
        except (ValueError, TypeError):  # a time that is no number, a signature that is no ASCII
            return False

    def _answer(self, response: BoltResponse) -> None:
        body = response.body.encode()
        self.send_response(response.status)
        for name, values in response.headers.items():
            for value in values:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Deliveries are logged when they are committed; addresses of strangers are not."""
