"""python -m tests.bench.ack: how fast the bot acks while a thousand plans run: name value limit ok|short.

The real bot process over Socket Mode, a workers process with a running step of each plan, one SQLite file.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from bot.local.client.person import Button, WorkspaceClient
from bot.local.server import LocalSlack
from bot.local.shapes import TEAM_ID, Delivery, Member
from storage.database.engine import migrate, open_engine
from tests.bench.engine import Engine
from tests.support.fakes import CONTRACTS, lasting, plan_spec
from tests.support.store import Store
from tests.support.world import bot_process

LIMIT = 300.0  # milliseconds
CONFIG = '[people]\napprovers = ["U0BOB"]\n[policy.limits]\nplans_per_hour = 0\nplans_per_target = 0\n'


def work(home: Path, plans: int) -> None:
    """The workers process: one attempt of each plan, which sleeps and is renewed, until it is killed."""
    engine = Engine(f"sqlite:///{home / 'signoff.db'}", home, slots=plans)
    engine.clock.run()


def populate(home: Path, plans: int) -> Store:
    """Approved plans with one step each, which a worker runs for as long as this takes."""
    engine = Engine(f"sqlite:///{home / 'signoff.db'}", home)
    spec = engine.steps(1, "linger", chained=False)
    for _ in range(plans):
        engine.plan(spec)
    return engine.store


@contextmanager
def process(argv: list[str], env: Mapping[str, str], log: Path) -> Iterator[int]:
    with log.open("ab") as out:
        child = subprocess.Popen([sys.executable, *argv], env=env, stdout=out, stderr=out)
        try:
            yield child.pid
        finally:
            child.kill()
            child.wait()


def propose(store: Store) -> None:
    """Something to click at: Ann asked for it, so her clicks are refused."""
    store.publish(CONTRACTS.values())
    plan_id = store.request("deploy a", team=TEAM_ID, user="U0ANN", channel="C0OPS")
    store.propose(plan_id, plan_spec(), lasting(authors=("U0ANN",)), author="planner")


def load(address: tuple[str, str], button: Button, rate: int, seconds: float) -> list[Delivery]:
    """So many a second, half clicks and half commands, each when its time has come."""
    ann, began = WorkspaceClient(*address, patience=60.0).person("U0ANN"), time.monotonic() + 0.5

    def act(number: int) -> Delivery:
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        return ann.clicks(button) if number % 2 else ann.says(f"/plan show {number}")

    with ThreadPoolExecutor(96) as pool:
        return list(pool.map(act, range(int(rate * seconds))))


def measure(home: Path, plans: int, rate: int, seconds: float) -> list[Delivery]:
    (home / "signoff.toml").write_text(CONFIG)
    engine = open_engine(f"sqlite:///{home / 'signoff.db'}")
    migrate(engine)
    store = populate(home, plans)
    propose(store)
    with LocalSlack(members=[Member("U0ANN", "ann", "Ann"), Member("U0BOB", "bob", "Bob")]) as slack:
        bot = bot_process(home, slack)
        hands = ["-m", "tests.bench.ack", "--work", str(home), "--plans", str(plans)]
        logs = home / "workers.log", home / "bot.log"
        with process(hands, dict(os.environ), logs[0]), process([*bot.argv], bot.env, logs[1]):
            workspace = slack.client(patience=300.0)
            workspace.wait_for_bot()
            running(store, plans)
            button = workspace.person("U0ANN").button("approve")
            # In a process of its own: what people do must not slow down the clock that measures.
            with ProcessPoolExecutor(1, get_context("spawn")) as people:
                return people.submit(load, (slack.url, slack.token), button, rate, seconds).result()


def running(store: Store, plans: int) -> None:
    """Until each plan has its running step, and the bot has shown it."""
    wait = "SELECT (SELECT count(*) FROM step WHERE state = 'running')"
    while True:
        with store.read() as t:
            if t.connection.exec_driver_sql(wait).scalar_one() == plans:
                return
        time.sleep(0.2)


def main() -> int:
    given = argparse.ArgumentParser()
    given.add_argument("--plans", type=int, default=1000)
    given.add_argument("--rate", type=int, default=100)
    given.add_argument("--seconds", type=float, default=60.0)
    given.add_argument("--work", type=Path)
    asked = given.parse_args()
    if asked.work:
        work(asked.work, asked.plans)
        return 0
    with tempfile.TemporaryDirectory() as home:
        found = measure(Path(home), asked.plans, asked.rate, asked.seconds)
    took = sorted(delivery.ms for delivery in found)
    p50, p99 = (took[int(len(took) * part)] for part in (0.5, 0.99))
    unacked = sum(not delivery.acked for delivery in found)
    figures = (("ack_p50_ms", p50, LIMIT), ("ack_p99_ms", p99, LIMIT), ("unacked", unacked, 0))
    for name, value, limit in figures:
        sys.stdout.write(f"{name} {value:g} {limit:g} {'ok' if value <= limit else 'short'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
