"""python -m tests.bench.processes: four workers processes on PostgreSQL: name value limit ok|short.

No-op steps a second of four processes ÷ of one (local carrier), and of one ÷ of one of Procrastinate's, turn
about on empty databases: 200 plans of 10 steps. Beside them the processor time of a step, which other work on
this machine changes little: `by_cpu` is all cores, busy with what a step costs over four processes, ÷ one
core, busy with what it costs in one. Where that is below the limit, the cores are the bound, not the rows.

Then so many steps that fall due in one second, again and again, each a second long, over four processes: how
late their actions began, and how many did not run, or twice.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median

import psycopg

from storage.clock import wall
from tests.bench.engine import Engine, say
from tests.bench.peers.systems import PEERS
from tests.bench.peers.turns import hand
from tests.support.places import ROOT
from tests.support.postgres import fresh_database, postgres_server

MANY = 4
PATIENCE = 120.0  # seconds after which a step that has not run is lost
TICKS = os.sysconf("SC_CLK_TCK")
PROCRASTINATE = next(one for one in PEERS if one.hand == "procrastinate")


def work(url: str, home: Path, slots: int) -> None:
    """A workers process, until it is killed."""
    clock = Engine(url, home, slots=slots, alone=False).clock
    tell("ready")
    clock.run()


@contextmanager
def workers(url: str, home: Path, many: int, slots: int = 16) -> Iterator[list[int]]:
    """So many processes, all of them there; their ids."""
    command = [sys.executable, "-m", "tests.bench.processes", "--work", url, "--slots", str(slots)]
    how = {"cwd": ROOT, "env": os.environ | {"TMPDIR": str(home)}, "stdout": subprocess.PIPE}
    with (home / "workers.log").open("ab") as log:
        made = [subprocess.Popen(command, stderr=log, **how) for _ in range(many)]
        try:
            for one in made:
                assert one.stdout
                assert one.stdout.readline(), (home / "workers.log").read_text()
            yield [one.pid for one in made]
        finally:
            for one in made:
                one.kill()
                one.communicate()


@dataclass(frozen=True)
class Spent:
    """Processor seconds so far: of workers, of the server, of everybody."""

    workers: float
    server: float
    everybody: float

    def since(self, before: "Spent", steps: int) -> "Spent":
        """Per step."""
        pairs = zip(vars(self).values(), vars(before).values(), strict=True)
        return Spent(*((now - then) / steps for now, then in pairs))

    def __str__(self) -> str:
        others = self.everybody - self.workers - self.server
        parts = {"workers": self.workers, "server": self.server, "others": others}
        return ", ".join(f"{name} {1000 * seconds:.2f} ms" for name, seconds in parts.items())


def by_cpu(one: Spent, four: Spent, cores: int) -> float:
    """The rate of four ÷ of one that their processor time would give on idle cores."""
    return cores / (four.workers + four.server) * one.workers


def spent(pids: list[int], postmaster: int) -> Spent:
    """By what the kernel counted; a child that has ended counts for its parent."""
    found = dict(_process(path) for path in Path("/proc").glob("[0-9]*/stat"))
    of_server = sum(own for pid, (parent, own, _) in found.items() if postmaster in (pid, parent))
    cpu = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    everybody = sum(map(int, cpu[:3] + cpu[5:8])) / TICKS  # neither idle nor waiting for a disk
    return Spent(sum(found[pid][1] for pid in pids), of_server + found[postmaster][2], everybody)


def _process(stat: Path) -> tuple[int, tuple[int, float, float]]:
    """Its id, its parent, and the seconds of itself and of its children that have ended."""
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0, (0, 0.0, 0.0)
    own, gone = (sum(map(int, fields[first : first + 2])) / TICKS for first in (11, 13))
    return int(stat.parent.name), (int(fields[1]), own, gone)


def postmaster(url: str) -> int:
    with psycopg.connect(url) as connection:
        (data,) = connection.execute("SHOW data_directory").fetchone() or ("",)
    return int((Path(data) / "postmaster.pid").read_text().splitlines()[0])


def rate(url: str, home: Path, many: int, plans: int) -> tuple[float, Spent]:
    """Steps a second of so many processes, and what a step took."""
    engine, server = Engine(url, home), postmaster(url)
    with workers(url, home, many) as pids:
        engine.rush(16 * many, 5)  # until all of them are warm
        made = engine.ready(plans, 10)
        before, began = spent(pids, server), engine.go()
        engine.until_done(*made)
        took = spent(pids, server).since(before, plans * 10)
        return plans * 10 / (engine.done(*made) - began), took


def procrastinates(url: str, home: Path, plans: int) -> float:
    """Steps a second of one worker of Procrastinate's, 16 jobs at once."""
    with hand(Path(sys.executable), PROCRASTINATE, url, home) as told:
        told.hear()
        return plans * 10 / told.run(f"plans {plans} 10")


