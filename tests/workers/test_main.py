"""python -m workers: what its commands print."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import create_engine

from storage.clock import wall
from storage.database.engine import migrate, open_engine
from storage.errors import BadConfig
from tests.support.fakes import CONTRACTS, lasting, plan_spec, step
from tests.support.places import ROOT
from tests.support.samples.without import forget, without
from tests.support.store import Store
from tests.support.world import environment
from workers.__main__ import choose_carrier
from workers.engine.turn import Crew
from workers.registry import BUILTIN


def jobs(home: Path) -> subprocess.CompletedProcess[str]:
    env = environment(home, SIGNOFF_DATABASE_URL=f"sqlite:///{home / 'signoff.db'}")
    command = [sys.executable, "-m", "workers", "jobs"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


# Whoever needs one of these imports it when it is used.
HEAVY = {
    "aiohttp", "alembic", "anthropic", "cryptography", "duckdb", "isal", "jsonschema", "kubernetes", "mcp",
    "PIL", "procrastinate", "psycopg", "pytest",
}  # fmt: skip
WORKERS = """
workers = ["data-processing", "k8s-deployer", "mcp-git", "code-agent", "wait"]
[inventory.clusters.main]
kind = "kubernetes"
[inventory.repositories.shop]
driver = "claude-agent-sdk"
[inventory.mcp.git]
command = ["git"]
"""
LACKING = {
    "worker data-processing": "DuckDB is not installed. Install signoff[data].",
    "worker k8s-deployer": "The client for Kubernetes is not installed. Install signoff[kubernetes].",
    "worker mcp-git": "The package mcp is not installed. Install signoff[mcp].",
    "worker code-agent": "The agents' SDK is not installed. Install signoff[agents].",
}


def light(home: Path, *words: str, config: str = WORKERS) -> subprocess.CompletedProcess[str]:
    """A command of an installation without extras."""
    (home / "signoff.toml").write_text(config)
    extras = without(home / "site", "duckdb", "kubernetes", "mcp", "claude_agent_sdk", "procrastinate")
    env = environment(home, SIGNOFF_DATABASE_URL=f"sqlite:///{home / 'signoff.db'}", **extras)
    command = [sys.executable, "-m", "workers", *words]
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)


def test_it_does_not_start_without_the_extras_of_its_workers_and_names_each(tmp_path: Path) -> None:
    said = light(tmp_path)

    assert said.returncode == 1
    assert said.stderr.splitlines() == [f"The {name} cannot run. {why}" for name, why in LACKING.items()]


def test_doctor_names_each_extra_that_is_missing(tmp_path: Path) -> None:
    said = light(tmp_path, "doctor")

    assert said.returncode == 0, said.stderr
    assert LACKING.items() <= json.loads(said.stdout).items()


def test_a_system_without_time_zones_is_told_of_the_extra_that_has_them(tmp_path: Path) -> None:
    env = environment(tmp_path, PYTHONTZPATH="", **without(tmp_path / "site", "tzdata"))
    command = [sys.executable, "-m", "workers"]
    said = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)

    told = "This system has no time zones. The package tzdata is not installed. Install signoff[zones]."
    assert (said.returncode, said.stderr.splitlines()) == (1, [told])


def test_a_carrier_that_is_not_installed_is_named_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch, "procrastinate")
    there: Any = SimpleNamespace(store=SimpleNamespace(engine=create_engine("postgresql+psycopg://")))

    with pytest.raises(BadConfig, match=r"^Procrastinate is not installed\. Install signoff\[cluster\]\.$"):
        choose_carrier("procrastinate", there, Crew(1))


def test_what_the_workers_can_do_is_said_without_the_extras_too(tmp_path: Path) -> None:
    said = light(tmp_path, "capabilities")

    assert "data-processing" in {one["worker"] for one in json.loads(said.stdout)}


def test_a_practice_cluster_and_our_own_loop_need_no_extra(tmp_path: Path) -> None:
    practice = WORKERS.replace('"data-processing", ', "").replace('"mcp-git", ', "")
    practice = practice.replace('"kubernetes"', '"practice"').replace('"claude-agent-sdk"', '"loop"')

    said = light(tmp_path, "doctor", config=practice)

    assert not any("Install signoff[" in why for why in json.loads(said.stdout).values())


def test_a_workers_process_imports_nothing_heavy_before_it_is_used() -> None:
    load = f"load(SignoffConfig(workers={[*BUILTIN]}))"
    named = "from workers.registry import load\nfrom storage.config import SignoffConfig"
    code = f"import sys, workers.__main__\n{named}\n{load}"
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert HEAVY & {*ran.stdout.split()} == set()


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
