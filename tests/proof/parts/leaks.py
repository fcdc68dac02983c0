"""Plants secrets where text comes in while the product runs, and looks for them behind its four doors."""

import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from slack_sdk import WebClient
from sqlalchemy import text as sql

from bot.context import Bot
from bot.machines.asking import take_in
from bot.machines.hooks import take
from bot.machines.wire import Asked
from bot.planner.model import prompt
from bot.planner.model.calls import connect
from bot.planner.model.claude import Claude
from bot.planner.model.usage import PRICES
from bot.planner.runbooks import book as runbooks
from bot.slack.app import commit
from bot.slack.outbox import Outbox
from storage.config import SignoffConfig
from storage.database.engine import migrate, open_engine
from storage.errors import SignoffError
from storage.secrets.redaction import Quiet, Redactor
from tests.proof.parts.planted import KINDS, Chance, Made, known, unknown
from tests.support.doors.asking import CI, READ
from tests.support.fake_model import KEY, MODEL, FakeModel, Reply, says
from tests.support.fakes import (
    TEAM,
    Everybody,
    FakeClock,
    approve,
    at_home,
    demo_config,
    plan_spec,
    real_contracts,
    step,
    terms,
    work,
)
from tests.support.room import handle_all, think
from tests.support.store import Store
from workers.base import Context, Params, Permanent, Report, Worker, action
from workers.commands.process import run
from workers.engine.attempt import Attempts
from workers.registry import Registry

SEEN = 12  # so many characters of a secret in a row are too many; fewer may be chance in a whole database
BOOKS = runbooks.read([runbooks.SHIPPED])
Batch = list[Made]
HOOKED = SignoffConfig.model_validate({"people": {"approvers": ["BOB"]}, "hooks": {kind: {
    "kind": kind, "secret_env": ["SIGNOFF_HOOK_X"], "channel": "C1", "owner": "ANN",
    "routes": [{"runbook": "service-status", "slots": {"service": "labels.service"},
                "values": {"environment": "production"}}],
} for kind in ("alertmanager", "pagerduty", "github", "standard")}})  # fmt: skip
SHOUT = "import sys; sys.stderr.write('.' * 4090 + open(sys.argv[1], encoding='utf-8').read()); sys.exit(1)"


class Recorder(WebClient):
    """A Slack that takes everything, and remembers it."""

    def __init__(self) -> None:
        super().__init__(token="xoxb-none")
        self.said, self.numbers = list[str](), count(1)

    def api_call(self, api_method: str, **given: Any) -> Any:
        self.said.append(json.dumps([api_method, given], ensure_ascii=False, default=str))
        return {"ok": True, "ts": f"{next(self.numbers)}.0", "channel": {"id": "D1"}, "messages": []}

    def files_upload_v2(self, **given: Any) -> Any:
        content = given.pop("content").decode(errors="replace")
        return self.api_call("files", **given, content=content)


class Leak(Params):
    """Which way it leaks."""

    way: str = "report"


class Found(BaseModel):
    found: str
    deep: list[dict[str, str]]


class Leaky(Worker):
    """Prints, reports, breaks and previews whatever it was given."""

    name = "ops"
    text = ""

    @action(changes=False, repeat="safe")
    def leak(self, params: Leak, ctx: Context) -> Report[Found]:
        ctx.progress(self.text)
        if params.way == "breaks":
            raise RuntimeError(f"it broke on {self.text}")
        if params.way == "fails":
            raise Permanent(f"it failed on {self.text}")
        if params.way == "prints":
            return self._printed(ctx)
        return Report.ok(f"done: {self.text}", Found(found=self.text, deep=[{"line": self.text}]))

    def _printed(self, ctx: Context) -> Report[Found]:
        """A child prints it, across the end of a block of bytes; its whole log is an artifact."""
        source = ctx.scratch / "out.txt"
        source.write_text(self.text, encoding="utf-8")
        done = run(
            [sys.executable, "-c", SHOUT, str(source)], cwd=ctx.scratch, env=os.environ, timeout=60,
            scratch=ctx.scratch, key=ctx.key,
        )  # fmt: skip
        source.unlink()
        return Report.failed(done.text(), artifacts=(str(done.log),))


