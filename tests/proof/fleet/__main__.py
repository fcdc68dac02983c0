"""Many agents at once through the product's own processes: python -m tests.proof.fleet --agents N.

A local workspace, the real bot and workers under their supervisor, a real repository and a scripted model,
whose faults are drawn by a seed that the product never learns. The workers are killed twice and the bot once.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

from bot.demo.run import Demo
from bot.demo.seed import plant
from bot.local.client.person import WorkspaceClient
from storage.contract.states import PlanState, StepState
from storage.errors import NotFound
from storage.monitoring.fleet import fleet
from tests.support.places import ROOT
from tests.support.ports import ports
from workers.practice import sample_repository

CALLS = 5  # that an agent makes which has no trouble
REPOSITORY = """
[slots]
code-agent = {agents}

[inventory.repositories.proof]
source = "{home}/proof"
pool = "{home}/pool"
push = "{home}/proof"
suite = ["{python}", "-I", "-B", "tests/run.py"]
subtasks = "{home}/subtasks"
api = "http://127.0.0.1:{port}"
key_env = ""
seconds = 3600
call_seconds = {call}
max_usd = 1.0
"""


class Run:
    """One epic, watched."""

    def __init__(self, home: Path, given: argparse.Namespace) -> None:
        self.home, self.given, self.think = home, given, given.minutes * 60 / CALLS
        self.port, self.began, self.peak, self.memory = ports(), time.monotonic(), 0, 0
        self.wrong: list[str] = []
        self.drafted = 0.0
        sample_repository.plant(home / "proof", given.agents)
        (home / "subtasks").mkdir()
        (home / "subtasks" / "all.json").write_text(sample_repository.subtasks(given.agents))
        self.seed = plant(home, ports(4))
        with (home / "signoff.toml").open("a") as config:
            made = {"home": home, "python": sys.executable, "port": self.port, "agents": given.agents}
            config.write(REPOSITORY.format(call=30 + 8 * self.think, **made))
        self.play = Demo(home, self.seed)

    def model(self) -> subprocess.Popen[bytes]:
        words = ["--port", str(self.port), "--seed", str(self.given.seed), "--rate", str(self.given.rate)]
        words += ["--think", str(self.think), "--log", str(self.home / "dealt.jsonl")]
        words += ["--witness", str(self.home / "witness")]
        return subprocess.Popen([sys.executable, "-P", "-m", "workers.practice.model", *words], cwd=ROOT)

    def drive(self) -> None:
        try:
            self._drive()
        except Exception as error:  # noqa: BLE001 # the verdict says it
            self.wrong.append(f"the run broke: {type(error).__name__}: {error}")
        finally:
            self.play.supervisor.stop()

    def _drive(self) -> None:
        workspace = WorkspaceClient(f"http://127.0.0.1:{self.seed.port}", self.seed.token, patience=120)
        workspace.wait_for_bot()
        ann, bob = workspace.person("U0ANN"), workspace.person("U0BOB")
        ann.says("/plan epic in proof: write all parts, by plan all")
        self._until(lambda: self._plan() and self._plan().state == PlanState.proposed, "a plan")
        bob.clicks("approve")
        kills = {0.3: "workers", 0.5: "bot", 0.7: "workers"} if self.given.kills else {}
        start = time.monotonic()
        while not self._proposed():
            self._look()
            for at in [at for at in kills if time.monotonic() - start > at * self.given.minutes * 60]:
                say(f"  SIGKILL of the {kills[at]}")
                self.play.supervisor.kill(kills.pop(at))
            if self._plan().state in {PlanState.stalled, PlanState.done} and self._asks():
                break
        self.drafted = time.monotonic() - start
        bob.clicks("approve")
        self._until(self._ended, "the end")

    def _plan(self) -> Any:
        """The epic: the only plan there is. None before it is asked for."""
        try:
            return self.play.store.view(1)
        except NotFound:
            return None

    def _proposed(self) -> bool:
        plan = self._plan()
        ready = plan.state == PlanState.proposed and any(
            step.spec.action == "integrate" for step in plan.steps
        )
        return ready and not any(step.previewing for step in plan.steps)

    def _asks(self) -> bool:
        return any(step.choices for step in self._plan().steps)

    def _ended(self) -> bool:
        plan = self.play.store.view(1)
        return plan.state in {PlanState.done, PlanState.cancelled} or (
            plan.state == PlanState.stalled and self._asks()
        )

    def _until(self, look: Callable[[], Any], what: str) -> None:
        until = time.monotonic() + 900
        while not look():
            self._look()
            if time.monotonic() > until:
                raise TimeoutError(f"no {what} within 15 minutes")

    def _look(self) -> None:
        plan = self._plan()
        steps = plan.steps if plan else ()
        running = [s for s in steps if s.state == StepState.running and s.spec.worker == "code-agent"]
        self.peak, self.memory = max(self.peak, len(running)), max(self.memory, self._size())
        time.sleep(0.5)

    def _size(self) -> int:
        """MB that the workers process has for itself and shares by halves."""
        child = next((c.process for c in self.play.supervisor.children if c.name == "workers"), None)
        try:
            lines = Path(f"/proc/{child.pid if child else 0}/smaps_rollup").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) // 1024
        except (OSError, StopIteration):
            return 0

    def told(self) -> Iterator[str]:
        """What was measured, and what is wrong."""
        with self.play.store.read() as t:
            found = fleet(t.connection)
        keys = self._git(
            "log", "--format=%(trailers:key=Signoff-Key,valueonly)", "signoff/1/integrated"
        ).split()
        dealt = Counter(json.loads(line)["fault"] or "none" for line in self._dealt())
        mended, ended = found.recovered
        yield f"seed {self.given.seed}, {self.given.agents} subtasks, dealt: {dict(dealt)}"
        yield f"agents at once: {self.peak} at the peak; drafted in {self.drafted:.0f} s"
        yield f"the workers process took {self.memory} MB at most"
        yield f"green {found.green} of {found.subtasks}, landed {found.landed}, by trailer {len(keys)}"
        yield f"incidents by class: {found.incidents}"
        yield f"recovered {mended} of {ended} that ended"
        yield f"{found.usd:.2f} USD (scripted) in {found.attempts} attempts"
        yield f"{found.landed / max(self.drafted, 1) * 3600:.0f} landed an hour at this think time"
        self.wrong += [*self._faults(found.landed, keys, found)]

    def _faults(self, landed: int, keys: list[str], found: Any) -> Iterator[str]:
        if len(keys) != landed or len({*keys}) != len(keys):
            yield f"landed {landed}, and {len(keys)} keys, {len({*keys})} of them different"
        if (self.home / "witness").exists():
            yield "hostile code has written outside of its box"
        if left := [*(self.home / "pool" / "work").glob("*")]:
            yield f"{len(left)} folders of agents are left"
        if not self.given.rate and found.incidents and not self.given.kills:
            yield f"incidents without a fault: {found.incidents}"
        mended, ended = found.recovered
        if ended and mended / ended < 0.9:
            yield f"only {mended} of {ended} incidents were recovered"

    def _dealt(self) -> list[str]:
        file = self.home / "dealt.jsonl"
        return file.read_text().splitlines() if file.exists() else []

    def _git(self, *words: str) -> str:
        place = ["git", "--git-dir", str(self.home / "pool" / "clone.git")]
        return subprocess.run([*place, *words], capture_output=True, text=True, check=False).stdout


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.fleet", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--agents", type=int, default=95, help="at once, each with one subtask")
    parser.add_argument("--minutes", type=float, default=10, help="that an agent without trouble takes")
    parser.add_argument("--rate", type=float, default=0.4, help="of conversations that go wrong")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-kills", dest="kills", action="store_false")
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="fleet-"))
    run = Run(home, given)
    model = run.model()
    with run.play.slack:
        driver = Thread(target=run.drive)
        driver.start()
        run.play.supervisor.run()
        driver.join()
    model.terminate()
    model.wait()
    for line in run.told():
        say(line)
    say("WRONG: " + "; ".join(run.wrong) if run.wrong else "ok")
    if not run.wrong:
        shutil.rmtree(home, ignore_errors=True)
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
