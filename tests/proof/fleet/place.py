"""The place of the proof: a repository, plan files, the product's own processes, a scripted model."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bot.cli.supervise import Child
from bot.demo.run import Demo
from bot.demo.seed import Seed, plant
from tests.support.places import ROOT
from tests.support.ports import ports
from workers.practice import sample_repository

CALLS = 5  # that an agent makes which has no trouble
SPARE = 1.2  # places for each agent that shall always be at work: one that ends leaves its own for a moment
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
max_usd = 0.2
"""


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    agents: int = 100
    minutes: float = 10.0
    epics: int = 5
    rate: float = 0.4
    seed: int = 1
    kills: bool = True
    postgres: bool = False

    @property
    def parts(self) -> int:
        return self.agents * self.epics

    @property
    def places(self) -> int:
        return int(self.agents * SPARE)

    @property
    def think(self) -> float:
        """Seconds for one reply: so many waves of agents fill the time, though each kill costs some of it."""
        waves = self.parts / self.places
        return self.minutes * 60 / max(1.0, waves - 0.5) / CALLS


class Installation(Demo):
    """The demo's processes with nothing but what the fleet needs; on PostgreSQL, two for workers."""

    def __init__(self, home: Path, seed: Seed, url: str) -> None:
        self.url = url
        super().__init__(home, seed, url)

    def children(self) -> list[Child]:
        found = [one for one in super().children() if one.name in {"bot", "workers"}]
        if not self.url:
            return found
        for one in found:
            one.env = {**one.env, "SIGNOFF_CARRIER": "procrastinate"}
        (first,) = (one for one in found if one.name == "workers")
        return [*found, replace(first, name="workers-2", log=self.home / "workers-2.log")]


def installed(home: Path, wanted: Wanted, port: int, url: str) -> Installation:
    """A repository whose parts are not written yet, and a plan file for each epic."""
    sample_repository.plant(home / "proof", wanted.parts)
    (home / "subtasks").mkdir()
    cut = json.loads(sample_repository.subtasks(wanted.parts))["subtasks"]
    for number in range(wanted.epics):
        some = cut[number * wanted.agents : (number + 1) * wanted.agents]
        (home / "subtasks" / f"part{number}.json").write_text(json.dumps({"subtasks": some}))
    seed = plant(home, ports(4))
    _configure(home, wanted, port)
    return Installation(home, seed, url)


def _configure(home: Path, wanted: Wanted, port: int) -> None:
    file = home / "signoff.toml"
    slots = wanted.places // (2 if wanted.postgres else 1)  # of each process
    made = {"home": home, "python": sys.executable, "port": port, "agents": slots}
    file.write_text(file.read_text() + REPOSITORY.format(call=30 + 8 * wanted.think, **made))


def model(home: Path, wanted: Wanted, port: int, *more: str) -> subprocess.Popen[bytes]:
    """Whose faults are drawn by a seed that the product never learns, or said by a script."""
    words = ["--port", str(port), "--seed", str(wanted.seed), "--rate", str(wanted.rate)]
    words += ["--think", str(wanted.think), "--log", str(home / "dealt.jsonl")]
    words += ["--witness", str(home / "witness"), *more]
    return subprocess.Popen([sys.executable, "-P", "-m", "workers.practice.model", *words], cwd=ROOT)


def memory(children: Mapping[str, int]) -> dict[str, int]:
    """MB that each of these processes has for itself, with its part of what it shares."""
    return {name: _pss(pid) for name, pid in children.items()}


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) // 1024
    except (OSError, StopIteration):
        return 0


def working() -> list[str]:
    """Processes of agents or their tests that still live, whoever started them."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and b"SIGNOFF_STEP_KEY=plan-" in _environ(name):
            found.append(Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:100])
    return found


def _environ(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