class Scene:
    """The product in one process, with a database file, a log, a model and a Slack to look into."""

    def __init__(self, home: Path, values: Iterable[str], model: FakeModel) -> None:
        self.home, self.model, self.slack, self.log = home, model, Recorder(), io.StringIO()
        self.engine = open_engine(f"sqlite:///{home / 'doors.db'}")
        migrate(self.engine)
        self.redactor, self.clock = Redactor([*values]), FakeClock()
        self.store = Store(self.engine, self.clock, self.redactor)
        self.reply, self.breaks, self.trigger = "", "", count(1)
        model.script = [self._answer]
        self.bot = Bot(self.store, demo_config(), Everybody(), lambda *_: None, BOOKS, self._ask)
        self.outbox = Outbox(self.store, self.slack, artifacts=home)
        self.worker = Leaky({})
        self.attempts = Attempts(self.store, Registry([self.worker]), "w1", home)
        self.store.publish([*self.attempts.registry.contracts(), *real_contracts()])
        self.claude = Claude(
            connect(KEY, url=model.url),
            MODEL,
            "low",
            PRICES,
            lambda *_: None,
            redact=self.redactor.text,
            clean=self.redactor.document,
        )

    def _answer(self, body: dict[str, Any]) -> Reply:
        return says(self.reply)

    def _ask(self, text: str, spend: Any, around: Any) -> Any:
        if self.breaks:
            raise RuntimeError(self.breaks)
        return self.claude.plan(text, self.store.contracts(), self.bot.config, self.clock(), BOOKS)

    def asked(self, text: str, reply: str = "", breaks: str = "") -> None:
        """Somebody says this in Slack; the model answers that, or the planner breaks with it."""
        self.reply, self.breaks = reply or json.dumps(refusal("no")), breaks
        body = {"command": "/plan", "user_id": "UANN", "channel_id": "C1", "text": text}
        commit(self.bot, at_home(body | {"trigger_id": str(next(self.trigger))}), lambda: None)
        handle_all(self.bot)
        think(self.bot)
        self.spoken()

    def worked(self, text: str, way: str) -> None:
        """A worker leaks this."""
        self.worker.text = text
        contract = self.attempts.registry.contracts()[0]
        plan_id = self.store.request("leak", team=TEAM, user="ANN", channel="C1")
        made = step("s1", contract, parameters={"way": way})
        self.store.propose(plan_id, plan_spec(made), terms(), author="planner")
        approve(self.store, plan_id)
        work(self.attempts)
        self.spoken()

    def machine(self, key: str, **given: Any) -> None:
        """A machine asks so; what is refused at the door leaves nothing."""
        with suppress(SignoffError):
            take_in(self.bot, CI, Asked.model_validate(given), key)
        handle_all(self.bot)
        think(self.bot)
        self.spoken()

    def hooked(self, text: str) -> None:
        """Each source calls, with this in its headers and its fields."""
        line = " ".join(text.split())
        labels = {"service": line, "alertname": line}
        body = {
            "groupKey": line, "status": "firing",
            "alerts": [{"labels": labels, "annotations": {"summary": text}}],
            "event": {"id": line, "event_type": "incident.triggered", "data": {"id": line, "title": text}},
            "key": line, "summary": text, "sender": {"login": line},
        }  # fmt: skip
        headers = {"X-GitHub-Delivery": line, "X-GitHub-Event": line, "webhook-id": line, "Cookie": line}
        for kind, hook in HOOKED.hooks.items():
            take(replace(self.bot, config=HOOKED), kind, hook, headers, json.dumps(body).encode(), 0.0)
        handle_all(replace(self.bot, config=HOOKED))
        self.spoken()

    def spoken(self) -> None:
        for _ in range(4):
            self.clock.advance(30)
            self.outbox.speak()

    def behind(self) -> dict[str, str]:
        """What stands behind each door."""
        with self.engine.connect() as c:
            c.execute(sql("PRAGMA wal_checkpoint(TRUNCATE)"))
        return {
            "database": (self.home / "doors.db").read_bytes().decode(errors="replace"),
            "log": self.log.getvalue(),
            "model": json.dumps(self.model.requests, ensure_ascii=False),
            "Slack": "\n".join(self.slack.said),
        }


def refusal(reason: str) -> dict[str, Any]:
    empty = {"goal": "", "steps": [], "rollback": [], "questions": [], "assumptions": [], "continues": False}
    return empty | {"kind": "refuse", "reason": reason}


