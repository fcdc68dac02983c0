"""One suite for both drivers: whatever goes wrong in a conversation, the same comes of it."""

import importlib.util
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.fleet.ground import Ground, boxed, serving
from workers.base import Report
from workers.builtin.code.change.code_agent import ChangeData
from workers.commands.leftovers import engine, working
from workers.practice.model import Model
from workers.practice.sample_repository import title_of

pytestmark = [boxed, pytest.mark.fleet, pytest.mark.model]
FIRST = title_of(0)
SDK = "claude-agent-sdk"
installed = pytest.mark.skipif(
    importlib.util.find_spec("claude_agent_sdk") is None, reason="pip install 'signoff[agents]' is missing"
)
DRIVERS = ["loop", pytest.param(SDK, marks=installed)]
# What is dealt first → how the attempt ends, the incident that is counted, how many fix rounds.
CLASSES = {
    "": ("succeeded", "", 0),
    "wrong": ("succeeded", "red", 1),
    "lazy": ("succeeded", "red", 1),
    "cheat": ("succeeded", "red", 1),
    "malformed": ("succeeded", "", 0),
    "unknown_tool": ("succeeded", "", 0),
    "truncated": ("succeeded", "", 0),
    "endless": ("succeeded", "", 0),
    "hostile": ("succeeded", "", 0),
    "loop": ("transient", "repetition", 0),
    "refusal": ("transient", "refusal", 0),
    "busy!": ("transient", "api", 0),
    "hung!": ("transient", "api", 0),
}


@pytest.fixture(params=DRIVERS)
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    return Ground(tmp_path, driver=request.param, call_seconds=2)


def changed(ground: Ground, fault: str, monkeypatch: pytest.MonkeyPatch) -> Report[ChangeData]:
    with serving(Model(script={FIRST: fault}, witness=str(ground.home / "witness")), monkeypatch):
        return ground.change()


@pytest.mark.parametrize("fault", CLASSES)
def test_a_fault_ends_alike_with_either_driver(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    report = changed(ground, fault, monkeypatch)
    data = report.data or ChangeData(title="")
    how = report.status if report.error is None else report.error.kind
    assert (how, data.incident, data.rounds) == CLASSES[fault], report.summary
    assert bool(data.flags) is (fault == "hostile")
    assert not (ground.home / "witness").exists()
    if data.commit:
        judge = ground.git().text(data.commit, "tests/test_part_000.py")
        assert judge.startswith("import unittest")
    assert [*(ground.home / "pool" / "work").iterdir()] == []
    assert mine() == []


def mine() -> list[int]:
    """Processes that work for the step, and that this engine started: other tests use the same key."""
    here = engine().encode()
    return [pid for pid in working("plan-1-change-0-abc") if here in b" ".join(_of(str(pid), every=True))]


@installed
def test_ten_agents_work_at_once_in_ten_boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ground = Ground(tmp_path, parts=10, driver=SDK)
    work = ground.work()
    with serving(Model(think=1.0), monkeypatch) as model, ThreadPoolExecutor(10) as pool:
        reports = [*pool.map(lambda item: ground.change(item, work=work), range(10))]
    assert [report.status for report in reports] == ["succeeded"] * 10
    assert len({report.data.commit for report in reports if report.data}) == 10
    assert model.peak >= 5
    assert [*(ground.home / "pool" / "work").iterdir()] == []


@installed
def test_the_key_is_nowhere_in_the_box_of_the_sdks_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    def look(_: str) -> None:
        """While it works: every process of the box, and every file that it sees of ours."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            seen.extend(_of(name))

    ground = Ground(tmp_path, driver=SDK)
    with serving(Model(), monkeypatch):
        report = ground.change(progress=look)
    assert report.status == "succeeded"
    assert any(b"bridge.py" in text for text in seen)
    assert not any(b"a-key-that-must-stay-here" in text for text in seen)


def _of(pid: str, *, every: bool = False) -> list[bytes]:
    """The words and the environment of a process that works for the step, or that one of those started."""
    try:
        words, given = (Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
    except OSError:
        return []
    return [words, given] if every or b"bwrap" in words or b"claude" in words or b"bridge.py" in words else []
