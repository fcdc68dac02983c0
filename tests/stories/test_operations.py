"""Operating it: SIGTERM to a workers process, figures from real processes, the kill switch on a terminal."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.demo.seed import plant
from storage.clock import wall
from storage.contract.capability import Contract
from storage.database.engine import migrate, open_engine
from tests.support.carriers import until
from tests.support.doors.monitor import get
from tests.support.fakes import approve, messages, plan_spec, step, terms
from tests.support.ports import ports
from tests.support.store import Store
from tests.support.world import WITNESS, witnessed

pytestmark = pytest.mark.crash


class Place:
    """A workers process with the witness, alone with its database; the test approves."""

    def __init__(self, home: Path, **more: str) -> None:
        plant(home, ports(4))
        path = home / "signoff.toml"
        path.write_text(witnessed(path.read_text()))
        ours = {"SIGNOFF_STATE": str(home), "SIGNOFF_CONFIG": str(path), "PYTHONPATH": str(WITNESS),
                "WITNESS_PLACE": str(home)}  # fmt: skip
        self.home, self.env = home, {**os.environ, **ours, **more}
        self.store = Store(open_engine(f"sqlite:///{home / 'signoff.db'}"), wall)
        migrate(self.store.engine)

    def start(self) -> subprocess.Popen[bytes]:
        with (self.home / "workers.log").open("ab") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "workers"], env=self.env, stderr=log)
        until(lambda: self.contracts(), "the witness to say what it can do")
        return self.process

    def contracts(self) -> dict[str, Contract]:
        return {made.action: made for made in self.store.contracts() if made.worker == "witness"}

    def inside(self, action: str, name: str) -> int:
        """Approve one step, and wait until it is held after its effect."""
        (self.home / f"hold-after-{name}").touch()
        made = step("s1", self.contracts()[action], parameters={"name": name})
        plan_id = self.store.request("x", team="T1", user="ANN", channel="C1")
        late = terms(expires_at=wall() + timedelta(hours=1))
        self.store.propose(plan_id, plan_spec(made), late, author="planner")
        approve(self.store, plan_id)
        until(lambda: self.effects()[f"effect {name}"], f"{name} to run")
        return plan_id

    def let_go(self, name: str) -> None:
        (self.home / f"hold-after-{name}").unlink()

    def effects(self) -> Counter[str]:
        path = self.home / "lines"
        return Counter(path.read_text().splitlines() if path.exists() else [])

    def state(self, plan_id: int) -> str:
        return str(self.store.view(plan_id).step("s1").state)


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    found = Place(tmp_path, **request.param)
    yield found
    found.process.kill()
    found.process.wait()
    found.store.engine.dispose()


PORT = ports(2)


@pytest.mark.parametrize("place", [{"SIGNOFF_HEALTH_PORT": str(PORT)}], indirect=True)
def test_a_process_told_to_stop_lets_its_step_end_and_report(place: Place) -> None:
    process = place.start()
    plan_id = place.inside("note_safely", "safe")
    pages = {page: get(f"http://127.0.0.1:{PORT}/{page}") for page in ("healthz", "readyz", "metrics")}
    process.send_signal(signal.SIGTERM)
    place.let_go("safe")
    code = process.wait(60)

    assert [status for status, _ in pages.values()] == [200, 200, 200]
    assert 'signoff_steps{state="running"} 1' in pages["metrics"][1]
    assert (code, place.state(plan_id), place.effects()["effect safe"]) == (0, "succeeded", 1)


@pytest.mark.parametrize("place", [{"SIGNOFF_DRAIN": "0.2"}], indirect=True)
def test_what_takes_longer_is_handed_over_to_run_again_or_to_ask(place: Place) -> None:
    process = place.start()
    safe, once = place.inside("note_safely", "safe"), place.inside("note_once", "once")
    process.send_signal(signal.SIGTERM)
    code = process.wait(60)
    between = (place.state(safe), place.state(once))
    place.let_go("safe")
    place.let_go("once")
    process = place.start()
    until(lambda: place.state(safe) == "succeeded", "the safe step to run again")
    until(lambda: place.state(once) == "unknown", "the unsafe step to be asked about")
    process.terminate()
    process.wait(60)

    seen = place.effects()
    assert (code, between) == (0, ("running", "running"))
    assert (seen["effect safe"], seen["end safe"], seen["effect once"], seen["end once"]) == (2, 1, 1, 0)
    assert [message.plan_id for message in messages(place.store, "question")] == [once]


@pytest.mark.parametrize("place", [{"SIGNOFF_DRAIN": "0.2"}], indirect=True)
def test_a_process_that_shall_read_its_configuration_anew_waits_for_what_runs(place: Place) -> None:
    process = place.start()
    once = place.inside("note_once", "once")
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2)
    place.let_go("once")
    code = process.wait(60)

    assert (code, place.state(once), place.effects()["effect once"]) == (0, "succeeded", 1)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("SIGNOFF_STATE", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "alice")

    def type_in(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["signoff", *words])
        code = main()
        said = capsys.readouterr()
        return code, said.out + said.err

    return type_in


def test_the_terminal_can_stop_a_scope_with_a_reason_and_resume_it(terminal):
    stopped = terminal("stop", "environment", "production", "smoke", "in", "the", "room")
    again = terminal("stop", "environment production", "once more")
    other = terminal("resume")
    resumed = terminal("resume", "environment", "production")

    assert stopped[0] == 0
    assert "Stopped: environment production" in stopped[1]
    assert again == (1, "“environment production” is stopped already.\n")
    assert other == (1, "“everything” is not stopped. Stopped now: “environment production”.\n")
    assert resumed == (0, "Resumed: environment production.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("stop",), "Please say why"),
        (("stop", "plan", "7"), "Please say why"),
        (("resume", "it"), "is no scope"),
    ],
)
def test_a_stop_needs_a_reason_and_a_resume_a_scope(terminal, words, said):
    code, text = terminal(*words)

    assert code == 1
    assert said in text


HAMMERED = """
import signal, time
from storage.signal_flag import Flag
flag = Flag()
signal.signal(signal.SIGALRM, lambda *_: flag.set())
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
until, times = time.monotonic() + 0.5, 0
while time.monotonic() < until:
    times += flag.wait(0.001)
    flag.clear()
signal.setitimer(signal.ITIMER_REAL, 0)
print(times > 100)
"""


def test_a_signal_can_set_a_flag_whatever_it_interrupts():
    """With `threading.Event` it waits for itself, as workers once did that were told to stop."""
    words = [sys.executable, "-c", HAMMERED]
    said = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)

    assert said.stdout.strip() == "True", said.stderr
