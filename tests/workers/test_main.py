"""python -m workers: what its commands print."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from storage.clock import wall
from storage.database.engine import migrate, open_engine
from tests.support.fakes import CONTRACTS, lasting, plan_spec, step
from tests.support.store import Store
from tests.support.world import environment


def jobs(home: Path) -> subprocess.CompletedProcess[str]:
    env = environment(home, SIGNOFF_DATABASE_URL=f"sqlite:///{home / 'signoff.db'}")
    command = [sys.executable, "-m", "workers", "jobs"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_jobs_lists_what_waits_for_its_time_soonest_first(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'signoff.db'}")
    migrate(engine)
    store, at = Store(engine, wall), wall().replace(microsecond=0) + timedelta(hours=2)
    late = {"schedule": {"not_before": at + timedelta(hours=1)}}
    store.publish(CONTRACTS.values())
    plan_id = store.request("x", team="T1", user="ANN", channel="C1")
    steps = step("check", **late), step("deploy", schedule={"not_before": at}), step("now")
    store.propose(plan_id, plan_spec(*steps), lasting(needed=0), author="planner")
    engine.dispose()

    said = jobs(tmp_path)

    lines = [line.split("  ")[:2] for line in said.stdout.splitlines()]
    assert lines == [
        [f"{at:%Y-%m-%d %H:%M:%S} UTC", "plan-1:deploy"],
        [f"{at + timedelta(hours=1):%Y-%m-%d %H:%M:%S} UTC", "plan-1:check"],
    ]
    assert said.stderr == ""


def test_jobs_only_looks_and_makes_nothing(tmp_path: Path) -> None:
    said = jobs(tmp_path)

    assert (said.returncode, said.stdout) == (1, "")
    assert "There is no database at" in said.stderr
    assert [*tmp_path.iterdir()] == []
