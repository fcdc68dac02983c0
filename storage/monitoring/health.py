"""Whether a process lives and may be relied on, over plain HTTP: /healthz, /readyz, /metrics."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.exc import DBAPIError

from storage.database.same_file import watch_file
from storage.database.schema import found_in, newest
from storage.errors import Unavailable
from storage.memory import Memory
from storage.monitoring.ended import Ended
from storage.monitoring.histograms import Kept
from storage.monitoring.metrics import figures, told
from storage.monitoring.troubles import Troubles


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

    def forgive(self) -> None:
        """All of the process stood still: every loop has its time anew."""
        for name in self._beats:
            self.beat(name)

    def is_late(self, name: str) -> bool:
        return time.monotonic() - self._beats[name] > self.patience[name]

    def late(self) -> list[str]:
        """The loops that have stopped turning, in sentences."""
        ages = {name: time.monotonic() - at for name, at in self._beats.items()}
        return [f"{n} has not turned for {ages[n]:.0f} s" for n in ages if ages[n] > self.patience[n]]


@dataclass
class Health:
    """What one process answers. `undone`: what else speaks against it, as work that nobody does."""

    memory: Memory
    pulse: Pulse
    troubles: Troubles = field(default_factory=Troubles)
    undone: Callable[[], list[str]] = list

    def __post_init__(self) -> None:
        self._kept, self._ended = Kept(), Ended()
        self._moved = watch_file(self.memory.engine)

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
        where = self._moved()
        found = [*self.pulse.late(), *self.troubles.told(serious=True), *where]
        return _verdict(
            found if where else [*found, *self._behind(), *self.undone()],
            self.troubles.told(serious=False),
        )

    def _metrics(self) -> tuple[int, str]:
        with self.memory.read() as t:
            distributions = self._kept.get(t.connection)
        return 200, told(figures(self.memory, self._ended)) + distributions

    def _behind(self) -> list[str]:
        """Whether the schema is the one of this release."""
        with self.memory.read() as t:
            found, wanted = found_in(t.connection), newest()
        return [] if found == wanted else [f"the schema is at {found}; this release needs {wanted}"]


@contextmanager
def answering(health: Health, settings: HealthSettings) -> Iterator[int]:
    """Answer monitors in a thread of its own; the port, or 0 when there is none."""
    if not settings.port:
        yield 0
        return
    from storage.http_server import serving  # with aiohttp, 10 MB: only where somebody listens
    from storage.monitoring.health_door import health_doors

    with serving("SIGNOFF_HEALTH_PORT", settings.host, settings.port, health_doors(health)) as port:
        yield port


def _verdict(problems: list[str], remarks: Sequence[str] = ()) -> tuple[int, str]:
    status, lines = (503, problems) if problems else (200, ["ok"])
    return status, "".join(f"{line}\n" for line in (*lines, *remarks))
