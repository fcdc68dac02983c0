"""Processes are replaced one by one by those of a newer release, while plans are under way.

The older release is the code before the newest migration, taken from the history: it made the tables, and
the newer one changes them under its hands.
"""

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from storage.journal.chain import broken_link
from tests.soak.fleet import Member, fleet
from tests.support.places import ROOT
from tests.support.postgres import fresh_database
from tests.support.store import Store
from tests.support.world import environment

pytestmark = [pytest.mark.crash, pytest.mark.postgres]
MIGRATIONS = "storage/database/migrations/versions"
ASK = """
import sys
from storage.clock import wall
from storage.database.engine import open_engine
from tests.support.fakes import lasting, plan_spec, step
from tests.support.store import Store

store = Store(open_engine(sys.argv[1]), wall)
made = {one.action: one for one in store.contracts()}
for number in (1, 2):
    plan_id = store.request("notes", team="T1", user="ANN", channel="C1")
    steps = [
        step("safe", made["note_safely"], parameters={"name": f"safe-{number}"}),
        step("once", made["note_once"], parameters={"name": f"once-{number}"}, depends_on=("safe",)),
        step("probed", made["note_probed"], parameters={"name": f"probed-{number}"}, depends_on=("once",)),
    ]
    store.propose(plan_id, plan_spec(*steps), lasting(needed=0), author="planner")
"""
PERMIT = """
import sys
from storage.clock import wall
from storage.database.engine import open_engine
from tests.support.store import Store

store = Store(open_engine(sys.argv[1]), wall)
for step in store.unpermitted():
    store.permit(step.id, actor="bot")
"""


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree before the newest migration."""
    git = shutil.which("git")
    if not git or not (ROOT / ".git").exists():
        pytest.skip("NOT TESTED: an older release beside this one needs the git history")

    def run(*arguments: str) -> bytes:
        return subprocess.run([git, *arguments], cwd=ROOT, capture_output=True, check=True).stdout

    newest = run("log", "-1", "--diff-filter=A", "--format=%H", "--", MIGRATIONS).decode().strip()
    if not newest:
        pytest.skip("NOT TESTED: this history is too short to hold an older release")
    tree = tmp_path_factory.mktemp("older")
    with tarfile.open(fileobj=io.BytesIO(run("archive", f"{newest}~1"))) as packed:
        packed.extractall(tree, filter="data")
    return tree


def until(look: Callable[[], object], what: str, patience: float = 120.0) -> None:
    end = time.monotonic() + patience
    while not look():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.05)


@dataclass
class Older:
    """A workers process of the older release inside two unsafe steps: before the effect, and after it."""

    url: str
    home: Path
    env: dict[str, str]
    process: Member

    def says(self, script: str) -> str:
        """By the older release; its last words if it fails."""
        asked = [sys.executable, "-P", "-c", script, self.url]
        done = subprocess.run(asked, env=self.env, capture_output=True, text=True, check=False)
        return done.stderr.strip().rpartition("\n")[2]

    def lines(self) -> list[str]:
        found = self.home / "lines"
        return found.read_text().splitlines() if found.exists() else []

    def effects(self) -> list[str]:
        return sorted(line.removeprefix("effect ") for line in self.lines() if line.startswith("effect"))

    def gates(self) -> list[Path]:
        return [self.home / "hold-before-once-1", self.home / "hold-after-once-2"]

    def inside(self) -> bool:
        self.says(PERMIT)
        return {"begin once-1", "effect once-2"} <= {*self.lines()}


@pytest.fixture
def running(older: Path, postgres: str, tmp_path: Path) -> Iterator[Older]:
    url = fresh_database(postgres)
    env = environment(
        tmp_path, SIGNOFF_DATABASE_URL=url, PYTHONPATH=f"{older}:{older / 'tests/support/witness'}",
        WITNESS_PLACE=str(tmp_path), SIGNOFF_PARENT=str(os.getpid()),
    )  # fmt: skip
    made = Older(url, tmp_path, env, Member("older", ("workers",), env, tmp_path / "older.log"))
    for gate in made.gates():
        gate.touch()
    (tmp_path / "signoff.toml").write_text('workers = ["witness"]\n')
    made.process.watch()
    try:
        until(lambda: made.says(ASK) == "", "the older workers to offer what they can")
        until(made.inside, "the older process to be inside")
        yield made
    finally:
        made.process.end()


@contextmanager
def newer(running: Older) -> Iterator[Store]:
    """A process of this release beside it, which has changed the tables."""
    with fleet(running.home, running.url) as (made, store):
        made.add("workers-2", "workers")
        made.watch()
        until(lambda: len(store.processes("workers")) == 2, "the newer process beside the older")
        yield store


def test_a_step_that_an_older_process_runs_ends_there_and_the_newer_one_goes_on(running: Older) -> None:
    with newer(running) as store:
        for gate in running.gates():
            gate.unlink()
        until(lambda: states(store) == ["succeeded", "succeeded"], "the older process to report")
        running.process.send(signal.SIGTERM)
        assert running.process.process
        assert running.process.process.wait(60) == 0
        until(lambda: finished(store), "the newer one to finish")
        verbs, owners = told(store)

    assert running.effects() == sorted(f"{key}-{n}" for key in ("safe", "once", "probed") for n in (1, 2))
    assert not {"lose", "late", "resolve", "fail"} & verbs
    assert owners == [2, 2]
    assert "Traceback" not in (running.home / "older.log").read_text()


def test_when_the_older_process_is_killed_the_newer_one_asks_about_what_it_left(running: Older) -> None:
    with newer(running) as store:
        running.process.send(signal.SIGKILL)
        until(lambda: states(store) == ["unknown", "unknown"], "the newer process to find them")
        for gate in running.gates():
            gate.unlink()
        store.resolve(1, "once", "did_not", user="BOB")
        store.resolve(2, "once", "ran", user="BOB")
        until(lambda: finished(store), "the newer one to finish")
        verbs, _ = told(store)

    assert running.effects() == sorted(f"{key}-{n}" for key in ("safe", "once", "probed") for n in (1, 2))
    assert {"lose", "resolve"} <= verbs


def states(store: Store) -> list[str]:
    return [str(store.view(plan_id).step("once").state) for plan_id in (1, 2)]


def finished(store: Store) -> bool:
    for step in store.unpermitted():
        store.permit(step.id, actor="bot")
    return all(store.view(plan_id).outcome == "succeeded" for plan_id in (1, 2))


def told(store: Store) -> tuple[set[str], list[int]]:
    """What the journals tell, which must hold together; how many processes took steps of each plan."""
    events = [store.events(plan_id) for plan_id in (1, 2)]
    assert [broken_link(found) for found in events] == [None, None]
    owners = [{event.actor for event in found if event.verb == "claim"} for found in events]
    return {event.verb for found in events for event in found}, [*map(len, owners)]
