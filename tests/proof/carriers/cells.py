"""The cells of the carriers' torture: what befalls processes or database while steps are under way."""

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import psycopg

from tests.soak.fleet import Fleet
from tests.support.postgres import bounce
from tests.support.store import Store

FOREIGN = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
)


@dataclass(frozen=True)
class Scene:
    """What a cell may touch. `pump` is called while it waits: the bot's part goes on."""

    fleet: Fleet
    store: Store
    server: str  # the superuser's address; "" on SQLite
    pump: Callable[[], object]
    dice: random.Random

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.pump()
            time.sleep(0.05)

    def workers(self) -> list[str]:
        return [name for name in self.fleet.members if name.startswith("workers")]


def crash_recovery(scene: Scene) -> None:
    """All workers die inside their work."""
    for name in scene.workers():
        scene.fleet.members[name].send(signal.SIGKILL)


def repeated_kills(scene: Scene) -> None:
    for _ in range(10):
        scene.fleet.members[scene.dice.choice(scene.workers())].send(signal.SIGKILL)
        scene.wait(1.5)


def sigstop(scene: Scene) -> None:
    """One stands still for longer than its leases last, and goes on again."""
    member = scene.fleet.members[scene.workers()[0]]
    member.send(signal.SIGSTOP)
    try:
        scene.wait(22.0)
    finally:
        member.send(signal.SIGCONT)


def postgres_restart(scene: Scene) -> None:
    for down in (0.0, 3.0):
        bounce(scene.server, down)
        scene.wait(1.0)


def pg_backend_kill(scene: Scene) -> None:
    for _ in range(5):
        with psycopg.connect(scene.fleet.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(FOREIGN, [connection.info.dbname])
        scene.wait(1.0)


def pool_exhaustion(scene: Scene) -> None:
    """Nobody gets a new connection for a while, and those that there are get lost."""
    with ExitStack() as stack:
        with suppress(psycopg.OperationalError):
            while True:  # until the server has no more for anybody but its superuser
                stack.enter_context(psycopg.connect(scene.fleet.url.replace("+psycopg", "")))
        scene.wait(6.0)


def idle_in_tx(scene: Scene) -> None:
    """Somebody forgets a transaction that has read everything and locked a plan."""
    with psycopg.connect(scene.fleet.url.replace("+psycopg", "")) as connection:
        connection.execute("SELECT count(*) FROM step")
        connection.execute("SELECT id FROM plan ORDER BY id DESC LIMIT 1 FOR UPDATE")
        # Somebody else remembers it: the bot's part, which goes on in this thread, may wait for that row.
        remembered = threading.Timer(6.0, connection.rollback)
        remembered.start()
        scene.wait(6.0)
        remembered.join()


def sustained_high_load(scene: Scene) -> None:
    """Nothing goes wrong; there is only much to do."""
    scene.wait(5.0)


def active_readers(scene: Scene) -> None:
    with busy([lambda: scene.store.recent(50)] * 4):
        scene.wait(6.0)


def event_burst(scene: Scene) -> None:
    """Thousands of commits that mean nothing wake everybody."""

    def burst() -> None:
        for number in range(2000):
            scene.store.alive(f"burst-{number % 7}", "bot", "burst")

    with busy([burst]):
        scene.wait(5.0)


@contextmanager
def busy(work: list[Callable[[], object]]) -> Iterator[None]:
    """Each in a thread of its own, over and over."""
    over = threading.Event()

    def turn(one: Callable[[], object]) -> None:
        while not over.is_set():
            with suppress(Exception):
                one()

    threads = [threading.Thread(target=turn, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


EVERYWHERE = (crash_recovery, repeated_kills, sigstop, sustained_high_load, active_readers, event_burst)
CELLS = (
    crash_recovery, postgres_restart, repeated_kills, pg_backend_kill, pool_exhaustion, idle_in_tx,
    sustained_high_load, active_readers, event_burst, sigstop,
)  # fmt: skip
