"""Whether a process lives and may be relied on, over plain HTTP: /healthz, /readyz, /metrics."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.exc import DBAPIError

from storage.errors import BadConfig, Unavailable
from storage.memory import Memory
from storage.monitoring.metrics import figures, told

MIGRATIONS = Path(__file__).parents[1] / "database" / "migrations"


class HealthSettings(BaseSettings):
    """Where a process answers a monitor; without a port, nowhere."""

    model_config = SettingsConfigDict(env_prefix="SIGNOFF_HEALTH_", extra="ignore")

    port: int = 0
    host: str = "127.0.0.1"


class Pulse:
    """When each loop of this process last turned, and how many seconds it may take."""

    def __init__(self, **patience: float) -> None:
        self.patience = patience
        self._beats = dict.fromkeys(patience, time.monotonic())

    def beat(self, name: str) -> None:
        self._beats[name] = time.monotonic()

    def beating(self, name: str, work: Callable[[], None]) -> Callable[[], None]:
        """The same work; its end is a beat."""

        def turn() -> None:
            work()
            self.beat(name)

        return turn

    def late(self) -> list[str]:
        """The loops that have stopped turning, in sentences."""
        ages = {name: time.monotonic() - at for name, at in self._beats.items()}
        return [f"{n} has not turned for {ages[n]:.0f} s" for n in ages if ages[n] > self.patience[n]]


@dataclass(frozen=True)
class Health:
    """What one process answers."""

    memory: Memory
    pulse: Pulse

    def answer(self, path: str) -> tuple[int, str]:
        """Status and text."""
        pages = {"/healthz": self._lives, "/readyz": self._ready, "/metrics": self._metrics}
        if path not in pages:
            return 404, f"There is no {path}; there are {', '.join(pages)}.\n"
        try:
            return pages[path]()
        except (Unavailable, DBAPIError) as error:
            return 503, f"the database does not answer: {error}\n"

    def _lives(self) -> tuple[int, str]:
        return _verdict(self.pulse.late())

    def _ready(self) -> tuple[int, str]:
        return _verdict([*self.pulse.late(), *self._behind()])

    def _metrics(self) -> tuple[int, str]:
        return 200, told(figures(self.memory))

    def _behind(self) -> list[str]:
        """Whether the schema is the one of this release."""
        with self.memory.read() as t:
            found = MigrationContext.configure(t.connection).get_current_revision()
        wanted = ScriptDirectory(str(MIGRATIONS)).get_current_head()
        return [] if found == wanted else [f"the schema is at {found}; this release needs {wanted}"]


@contextmanager
def answering(health: Health, settings: HealthSettings) -> Iterator[int]:
    """Answer monitors in a thread of its own; the port, or 0 when there is none."""
    if not settings.port:
        yield 0
        return
    try:
        server = ThreadingHTTPServer((settings.host, settings.port), _door(health))
    except OSError as error:
        raise BadConfig(f"SIGNOFF_HEALTH_PORT={settings.port} cannot be used: {error}") from None
    Thread(target=server.serve_forever, name="health", daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def _verdict(problems: list[str]) -> tuple[int, str]:
    return (503, "\n".join(problems) + "\n") if problems else (200, "ok\n")


def _door(health: Health) -> type[BaseHTTPRequestHandler]:
    class Door(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:  # the name that http.server calls
            status, text = health.answer(self.path.partition("?")[0])
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # http.server's own name
            """A probe every few seconds is not worth a line."""

    return Door
