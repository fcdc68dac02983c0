"""What a run has shown: the journal, the repository and the model's own log, joined afterwards."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import select
from sqlmodel import col

from storage.contract.states import StepState
from storage.database.tables import Attempt, Plan, Step
from storage.monitoring.fleet import Fleet, fleet
from tests.proof.fleet.drive import Run, log_of
from tests.proof.fleet.place import working
from workers.practice.sample_repository import title_of

LEAST = 0.9  # of what can be recovered
HELD = "hostile"  # a person's by design: the gate holds it
HOSTILE = "import os, subprocess"  # how such code begins


class Verdict:
    def __init__(self, run: Run, home: Path) -> None:
        self.run, self.home, self.wanted = run, home, run.wanted
        with run.play.store.read() as t:
            self.fleet: Fleet = fleet(t.connection)
            changes = select(Step.plan_id, Step.key, Step.state, Step.id).where(
                col(Step.worker) == "code-agent"
            )
            self.steps = [*t.connection.execute(changes)]
            texts = select(Plan.id, Plan.text)
            self.part = {row[0]: int(row[1].rpartition("part")[2]) for row in t.connection.execute(texts)}
            lost = select(col(Attempt.step_id)).where(col(Attempt.outcome).in_(("lose", "lost")))
            self.lost = {row[0] for row in t.connection.execute(lost)}
        self.keys = [key for plan in self._plans() for key in self._keys(plan)]
        self.classes = self._classes()

    def told(self) -> Iterator[str]:
        seen, found = self.run.seen, self.fleet
        yield f"seed {self.wanted.seed}: {self.wanted.epics} epics of {self.wanted.agents} subtasks"
        wanted = self.wanted
        yield (
            f"agents at once: {seen.peak} at the peak; {seen.held(wanted.agents):.0f} s of "
            f"{wanted.minutes * 60:.0f} with {wanted.agents} or more; drafted in {seen.drafted:.0f} s"
        )
        yield f"memory at most (MB, PSS): {seen.memory}"
        yield f"green {found.green} of {found.subtasks}, landed {found.landed}, by trailer {len(self.keys)}"
        yield f"the product's own classes: {found.incidents}"
        yield "dealt class        dealt  landed  person  open"
        for kind, ends in sorted(self.classes.items()):
            counts = f"{ends['landed']:>7} {ends['person']:>7} {ends['open']:>5}"
            yield f"  {kind:<16} {sum(ends.values()):>5} {counts}"
        mended, ended = self.recovered()
        share = f" = {100 * mended / ended:.1f} %" if ended else ""
        yield f"recovered {mended} of {ended} that ended{share}, without what the gate holds"
        yield f"questions that a person answered: {seen.asked}"
        yield f"{found.usd:.2f} USD (scripted) in {found.attempts} attempts"
        yield f"{found.landed / max(seen.drafted, 1) * 3600:.0f} commits landed an hour at this think time"

    def recovered(self) -> tuple[int, int]:
        some = [ends for kind, ends in self.classes.items() if kind not in {HELD, "none"}]
        mended = sum(ends["landed"] for ends in some)
        return mended, mended + sum(ends["person"] for ends in some)

    def faults(self) -> Iterator[str]:
        found, keys, wanted = self.fleet, self.keys, self.wanted
        yield from self._idle()
        if not len(keys) == len({*keys}) == found.landed:
            yield f"landed {found.landed}, and {len(keys)} keys, {len({*keys})} of them different"
        if (self.home / "witness").exists():
            yield "hostile code has written outside of its box"
        yield from self._left()
        if not wanted.rate and found.incidents and not wanted.kills:
            yield f"incidents without a fault: {found.incidents}"
        if wanted.rate and self.classes[HELD]["landed"]:
            yield f"{self.classes[HELD]['landed']} hostile changes landed"
        if any(self._git("grep", "-l", HOSTILE, f"signoff/{plan}/integrated") for plan in self._plans()):
            yield "hostile code stands in what has landed"
        mended, ended = self.recovered()
        if ended and mended / ended < LEAST:
            yield f"only {mended} of {ended} incidents were recovered"

    def _idle(self) -> Iterator[str]:
        wanted, seen = self.wanted, self.run.seen
        if self.fleet.subtasks < wanted.parts or seen.peak < wanted.agents:
            at_once = f"{seen.peak} of {wanted.agents} agents at once"
            yield f"only {self.fleet.subtasks} of {wanted.parts} subtasks were begun, {at_once}"
        if (held := seen.held(wanted.agents)) < wanted.minutes * 60:
            yield f"{wanted.agents} were at work for only {held:.0f} s"

    def _left(self) -> Iterator[str]:
        pool = self.home / "pool"
        left = {
            "folders of agents": [*(pool / "work").glob("*")],
            "index files": [*pool.glob("index-*")],
            "locks": [*(pool / "clone.git").rglob("*.lock")],
            "branches of drafts": self._git("for-each-ref", "refs/heads/signoff/*/change-*").splitlines(),
            "worktrees": [*(pool / "clone.git" / "worktrees").glob("*")],
            "processes": working(),
        }
        yield from (f"{len(some)} {what} are left: {some[:3]}" for what, some in left.items() if some)
        if broken := self._git("fsck", "--strict", "--no-dangling"):
            yield f"git fsck says: {broken[:300]}"

    def _classes(self) -> dict[str, Counter[str]]:
        """Each fault that was dealt, and what became of its subtask; a lost process is a class, too."""
        dealt = [json.loads(line) for line in log_of(self.home)]
        faults: dict[str, set[str]] = {}
        for one in dealt:  # a hostile draft that was lost with its process is gone: another one was made
            faults.setdefault(one["title"], set()).discard(HELD)
            faults[one["title"]] |= {one["fault"]} - {""}
        landed, classes = {*self.keys}, dict[str, Counter[str]]()
        for plan, key, state, id_ in self.steps:
            title = title_of(self.part[plan] * self.wanted.agents + int(key.rpartition("-")[2]))
            step = f"plan-{plan}-{key}-"
            end = "landed" if any(one.startswith(step) for one in landed) else "person"
            end = "open" if StepState(state) not in {StepState.succeeded, StepState.failed} else end
            kinds = {*faults.get(title, ()), *({"killed process"} if id_ in self.lost else ())}
            kinds = {HELD} if HELD in kinds and end == "person" else kinds
            for kind in kinds or {"none"}:
                classes.setdefault(kind, Counter())[end] += 1
        classes.setdefault(HELD, Counter())
        return classes

    def _plans(self) -> list[int]:
        return sorted({row[0] for row in self.steps})

    def _keys(self, plan: int) -> list[str]:
        words = ("log", "--format=%(trailers:key=Signoff-Key,valueonly)", f"signoff/{plan}/integrated")
        return self._git(*words).split()

    def _git(self, *words: str) -> str:
        place = ["git", "--git-dir", str(self.home / "pool" / "clone.git")]
        return subprocess.run([*place, *words], capture_output=True, text=True, check=False).stdout
