"""Short forms of what runs long: they find nothing wrong, and they say what they have never seen."""

import subprocess
import sys

import pytest

from tests.soak.sometimes import Sometimes


def ran(module: str, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_run_says_which_rare_states_it_has_never_reached():
    rare = Sometimes("a kill", "a question", "a probe")
    rare.reached("a kill", 3)
    rare.reached("a probe")

    assert rare.never() == ["a question"]
    assert str(rare) == "sometimes: a kill 3, a probe 1; NEVER REACHED: a question"
    with pytest.raises(KeyError):
        rare.reached("a quetsion")


@pytest.mark.crash
@pytest.mark.postgres
@pytest.mark.timeout(600)
def test_by_either_carrier_everything_recovers_when_all_workers_are_killed():
    pytest.importorskip("procrastinate", reason="pip install 'signoff[cluster]'")
    code, said = ran(
        "tests.proof.carriers", "--plans", "4", "--cell", "crash_recovery", "--place", "postgres"
    )

    assert (code, said.count("recovered 100 %  doubled 0  journals broken 0")) == (0, 2), said


@pytest.mark.crash
@pytest.mark.postgres
@pytest.mark.timeout(600)
def test_half_a_minute_of_trouble_loses_and_doubles_nothing():
    code, said = ran("tests.soak", "--minutes", "0.5", "--wishes", "8")

    assert code == 0, said
    assert "wishes doubled 0, wishes lost 0, plans stuck 0, unsafe effects doubled 0" in said
