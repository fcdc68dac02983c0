"""python -m tests.bench.weight.bytes: bytes of a finished plan of six steps: name value limit ok|short.

Three reads and three changes, asked for by a command and approved by a click; dry runs, reports, the card and
its thread as the product makes them. Only what workers and Slack answer is given. Then everything was told, a
day goes by, the bot does what it does every hour, and the growth of the file is divided by the plans.
"""

import argparse
import json
import random
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from bot.planner.runbooks import book as runbooks
from bot.slack.outbox import Outbox
from bot.turns.forgetting import forget_old, tidy
from bot.turns.rounds import look_after, tend, think
from storage.contract.report import AnyReport
from storage.database.engine import migrate, open_engine
from storage.steps.claims import Taker
from storage.steps.previews import Brief, basis_hash
from tests.bench.say import say
from tests.support.fakes import LEASE, FakeClock, real_contracts
from tests.support.postgres import fresh_database, postgres_server
from tests.support.room import Room
from tests.support.store import Store

LIMIT = 6000.0  # bytes
ROUNDS = 7  # in which it has ended, and been told
FIRST = 20  # plans that are there already
DAY = 86_400.0
WISH = "release auth-service v2.1.{number}"
BOOK = Path(__file__).parent / "release"
HEALTH = {"service": "auth-service", "replicas": 2, "ready": True, "endpoints": 2}
ANSWERS: dict[str, tuple[str, dict[str, Any]]] = {
    "run_tests": ("128 of 128 tests passed on staging in 41 s", {
        "total": 128, "passed": 128, "failed": 0, "errors": 0, "skipped": 0, "flaky": 0, "failures": [],
        "flakes": [], "seconds": 41.3, "commit": "{noise}",
    }),
    "rollout_status": ("auth-service v2.1.3 runs: 2 of 2 ready", HEALTH | {
        "version": "v2.1.3", "color": "blue",
    }),
    "backup_database": ("auth_prod backed up: 147.5 kB, read back", {
        "path": "/var/lib/signoff/backups/auth_prod-{noise}.db", "bytes": 147_456, "tables": 3,
        "rows": 2000, "level": "full", "verified": True, "seconds": 0.41, "previous_bytes": 147_456,
        "free_bytes": 52_428_800_000, "removed": [], "sha256": "{noise}{noise}",
    }),
    "deploy_service": ("auth-service runs the new version: 2 of 2 ready", HEALTH | {
        "version": "{noise}", "previous_version": "v2.1.3", "color": "green", "strategy": "blue_green",
        "image": "registry.example/auth-service@sha256:{noise}{noise}", "seconds": 12.7,
    }),
    "check_http": ("auth-prod answers 200 in 0.04 s", {
        "status": 200, "seconds": 0.04, "bytes": 21, "tries": 1, "holds": True,
    }),
    "send": ("ops-hook took it", {"status": 200, "seconds": 0.03, "accepted": True}),
}  # fmt: skip
DRY = {
    "run_tests": ("pytest -q in auth-service: 128 tests", ("128 tests",), ""),
    "backup_database": ("A full backup of auth_prod (147.5 kB); 52.4 GB are free.", ("52.4 GB free",), ""),
    "deploy_service": (
        "auth-service in production: image registry.example/auth-service:v2.1.3 \u2192 v2.1.4, 2 replicas, "
        "green beside blue; traffic moves when both are ready.", ("2 of 2 ready now",), "v2.1.3",
    ),
}  # fmt: skip
TABLES = """SELECT m.tbl_name, d.name, SUM(d.pgsize)
    FROM dbstat d JOIN sqlite_master m ON m.name = d.name GROUP BY 1, 2"""
RELATIONS = """SELECT t.relname, c.relname,
    pg_relation_size(c.oid) + COALESCE(pg_relation_size(c.reltoastrelid), 0)
    FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
    JOIN pg_class t ON t.oid = COALESCE(i.indrelid, c.oid)
    WHERE c.relkind IN ('r', 'i') AND c.relnamespace = 'public'::regnamespace"""
Sizes = dict[tuple[str, str], int]  # by table and by what lies there: itself, or an index of it


