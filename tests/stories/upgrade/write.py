"""python -m tests.stories.upgrade.write FOLDER: a database as the code that runs this leaves it behind.

What lies beside this file was written by version 0.1.0, before every module was given a room: this same file
ran in that tree, with the imports of that tree. Written anew by newer code, it would show nothing.
"""

import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from slack_sdk import WebClient

from bot.cards.blocks import pack
from bot.planner.runbooks.book import Planned
from bot.slack.app import commit
from bot.slack.outbox import Outbox
from bot.slack.posting import PAUSE
from bot.turns.anchor import Anchor
from bot.turns.rounds import tend
from storage.config import read_config
from storage.contract.capability import Contract
from storage.contract.spec import PlanSpec
from storage.database.engine import migrate, open_engine
from storage.execution import Execution
from storage.intention import Intention
from tests.support.fakes import PLAN_JSON, FakeClock, at_home, show_previews, work
from tests.support.room import Room, think
from workers.engine.attempt import Attempts
from workers.registry import BUILTIN, load

HERE = Path(__file__).parent
DUMP, CHECKPOINTS, PROMISES = HERE / "signoff.sql", HERE / "checkpoints.jsonl", HERE / "promises.json"
CONFIG = read_config(HERE / "signoff.toml")
BEGAN = datetime(2026, 11, 14, 5, 59, tzinfo=UTC)
LEFT = datetime(2026, 11, 15, 23, 0, tzinfo=UTC)  # when the old code was stopped
DAILY, GATED, TONIGHT, WAITING, ASKED = "announce the day", "go live", "announce", "release", "look"


def step(key: str, command: str = "announce", **fields: Any) -> dict[str, Any]:
    action = "read_command" if command == "look" else "run_command"
    given = {"id": key, "worker": "command", "action": action, "parameters": {"command": command}}
    return given | fields


GATE = {"id": "gate", "worker": "approval-gate", "action": "confirm", "parameters": {"question": "Go live?"}}
DRAFTS: dict[str, list[dict[str, Any]]] = {
    DAILY: [step("tell")],
    GATED: [step("look", "look"), GATE | {"depends_on": ["look"]}, step("tell", depends_on=["gate"])],
    TONIGHT: [
        step("look", "look", success_criteria=["exit_zero"], schedule={"window": "nightly"}),
        step("tell", depends_on=["look"], schedule={"window": "nightly"}),
    ],
    WAITING: [step("tell", success_criteria=[{"field": "exit_code", "op": "eq", "value": 0}])],
    ASKED: [step("look", "look")],
}


def drafted(text: str, spend: Any, ground: Any) -> Planned:
    return Planned(PlanSpec.model_validate({"goal": text, "steps": DRAFTS[text]}), "as drafted")


class Slate(WebClient):
    """A Slack that takes everything it is told."""

    def __init__(self, number: int) -> None:
        super().__init__(token="xoxb-slate")
        self.times = (f"{number}.{n:06}" for n in count(1))

    def api_call(self, api_method: str, **given: Any) -> Any:
        return {"ok": True, "ts": next(self.times)}

    def files_upload_v2(self, **given: Any) -> Any:
        return {"ok": True}


