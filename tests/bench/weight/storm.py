"""python -m tests.bench.weight.storm: a bot's memory while 10,000 deliveries come: name value limit ok|short.

The real bot process over Socket Mode and SQLite. People ask, look and click as fast as Slack takes it from
them, which is faster than a bot handles it; then until everything is handled and shown.
"""

import argparse
import re
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from bot.local.client.person import Button, WorkspaceClient
from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Member
from storage.clock import wall
from storage.database.engine import migrate, open_engine
from tests.bench.ack import process
from tests.bench.say import say
from tests.proof.deliveries import CONFIG, WISH
from tests.support.fakes import real_contracts
from tests.support.store import Store
from tests.support.world import bot_process

LIMIT = 160  # MB
PEOPLE = [Member(f"U{n:03}", f"person-{n}", f"Person {n}") for n in range(40)]
ROOMS = [Channel(f"C{n:03}", f"room-{n}") for n in range(60)]
LEFT = (
    "SELECT (SELECT count(*) FROM delivery WHERE handled_at IS NULL) + "
    "(SELECT count(*) FROM message WHERE wanted > shown) + "
    "(SELECT count(*) FROM plan WHERE state = 'planning')"
)


def act(workspace: WorkspaceClient, number: int, button: Button) -> bool:
    """One of the things that people do, by turns; whether it was acked."""
    person, channel = workspace.person(PEOPLE[number % len(PEOPLE)].id), ROOMS[number % len(ROOMS)].id
    kind = number // len(PEOPLE) % 10
    if kind < 2:
        return person.says(f"@Signoff {WISH.format(number)}", channel=channel).acked
    if kind == 2:
        return person.says(f"/plan {WISH.format(number)}", channel=channel).acked
    if kind < 7:
        return person.says(f"/plan show {900_000 + number}", channel=channel).acked
    return person.clicks(button).acked


def load(address: tuple[str, str], button: Button, number: int) -> int:
    """In a process of its own: how many were acked."""
    workspace = WorkspaceClient(*address, patience=120.0)
    with ThreadPoolExecutor(16) as pool:
        return sum(pool.map(lambda n: act(workspace, n, button), range(number)))


def memory(pid: int, name: str) -> float:
    """Megabytes: VmRSS is what it has now, VmHWM the most that it had."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def settled(store: Store, patience: float = 1800.0) -> float:
    """Seconds until everything is handled and shown."""
    began = time.monotonic()
    while time.monotonic() < began + patience:
        with store.read() as t:
            if not t.connection.exec_driver_sql(LEFT).scalar_one():
                break
        time.sleep(0.5)
    return time.monotonic() - began


@contextmanager
def bot(home: Path) -> Iterator[tuple[LocalSlack, Store, int]]:
    engine = open_engine(f"sqlite:///{home / 'signoff.db'}")
    migrate(engine)
    store = Store(engine, wall)
    store.publish(real_contracts())
    (home / "signoff.toml").write_text(CONFIG)
    with LocalSlack(members=[Member("U0BOB", "bob", "Bob"), *PEOPLE], channels=ROOMS) as slack:
        child = bot_process(home, slack)
        with process(["-P", *child.argv], child.env, home / "bot.log") as pid:
            slack.client(patience=60.0).wait_for_bot()
            yield slack, store, pid
    engine.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=10_000)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="signoff-bench-") as place,
        bot(Path(place)) as (slack, store, pid),
    ):
        first = slack.client(patience=60.0).person(PEOPLE[0].id)
        first.says("/plan deploy auth-service v9.9.9 to production", channel="C000")
        edit = first.button("edit")
        # Nobody makes the previews here, so there is no Approve; who asked for the plan is refused anyway.
        button = Button(edit.message_ts, edit.channel, edit.block_id, edit.element | {"action_id": "approve"})
        settled(store)
        say("storm_before_mb", memory(pid, "VmRSS"))
        began = time.monotonic()
        with ProcessPoolExecutor(1, get_context("spawn")) as people:
            acked = people.submit(load, (slack.url, slack.token), button, given.deliveries).result()
        say("storm_unacked", given.deliveries - acked)
        say("storm_seconds_to_deliver", time.monotonic() - began)
        say("storm_seconds_to_settle", settled(store))
        say("storm_after_mb", memory(pid, "VmRSS"))
        say("storm_peak_mb", memory(pid, "VmHWM"), LIMIT)


if __name__ == "__main__":
    main()
