"""The bounds of the SDK's driver, without its client: whose silence it is."""

from pathlib import Path

import pytest

from tests.support.fleet.ground import Ground
from workers.builtin.code.change.port import Stalled, Task
from workers.builtin.code.change.sdk import Sdk
from workers.builtin.code.ground.acceptance import Verdict
from workers.builtin.code.ground.subtasks import Work

pytestmark = pytest.mark.fleet


class Quiet:
    """An agent that says nothing, and a clock that goes on."""

    def __init__(self, home: Path) -> None:
        ground = Ground(home, silent_seconds=30, key_env="", seconds=3600)
        item = Work.model_validate_json(Path(ground.work()).read_text()).items[0]
        self.now = 0.0
        place = home / "agent"
        place.mkdir()
        self.agent = Sdk(Task(
            item, ground.entry, ground.entry.models[0], place, "", lambda: Verdict(True), lambda said: None,
            lambda: False, lambda: self.now,
        ))  # fmt: skip


@pytest.fixture
def quiet(tmp_path: Path) -> Quiet:
    return Quiet(tmp_path)


def test_a_client_that_is_silent_by_itself_stalls_as_its_own_fault(quiet: Quiet) -> None:
    quiet.now = 29.0
    assert quiet.agent._bound() is None
    quiet.now = 31.0
    assert quiet.agent._bound() == "stalled"
    quiet.agent.proxy.close()


def test_a_client_that_waits_for_its_model_is_not_to_blame(quiet: Quiet) -> None:
    with quiet.agent.proxy.asking():
        quiet.now = 31.0
        with pytest.raises(Stalled):
            quiet.agent._bound()
    assert quiet.agent._bound() is None  # it has been heard
    quiet.agent.proxy.close()


def test_tests_that_run_are_no_silence(quiet: Quiet) -> None:
    quiet.agent.testing, quiet.now = True, 1000.0
    assert quiet.agent._bound() is None
    quiet.agent.proxy.close()