@dataclass
class Office:
    """A bot, a workers process and their channel over one database. ANN asks, BOB may approve."""

    room: Room
    attempts: Attempts
    outbox: Outbox
    clock: FakeClock

    def says(self, user: str, text: str, *, handled: bool = True) -> None:
        """`/plan …`; unless it is handled, only its row is there."""
        number = f"{self.clock():%d%H%M}.{text}"
        body = {"command": "/plan", "user_id": user, "channel_id": "C1", "text": text, "trigger_id": number}
        (
            self.room.delivers
            if handled
            else lambda given: commit(self.room.bot, at_home(given), lambda: None)
        )(body)

    def presses(self, user: str, action: str, plan_id: int, key: str = "") -> None:
        view = self.room.store.view(plan_id)
        value = pack(view.id, view.revision, view.digest, key)
        pressed = {"action_id": action, "value": value, "action_ts": f"{self.clock():%d%H%M}.{plan_id}"}
        self.room.delivers({
            "type": "block_actions", "user": {"id": user}, "channel": {"id": view.channel},
            "message": {"ts": view.card}, "trigger_id": "t", "actions": [pressed],
        })  # fmt: skip

    def turn(self) -> None:
        """Everything that can happen by itself now, in the bot and in the workers."""
        started = True
        while started:
            tend(self.room.bot)
            think(self.room.bot)
            show_previews(self.attempts)
            tend(self.room.bot)
            started = bool(work(self.attempts))
        think(self.room.bot)

    def show(self) -> None:
        """Everything that waits to be said, at the pace of Slack."""
        while self.room.store.unsent():
            self.clock.advance(PAUSE.total_seconds())
            self.outbox.speak()

    def decides(self, plan_id: int) -> None:
        """It is planned and shown, BOB approves it, and it runs as far as it can."""
        self.turn()
        self.show()
        self.presses("BOB", "approve", plan_id)
        self.turn()


@contextmanager
def office(url: str, clock: FakeClock, number: int) -> Iterator[Office]:
    """Open the database at this time; `number` begins the timestamps of what its Slack shows."""
    engine = open_engine(url)
    migrate(engine)
    room = Room(Intention(engine, clock), CONFIG)
    room.bot = replace(room.bot, ask_model=drafted)
    attempts = Attempts(Execution(engine, clock), load(CONFIG), "workers-1", Path("attempts"))
    attempts.store.alive("workers-1", "workers", "0")
    attempts.store.publish(attempts.registry.contracts())
    yield Office(room, attempts, Outbox(room.store, Slate(number)), clock)
    engine.dispose()


def live(place: Office, checkpoints: Path) -> None:
    """Two days of a small company, up to the moment at which it installs something newer."""
    place.says("ANN", f"every day at 06:00 {DAILY}")
    place.clock.advance(minutes=1)
    place.decides(1)
    place.says("BOB", "schedules approve 1 for 5 runs")
    place.clock.advance(days=1)
    place.turn()  # the second run, which nobody need approve
    place.clock.now = LEFT - timedelta(minutes=10)
    place.says("ANN", GATED)
    place.decides(3)
    place.says("ANN", TONIGHT)
    place.says("ANN", WAITING)
    place.turn()
    place.show()
    Anchor(place.room.store, checkpoints).drop()
    place.clock.now = LEFT
    place.presses("BOB", "approve", 4)
    place.says("ANN", ASKED, handled=False)


def unsaid(made: Contract) -> Contract:
    """The contract without how it is said: in 0.1.0 no action said that."""
    return made.model_copy(update={"says": ""})


def promises() -> dict[str, str]:
    """The hash of every contract of the built-in workers, whatever the inventory; and of one document."""
    everything = CONFIG.model_copy(update={"workers": (*BUILTIN,)})
    hashes = {f"{made.worker}.{made.action}": unsaid(made).hash() for made in load(everything).contracts()}
    return hashes | {"a plan": PlanSpec.model_validate_json(PLAN_JSON).digest()}


def write(folder: Path) -> None:
    checkpoints, file = folder / CHECKPOINTS.name, folder / "signoff.db"
    checkpoints.unlink(missing_ok=True)
    with office(f"sqlite:///{file}", FakeClock(BEGAN), 100) as place:
        live(place, checkpoints.absolute())
    with closing(sqlite3.connect(file)) as connection:
        (folder / DUMP.name).write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")
    (folder / PROMISES.name).write_text(json.dumps(promises(), indent=1) + "\n", encoding="utf-8")


def main(folder: str) -> None:
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        write(Path("."))
        for name in (DUMP, CHECKPOINTS, PROMISES):
            Path(name.name).replace(Path(folder) / name.name)


if __name__ == "__main__":
    main(sys.argv[1])
