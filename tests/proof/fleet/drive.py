"""One run: epics asked for and approved by people, processes killed inside, and what was seen meanwhile."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import func, select
from sqlmodel import col

from bot.local.client.person import WorkspaceClient
from storage.contract.states import PlanState, StepState
from storage.database.tables import Step
from storage.errors import Conflict, Unavailable
from storage.reading.plan_view import PlanView
from tests.proof.fleet.place import Installation, Wanted, memory

OVER = {PlanState.done, PlanState.cancelled}
PATIENCE = 2400.0  # seconds beyond what the agents shall take
SEEN = 1.0  # seconds between two looks


@dataclass
class Seen:
    """What was looked at while it ran."""

    began: float = field(default_factory=time.monotonic)
    agents: list[tuple[float, int]] = field(default_factory=list)  # when, how many at work
    memory: dict[str, int] = field(default_factory=dict)  # the most of each process
    drafted: float = 0.0  # seconds until the last draft had ended
    asked: int = 0  # questions that a person answered

    @property
    def peak(self) -> int:
        return max((many for _, many in self.agents), default=0)

    def held(self, least: int) -> float:
        """Seconds with so many agents at work, or more."""
        pairs = zip(self.agents, self.agents[1:], strict=False)
        return sum(after - at for (at, many), (after, _) in pairs if many >= least)


class Run:
    def __init__(self, wanted: Wanted, play: Installation, say: Callable[[str], None]) -> None:
        self.wanted, self.play, self.say, self.seen = wanted, play, say, Seen()
        self.wrong: list[str] = []

    def drive(self) -> None:
        try:
            self._drive()
        except Exception as error:  # noqa: BLE001 # the verdict says it
            self.wrong.append(f"the run broke: {type(error).__name__}: {str(error)[:500]}")
        finally:
            self.play.supervisor.stop()

    def _drive(self) -> None:
        address = f"http://127.0.0.1:{self.play.seed.port}"
        WorkspaceClient(address, self.play.seed.token, patience=180).wait_for_bot()
        workspace = WorkspaceClient(address, self.play.seed.token, patience=3)
        for number in range(self.wanted.epics):
            workspace.person("U0ANN").says(f"/plan epic in proof: write all parts, by plan part{number}")
        bob, kills = workspace.person("U0BOB"), self._kills()
        until = time.monotonic() + self.wanted.minutes * 60 + PATIENCE
        while not self._over():
            with suppress(Unavailable, Conflict, OSError):
                self._look()
                for plan in self.play.store.recent(self.wanted.epics):
                    self._decide(bob, plan)
            self._kill(kills)
            if time.monotonic() > until:
                raise TimeoutError("it did not come to its end")
            time.sleep(SEEN)

    def _kills(self) -> dict[float, str]:
        second = "workers-2" if self.wanted.postgres else "workers"
        return {0.3: "workers", 0.5: "bot", 0.7: second} if self.wanted.kills else {}

    def _kill(self, kills: dict[float, str]) -> None:
        """Counted from when the agents began, in parts of the time that they shall take."""
        began = next((at for at, many in self.seen.agents if many), None)
        now = time.monotonic()
        for part in [part for part in kills if began and now - began > part * self.wanted.minutes * 60]:
            self.say(f"  SIGKILL of the {kills[part]}, with {self.seen.agents[-1][1]} agents at work")
            self.play.supervisor.kill(kills.pop(part))

    def _decide(self, bob: Any, plan: PlanView) -> None:
        """As a person would: approve what is shown whole, say no to what the gate holds."""
        with suppress(AssertionError):  # the card is not drawn yet
            if plan.state == PlanState.proposed and plan.card and not any(s.previewing for s in plan.steps):
                bob.clicks("approve", message=plan.card)
            if plan.state == PlanState.stalled and (asked := [*_asking(plan)]):
                self.seen.asked += 1
                bob.clicks(f"answer_{'decline' if 'decline' in asked[0].choices else 'abort'}")

    def _over(self) -> bool:
        with suppress(Unavailable):
            plans = self.play.store.recent(self.wanted.epics)
            return len(plans) == self.wanted.epics and all(plan.state in OVER for plan in plans)
        return False

    def _look(self) -> None:
        drafting = (col(Step.worker) == "code-agent", col(Step.state) == StepState.running)
        with self.play.store.read() as t:
            many = int(t.connection.execute(select(func.count()).where(*drafting)).scalar_one())
        now = time.monotonic()
        self.seen.agents.append((now, many))
        if many:
            self.seen.drafted = now - next(at for at, found in self.seen.agents if found)
        for name, size in memory(dict(self._pids())).items():
            self.seen.memory[name] = max(size, self.seen.memory.get(name, 0))

    def _pids(self) -> Iterator[tuple[str, int]]:
        for child in self.play.supervisor.children:
            if child.process:
                yield child.name, child.process.pid


def _asking(plan: PlanView) -> Iterator[Any]:
    """Questions of the gate first; what else nobody could mend ends the plan."""
    held = [step for step in plan.steps if "confirm" in step.choices]
    yield from held or [step for step in plan.steps if step.choices and step.spec.action != "change"]


def log_of(home: Path) -> list[str]:
    file = home / "dealt.jsonl"
    return file.read_text().splitlines() if file.exists() else []