class Slack:
    """Takes everything, and gives each post a timestamp."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.numbers = clock, count(1)

    def __getattr__(self, method: str) -> Callable[..., Mapping[str, Any]]:
        def answer(**given: Any) -> Mapping[str, Any]:
            at = f"{self.clock().timestamp():.0f}.{next(self.numbers) % 1_000_000:06}"
            return {"ok": True, "ts": at, "channel": given.get("channel", {"id": "D1"}), "messages": []}

        return answer


class Office:
    """One bot, one workers process and one Slack, over one database."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.room, self.store, self.clock = Room(store), store, clock
        books = runbooks.read([BOOK])
        self.room.bot = replace(self.room.bot, runbooks=books)
        self.numbers, self.chance = count(1), random.Random(1)  # noqa: S311 # the same every time
        self.outbox = Outbox(store, Slack(clock), steady=lambda: clock().timestamp())  # type: ignore[arg-type] # what the outbox uses of it
        self.outbox.pace.ready = lambda *given: True  # type: ignore[method-assign] # no waiting for a channel
        self.taker = Taker("w1", {(c.worker, c.action): c for c in real_contracts()}, LEASE)
        store.publish(real_contracts())

    def plan(self) -> None:
        """From the wish to the end, with all that was said of it."""
        self.room.delivers({
            "command": "/plan", "text": WISH.format(number=next(self.numbers)), "user_id": "ANN",
            "channel_id": "C1", "trigger_id": f"{self.clock().timestamp():.6f}",
        })  # fmt: skip
        self._round()
        for wanted in self.store.previews_wanted(self.taker.contracts.keys()):
            text, found, was = DRY[wanted.action]
            brief = Brief(found, was)
            self.store.show(wanted, text, basis_hash({"was": was}), actor="w1", brief=brief)
        self._round()
        self.room.clicks("BOB", "approve")
        for _ in range(ROUNDS):
            self._round()
            self._work()
        if (view := self.room.view()).state != "done":
            raise AssertionError(f"it has not ended: {view}")

    def _work(self) -> None:
        claims = self.store.turn([], self.taker, 8)
        for claim in claims:
            self.clock.advance(1.234567)
            summary, data = ANSWERS[claim.action]
            said = json.dumps(data).replace("{noise}", f"{self.chance.getrandbits(128):032x}")
            self.store.succeed(claim, AnyReport.ok(summary, json.loads(said)), actor="w1")

    def _round(self) -> None:
        self.clock.advance(0.987654)
        tend(self.room.bot)
        think(self.room.bot)
        self.clock.advance(3.456789)
        self.outbox.speak()

    def a_day_later(self) -> None:
        """All is told, and what nobody needs any more is put away."""
        self.clock.advance(2 * DAY)
        tend(self.room.bot)
        look_after(self.room.bot)
        forget_old(self.store, self.room.config.audit.keep_days)
        tidy(self.store)


def grown(url: str, sizes: Callable[[str], Sizes], plans: int) -> Sizes:
    """What so many plans added to those before them: the pages that every table begins with do not count."""
    clock, engine = FakeClock(), open_engine(url)
    migrate(engine)
    office = Office(Store(engine, clock), clock)
    found = []
    for some in (FIRST, plans):
        for _ in range(some):
            office.plan()
            clock.advance(3600)
        office.a_day_later()
        found.append(sizes(url))
    engine.dispose()
    return {name: size - found[0].get(name, 0) for name, size in found[1].items()}


def lite(url: str) -> Sizes:
    with sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None) as c:
        c.execute("VACUUM")
        return {(table, name): size for table, name, size in c.execute(TABLES)}


def postgres(url: str) -> Sizes:
    with psycopg.connect(url, autocommit=True) as c:
        c.execute("VACUUM FULL")
        return {(table, name): size for table, name, size in c.execute(RELATIONS)}


def tell(name: str, found: Sizes, plans: int) -> None:
    """The figure, and whose share it is."""
    say(f"plan_{name}_bytes", sum(found.values()) / plans, LIMIT)
    for (table, part), size in sorted(found.items(), key=lambda one: -one[1]):
        if size:
            say(f"plan_{name}_bytes_{table}{f'_{part}' if part != table else ''}", size / plans)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=300)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="signoff-bench-") as home, postgres_server() as server:
        places = {
            "sqlite": (f"sqlite:///{home}/signoff.db", lite),
            "postgres": (fresh_database(server), postgres),
        }
        for name, (url, sizes) in places.items():
            if given.only in ("", name):
                tell(name, grown(url, sizes, given.plans), given.plans)


if __name__ == "__main__":
    main()
