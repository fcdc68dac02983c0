"""The stage: a database, a clock that jumps, and children forked from this warm process. SIGKILL is real."""

import ctypes
import gc
import os
import signal
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

from bot.cards.blocks import pack
from bot.context import Bot
from bot.slack.app import commit
from bot.turns.rounds import tend
from storage.clock import jump, jumping, wall
from storage.config import People as Named
from storage.config import SignoffConfig
from storage.database.engine import migrate, open_engine
from tests.conftest import emptied
from tests.crash.points import Points, WatchedStore
from tests.crash.witness import Record, Witness, spec
from tests.support.fakes import TEAM, Everybody, at_home, shown, tamper, terms
from tests.support.room import handle_all
from tests.support.store import Store
from workers.engine import clock as clocks
from workers.engine.attempt import LEASE, Attempts
from workers.engine.carrier import LocalCarrier
from workers.engine.clock import Clock
from workers.engine.turn import Crew, take_turn
from workers.registry import Registry

PR_SET_PDEATHSIG = 1
BEAT = timedelta(seconds=0.03)
CONFIG = SignoffConfig(people=Named(approvers=("BOB",)))


class Stage:
    """What a run needs. No connection is open at a fork: SQLite's locks and libpq do not survive one."""

    def __init__(self, home: Path, url: str) -> None:
        self.home, self.clock, self.acks = home, home / "clock", home / "acks"
        self.now = jumping(self.clock)
        self.points = Points(home / "trace")
        self.record = Record(home / "effects", self.points)
        self.registry = Registry([Witness(self.record)])
        self.engine = open_engine(url)
        self.store = Store(self.engine, self.now)
        self.alone = self.engine.dialect.name == "sqlite"
        self.patience = 60.0  # seconds after which a plan counts as stuck
        self.plant: Callable[[Registry], None] = lambda registry: None  # what children get wrong
        migrate(self.engine)
        self._warm()

    def propose(self, variant: str) -> int:
        """An empty database with one proposed plan."""
        for path in (self.points.trace, self.record.path, self.record.hold, self.clock, self.acks):
            path.unlink(missing_ok=True)
        emptied(self.engine)
        store = self.store
        store.publish(self.registry.contracts())
        plan_id = store.request("change things", team=TEAM, user="ANN", channel="C1")
        later = {"approvers": ("BOB",), "expires_at": store.clock() + timedelta(days=30)}
        store.propose(plan_id, spec(self.registry, variant), terms(**later), author="planner")
        shown(store, plan_id, "1")
        return plan_id

    def let_leases_lapse(self) -> None:
        jump(self.clock, self.now() + LEASE + timedelta(seconds=1))

    def let_claims_lapse(self) -> None:
        """Who has died gives no delivery back; here nobody waits ten seconds for that."""
        if not self.alone:
            tamper(self.store, "UPDATE lease SET until = now() - interval '1 second'")

    def workers(self, target: str = "", how: signal.Signals = signal.SIGKILL, *, alone: bool) -> int:
        """Start a workers process."""
        return self._fork(lambda store: self._work(store, alone=alone), target, how)

    def click(self, plan_id: int, action: str, step: str, number: int, target: str = "") -> int:
        """Start a bot, which handles what it finds; Slack sends it the click unless that was acked."""
        body = self._body(plan_id, action, step)
        return self._fork(lambda store: self._hear(store, body, number), target, signal.SIGKILL)

    def bot(self, store: Store) -> Bot:
        return Bot(store, CONFIG, Everybody(), lambda trigger, view: None)

    def acked(self, number: int) -> bool:
        return self.acks.exists() and str(number) in self.acks.read_text().split()

    def _body(self, plan_id: int, action: str, step: str = "") -> dict[str, Any]:
        """What Slack sends when Bob clicks."""
        view = self.store.view(plan_id)
        value = pack(plan_id, view.revision, view.digest, step)
        act = {"action_id": action, "value": value, "action_ts": str(wall().timestamp())}
        place = {"user": {"id": "BOB"}, "channel": {"id": "C1"}, "message": {"ts": "1"}}
        return at_home({"type": "block_actions", **place, "actions": [act]})

    def _warm(self) -> None:
        """Do everything once in this process: a child inherits what was compiled, and starts in a tenth."""
        plan_id, store = self.propose("backward"), self.store
        self._hear(store, self._body(plan_id, "approve"), 1)
        for turn in range(8):
            here = Attempts(self.store, self.registry, f"turn-{turn}", self.home / "attempts")
            started = take_turn(here, Crew(8), alone=True)
            if turn > 1:  # what the first two take is lost
                store.turn([found for one in started if (found := here.run(one))], here.taker, 0)
            for step in store.view(plan_id).steps:
                if step.state == "unknown" and not step.probing:
                    self._hear(store, self._body(plan_id, "resolve_did_not", step.spec.id), turn + 2)
            store.alive(here.owner, "workers", "crash")
            store.renew(here.owner, LEASE, [one.claim.step_id for one in started])
        store.scheduled(), store.soonest(store.clock()), store.stirred()
        store.previews_wanted(self.registry.offers()), tend(self.bot(store))
        gc.freeze()

    def _fork(self, body: Callable[[Store], None], target: str, how: signal.Signals) -> int:
        self.engine.dispose()
        pid = os.fork()
        if pid == 0:
            self._live(body, target, how)
        return pid

    def _live(self, body: Callable[[Store], None], target: str, how: signal.Signals) -> NoReturn:
        """A child's life. It never returns into the parent's code, whatever goes wrong."""
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # also when it stands still
        try:
            self.points.target, self.points.how = target, how
            self.points.watch(self.engine)
            self.plant(self.registry)
            store = WatchedStore(self.engine, self.now)
            store.points, self.points.writer = self.points, store._writer
            body(store)
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)

    def _work(self, store: Store, *, alone: bool) -> None:
        """As python -m workers does, without its settings."""
        owner = f"workers-{os.getpid()}"

        def alive() -> None:
            store.alive(owner, "workers", "crash")
            store.publish(self.registry.contracts())

        attempts = Attempts(store, self.registry, owner, self.home / "attempts")
        crew, clocks.LEASE = (
            Crew(8),
            BEAT * 3,
        )  # as long as a step takes: the heartbeat's commits are points too
        clock = Clock(attempts, crew, LocalCarrier(attempts, crew), alone=alone, alive=alive)
        signal.signal(signal.SIGTERM, lambda *_: clock.stop())
        alive()
        clock.run()

    def _hear(self, store: Store, body: dict[str, Any], number: int) -> None:
        """As the bot's process does: commit the delivery, ack, and handle it from its row."""

        def ack() -> None:
            self.points.reach("before ack")
            with self.acks.open("a") as file:
                file.write(f"{number}\n")
            self.points.reach("after ack")

        bot = self.bot(store)
        handle_all(bot)
        if not self.acked(number):
            commit(bot, body, ack)
            handle_all(bot)
