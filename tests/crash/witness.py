"""The worker whose effects are lines in a file, and the plans that it runs. The file is the witness."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from storage.contract.spec import PlanSpec, StepSpec, UndoSpec
from tests.crash.points import Points
from tests.support.fakes import plan_spec, step, undo
from workers.base import Context, Params, Permanent, Report, Verdict, Worker, action
from workers.registry import Registry

UNSAFE = frozenset({"once", "probed", "last"})
VARIANTS = {"forward": "succeeded", "backward": "rolled_back", "line": "succeeded"}  # and how each must end
SIDES = {"safe": "change_safely", "once": "change_once", "probed": "change_probed"}


class Thing(Params):
    name: str


class Done(BaseModel):
    name: str


@dataclass(frozen=True)
class Effect:
    """One line of the witness."""

    key: str
    name: str
    attempt: int


class Record:
    """The witness's file; effects are appended by one write each. `hold` makes later attempts wait."""

    def __init__(self, path: Path, points: Points) -> None:
        self.path, self.points, self.hold = path, points, path.with_suffix(".hold")

    def add(self, name: str, ctx: Context) -> Report[Done]:
        while ctx.attempt > 1 and self.hold.exists():
            time.sleep(0.005)
        self.points.reach(f"before effect {name}")
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, f"{ctx.key} {name} {ctx.attempt}\n".encode())
        os.close(file)
        self.points.reach(f"after effect {name}")
        return done(name)

    def effects(self) -> list[Effect]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [Effect(key, name, int(attempt)) for key, name, attempt in map(str.split, lines)]

    def has(self, name: str) -> bool:
        return any(effect.name == name for effect in self.effects())


class Witness(Worker):
    """Does nothing but leave lines in a file."""

    name = "witness"

    def __init__(self, record: Record) -> None:
        super().__init__({})
        self.record = record

    @action(changes=False, repeat="safe", timeout=60, typical=1)
    def read(self, params: Thing, ctx: Context) -> Report[Done]:
        return self.record.add(params.name, ctx)

    @action(changes=True, repeat="safe", timeout=60, typical=1)
    def change_safely(self, params: Thing, ctx: Context) -> Report[Done]:
        ctx.progress("half of it")
        return self.record.add(params.name, ctx)

    @action(changes=True, timeout=60, typical=1, target="thing:{name}")
    def change_once(self, params: Thing, ctx: Context) -> Report[Done]:
        return self.record.add(params.name, ctx)

    @action(changes=True, timeout=60, typical=1, target="thing:{name}")
    def change_probed(self, params: Thing, ctx: Context) -> Report[Done]:
        return self.record.add(params.name, ctx)

    @change_probed.before
    def previous(self, params: Thing, ctx: Context) -> dict[str, Any]:
        self.record.points.reach(f"before reading {params.name}", f"after reading {params.name}")
        return {"was": "nothing"}

    @change_probed.probe
    def look(self, params: Thing, ctx: Context) -> Report[Done] | Verdict:
        self.record.points.reach(f"before probe {params.name}")
        found = self.record.has(params.name)
        self.record.points.reach(f"after probe {params.name}")
        return done(params.name) if found else Verdict.did_not_run

    @action(changes=True, timeout=60, typical=1)
    def change_and_fail(self, params: Thing, ctx: Context) -> Report[Done]:
        self.record.add(params.name, ctx)
        raise Permanent("it is there, and it does not work")


def done(name: str) -> Report[Done]:
    return Report[Done].ok("it is there", Done(name=name))


def spec(registry: Registry, variant: str) -> PlanSpec:
    """A read, three changes, and a last one.

    forward: the three side by side. backward: so too, and the last fails and is rolled back. line: in a row.
    """
    keys = ("read", *SIDES, "last")
    before = {key: keys[place - 1 : place] for place, key in enumerate(keys)}
    if variant != "line":
        before |= dict.fromkeys(SIDES, ("read",)) | {"last": tuple(SIDES)}
    last = "change_and_fail" if variant == "backward" else "change_once"
    actions = {"read": "read", **SIDES, "last": last}
    steps = [_step(registry, key, actions[key], depends_on=before[key]) for key in keys]
    undos = [_undo(registry, key) for key in ("once", "probed")] if variant == "backward" else []
    return plan_spec(*steps, rollback=tuple(undos))


def _step(registry: Registry, key: str, action: str, **fields: Any) -> StepSpec:
    made = registry.contract("witness", action)
    return step(key, made, parameters={"name": key}, failure_action="rollback", **fields)


def _undo(registry: Registry, key: str) -> UndoSpec:
    made = registry.contract("witness", "change_safely")
    return undo(f"undo-{key}", key, made, parameters={"name": f"undo-{key}"})