def question(ask: str) -> dict[str, Any]:
    return refusal("") | {
        "kind": "clarify",
        "questions": [{"name": "q", "ask": ask, "kind": "text", "options": []}],
    }


def planned(**fields: Any) -> str:
    """A plan that is good but for these words."""
    good = json.loads(next(iter(dict(prompt.examples()).values())))
    return json.dumps(good | fields)


WAYS: dict[str, Callable[[Scene, str], None]] = {
    "Slack's words": lambda scene, text: scene.asked(text),
    "a hook's call": lambda scene, text: scene.hooked(text),
    "a machine's plan": lambda scene, text: scene.machine(f"k{len(text)}", plan=READ | {"goal": text}),
    "a model's refusal": lambda scene, text: scene.asked("deploy a", json.dumps(refusal(text))),
    "a model's question": lambda scene, text: scene.asked("deploy a", json.dumps(question(text))),
    "a model's assumption": lambda scene, text: scene.asked("deploy a", planned(assumptions=[text])),
    "a model's goal": lambda scene, text: scene.asked("deploy a", planned(goal=text)),
    "a model's rubbish": lambda scene, text: scene.asked("deploy a", text),
    "an exception in the planner": lambda scene, text: scene.asked("deploy a", breaks=text),
    "a report": lambda scene, text: scene.worked(text, "report"),
    "a failure": lambda scene, text: scene.worked(text, "fails"),
    "an exception in a worker": lambda scene, text: scene.worked(text, "breaks"),
    "a child's output": lambda scene, text: scene.worked(text, "prints"),
    "a machine's words": lambda scene, text: scene.machine("k1", text=text),
    "a machine's key": lambda scene, text: scene.machine("".join(text.split())[:200], plan=READ),
}


def secrets(total: int, seed: int) -> tuple[list[str], list[Made]]:
    """Values that the product knows, and so many texts: a third with such a value, in some encoding."""
    chance = Chance(seed)
    values = [known(chance) for _ in range(30)]
    made = []
    for number in range(total):
        forms = values[number % len(values)][1]
        plain = unknown(chance, [*KINDS][number % len(KINDS)])
        made.append(plain if number % 3 else forms[chance.choice([*forms])])
    return [value for value, _ in values], made


def batches(made: list[Made], longest: int = 1500) -> Iterator[Batch]:
    batch: Batch = []
    for one in made:
        if batch and sum(len(text) + 1 for text, _ in [*batch, one]) > longest:
            yield batch
            batch = []
        batch.append(one)
    yield batch


def seen(secrets_: Iterable[str], shown: str) -> list[str]:
    """Which of these can be read in the text: windows over it are looked up, since there are many."""
    windows: dict[str, str] = {}
    for secret in secrets_:
        short = min(SEEN, len(secret))
        windows |= {
            secret[at : at + short].ljust(SEEN, "\0"): secret for at in range(len(secret) - short + 1)
        }
    sizes = {len(window.rstrip("\0")) for window in windows}
    found = {
        windows[window]
        for size in sizes
        for at in range(len(shown) - size + 1)
        if (window := shown[at : at + size].ljust(SEEN, "\0")) in windows
    }
    return sorted(found)


@contextmanager
def listening(scene: Scene) -> Iterator[None]:
    """The log as the product has it."""
    handler = logging.StreamHandler(scene.log)
    handler.setFormatter(Quiet(scene.redactor, logging.Formatter("%(levelname)s %(name)s %(message)s")))
    loggers = [logging.getLogger(name) for name in ("bot", "workers", "storage", "anthropic")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


def leaked(home: Path, total: int, seed: int = 1) -> dict[str, list[str]]:
    """Plant so many, each in one of the ways; what can be read behind each door."""
    values, made = secrets(total, seed)
    with FakeModel(says("{}")) as model:
        scene = Scene(home, values, model)
        with listening(scene):
            for number, batch in enumerate(batches(made)):
                way = [*WAYS][number % len(WAYS)]
                WAYS[way](scene, "\n".join(text for text, _ in batch))
        behind = scene.behind()
        scene.engine.dispose()
    assert all(len(text) > 500 for text in behind.values()), {k: len(v) for k, v in behind.items()}
    return {door: seen((secret for _, secret in made), text) for door, text in behind.items()}