def rates(server: str, home: Path, rounds: int, plans: int) -> None:
    more, ahead, likely = list[float](), list[float](), list[float]()
    for number in range(rounds):
        one, by_one = rate(fresh_database(server), home, 1, plans)
        four, by_four = rate(fresh_database(server), home, MANY, plans)
        theirs = procrastinates(fresh_database(server), home, plans)
        more.append(four / one)
        ahead.append(one / theirs)
        likely.append(by_cpu(by_one, by_four, os.cpu_count() or 1))
        tell(f"round {number + 1}: one {one:.0f}/s ({by_one}); {MANY} {four:.0f}/s ({by_four}); "
             f"Procrastinate {theirs:.0f}/s")  # fmt: skip
    say(f"workers_{MANY}_per_one", median(more), 1.4, least=True)
    tell(f"workers_{MANY}_per_one_by_cpu {median(likely):.2f}")
    say("one_per_procrastinate", median(ahead), 1.0, least=True)


def storm(url: str, home: Path, count: int, seconds: float, every: float) -> tuple[list[float], int]:
    """How late each action began, and how many steps did not run once."""
    engine = Engine(url, home)
    first, plans = wall() + timedelta(seconds=10), list[int]()
    with workers(url, home, MANY, slots=count // MANY):
        for number in range(max(1, int(seconds / every))):
            due = first + timedelta(seconds=number * every)
            window = {"schedule": {"not_before": due, "not_after": due + timedelta(hours=2)}}
            spec = engine.steps(100, "sleep", chained=False, **window)
            plans += [engine.plan(spec) for _ in range(count // 100)]
            time.sleep(max(0.0, (due - wall()).total_seconds() + every / 2))
        engine.until_done(*plans, patience=PATIENCE)
    steps = [step for plan_id in plans for step in engine.store.view(plan_id).steps]
    once = [step for step in steps if step.report and step.report.status == "succeeded" and step.attempt == 1]
    late = [one.report.data["at"] - one.not_before.timestamp() for one in once]  # type: ignore[union-attr] # they ran
    return late, len(steps) - len(once)


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.processes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plans", type=int, default=200, help="of ten steps each")
    parser.add_argument("--steps", type=int, default=1000, help="that fall due in one second")
    parser.add_argument("--minutes", type=float, default=1.0, help="for how long they do so")
    parser.add_argument("--every", type=float, default=10.0, help="seconds from one such second to the next")
    parser.add_argument("--work", default="", help=argparse.SUPPRESS)
    parser.add_argument("--slots", type=int, default=16, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if given.work:
        work(given.work, Path(tempfile.mkdtemp()), given.slots)
        return
    with (
        tempfile.TemporaryDirectory(prefix="signoff-bench-", ignore_cleanup_errors=True) as place,
        postgres_server(durable=True) as server,
    ):
        home = Path(place)
        rates(server, home, given.rounds, given.plans)
        late, lost = storm(fresh_database(server), home, given.steps, given.minutes * 60, given.every)
    name = f"storm_{given.steps}_over_{MANY}"
    say(f"{name}_late_p99_s", sorted(late)[len(late) * 99 // 100] if late else float("inf"), 1.0)
    say(f"{name}_lost", lost, 0)


if __name__ == "__main__":
    main()
