"""The test-runner says what pytest says, and never calls a run green that proved nothing."""

import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from workers.base import Context, Permanent, Report
from workers.builtin import test_runner as runner

GREEN = """
import pytest
def test_one(): pass
def test_two(): pass
@pytest.mark.skip
def test_three(): pass
"""
FAILING = """
import pytest
def test_good(): pass
def test_login():
    assert 1 + 1 == 3
@pytest.fixture
def broken(): raise ValueError("no database")
def test_needs_it(broken): pass
"""
SLOW = """
import pathlib, time
def test_quick(): pass
def test_slow():
    pathlib.Path("slow").touch()
    time.sleep(60)
"""
SUITES: dict[str, dict[str, str]] = {
    "green": {"test_green.py": GREEN},
    "failing": {"test_failing.py": FAILING},
    "import error": {"test_green.py": GREEN, "test_import.py": "import no_such_module"},
    "many failures": {"test_many.py": "".join(f"def test_{n}(): assert {n} < 0\n" for n in range(8))},
}


def context(scratch: Path, **changes: Any) -> Context:
    scratch.mkdir(exist_ok=True)
    return Context(
        plan=1,
        step="step-1",
        attempt=1,
        key=f"test{scratch}",
        scratch=scratch,
        now=lambda: datetime.now(UTC),
        **changes,
    )


def suite_of(directory: Path, files: dict[str, str]) -> Path:
    directory.mkdir()
    for name, text in files.items():
        (directory / name).write_text(text)
    return directory


def run(
    directory: Path,
    scratch: Path,
    *,
    environment: str = "staging",
    cancelled: Callable[[], bool] = lambda: False,
    **suite: Any,
) -> Report[Any]:
    entry = {"command": ["pytest", "-q"], "directory": str(directory), **suite}
    worker = runner.TestRunner({"suites": {"full": entry}})
    params = runner.TestParams(test_suite="full", environment=environment)
    report: Report[Any] = runner.TestRunner.run_tests.run(
        worker, params, context(scratch, cancelled=cancelled)
    )
    return report


def own_summary(directory: Path) -> dict[str, int]:
    """What pytest itself prints: '1 failed, 2 passed, 1 error in 0.05s'."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    printed = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False).stdout
    found = re.findall(r"(\d+) (passed|failed|skipped|error)", printed.splitlines()[-1])
    return {word: int(number) for number, word in found}


@pytest.mark.parametrize("name", SUITES)
def test_counts_are_those_of_pytests_own_summary(name: str, tmp_path: Path) -> None:
    directory = suite_of(tmp_path / "suite", SUITES[name])

    data = run(directory, tmp_path / "scratch").data

    told = {"passed": data.passed, "failed": data.failed, "skipped": data.skipped, "error": data.errors}
    assert {word: number for word, number in told.items() if number} == own_summary(directory)


def test_a_green_run_says_how_many_passed_and_where(tmp_path: Path) -> None:
    report = run(suite_of(tmp_path / "suite", SUITES["green"]), tmp_path / "scratch")

    assert report.status == "succeeded"
    assert re.fullmatch(r"2 passed, 1 skipped in \d+\.\d s on staging", report.summary)
    assert all(Path(file).exists() for file in report.artifacts)


def test_a_failure_is_told_with_its_place_and_its_reason(tmp_path: Path) -> None:
    report = run(suite_of(tmp_path / "suite", SUITES["failing"]), tmp_path / "scratch")

    assert report.status == "failed"
    assert report.summary == (
        "2 of 3 tests failed (1 could not run) on staging; "
        "first: test_failing.py:5 test_login: assert (1 + 1) == 3"
    )
    assert report.data.failures[1].place == "test_failing.py:7"
    assert "no database" in report.data.failures[1].message


def test_an_import_error_is_told_with_its_cause(tmp_path: Path) -> None:
    report = run(suite_of(tmp_path / "suite", SUITES["import error"]), tmp_path / "scratch")

    assert report.status == "failed"
    assert "No module named 'no_such_module'" in report.summary


def test_only_the_first_five_failures_are_told(tmp_path: Path) -> None:
    data = run(suite_of(tmp_path / "suite", SUITES["many failures"]), tmp_path / "scratch").data

    assert (data.failed, len(data.failures)) == (8, 5)


@pytest.mark.parametrize(
    "files",
    [{}, {"test_skipped.py": "import pytest\n@pytest.mark.skip\ndef test_it(): pass"}],
    ids=["empty", "all skipped"],
)
def test_a_run_that_proved_nothing_is_not_green(files: dict[str, str], tmp_path: Path) -> None:
    report = run(suite_of(tmp_path / "suite", files), tmp_path / "scratch")

    assert report.status == "failed"
    assert report.summary.startswith("No tests ran on staging")


def test_a_killed_run_says_so_and_shows_no_earlier_result(tmp_path: Path) -> None:
    directory = suite_of(tmp_path / "suite", SUITES["green"])
    assert run(directory, tmp_path / "scratch").status == "succeeded"
    (directory / "test_green.py").write_text("import os\ndef test_it(): os.kill(os.getpid(), 9)")

    report = run(directory, tmp_path / "scratch")

    assert report.status == "failed"
    assert report.data is None
    assert report.summary.startswith("The test run was killed by signal 9 (Killed) on staging")


def test_a_run_over_its_time_says_so(tmp_path: Path) -> None:
    report = run(suite_of(tmp_path / "suite", {"test_slow.py": SLOW}), tmp_path / "scratch", timeout=1)

    assert report.status == "failed"
    assert report.summary.startswith("The test run did not finish in time on staging after")


def test_a_cancelled_run_tells_what_was_done_by_then(tmp_path: Path) -> None:
    directory = suite_of(tmp_path / "suite", {"test_slow.py": SLOW})
    started = directory / "slow"

    report = run(directory, tmp_path / "scratch", cancelled=started.exists)

    assert report.status == "failed"
    assert report.summary.startswith("The test run was cancelled on staging after")
    assert report.data.passed == 1


@pytest.mark.parametrize(
    ("command", "summary"),
    [
        (["true"], "The tests ended with exit code 0 on staging and no readable report was written"),
        (["pytest", "--no-such-option"], "pytest did not accept its command line on staging"),
        (["python", "-c", "print('boom'); exit(7)"], "The tests ended with exit code 7 on staging"),
    ],
)
def test_without_a_report_nothing_is_green(command: list[str], summary: str, tmp_path: Path) -> None:
    report = run(suite_of(tmp_path / "suite", SUITES["green"]), tmp_path / "scratch", command=command)

    assert report.status == "failed"
    assert report.summary.startswith(summary)


def test_a_green_report_does_not_excuse_a_bad_exit_code(tmp_path: Path) -> None:
    hook = "def pytest_sessionfinish(session): session.exitstatus = 1"
    directory = suite_of(tmp_path / "suite", {**SUITES["green"], "conftest.py": hook})

    report = run(directory, tmp_path / "scratch")

    assert report.status == "failed"
    assert report.summary.startswith(
        "The command failed with exit code 1 on staging, though 2 passed, 1 skipped"
    )


def test_a_good_exit_code_does_not_excuse_a_red_report(tmp_path: Path) -> None:
    hook = "def pytest_sessionfinish(session): session.exitstatus = 0"
    directory = suite_of(tmp_path / "suite", {**SUITES["failing"], "conftest.py": hook})

    assert run(directory, tmp_path / "scratch").status == "failed"


def test_another_tool_is_judged_by_the_report_it_names(tmp_path: Path) -> None:
    xml = "<testsuite><testsuite><testcase name='a'/></testsuite><testcase name='b'/></testsuite>"
    directory = suite_of(tmp_path / "suite", {"made.xml": xml})

    report = run(directory, tmp_path / "scratch", command=["cp", "made.xml", "out.xml"], report="out.xml")

    assert report.status == "succeeded"
    assert report.data.passed == 2


@pytest.mark.parametrize("text", ["", "<testsuite>", "<html/>", "not xml", "<testsuite>" * 5000])
def test_a_broken_report_is_no_report(text: str, tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(text)

    assert runner.read(tmp_path / "junit.xml", seconds=1.0) is None


def test_home_and_temporary_files_stay_in_the_scratch_directory(tmp_path: Path) -> None:
    text = """
import os, pathlib
def test_it(tmp_path):
    (pathlib.Path.home() / "left").touch()
    assert str(tmp_path).startswith(os.environ["TMPDIR"])
    assert os.environ["SIGNOFF_ENVIRONMENT"] == "staging"
"""
    report = run(suite_of(tmp_path / "suite", {"test_home.py": text}), tmp_path / "scratch")

    assert report.status == "succeeded", report.summary
    assert (tmp_path / "scratch" / "home" / "left").exists()


def test_relative_directories_are_those_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite_of(tmp_path / "suite", SUITES["green"])
    monkeypatch.chdir(tmp_path)

    report = run(Path("suite"), Path("scratch"))

    assert report.status == "succeeded", report.summary


def test_a_suite_runs_only_where_it_may(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=r"may not run on production; signoff\.toml allows it on: staging"):
        run(tmp_path, tmp_path / "scratch", environment="production", environments=["staging"])


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    directory = suite_of(tmp_path / "suite", SUITES["green"])
    worker = runner.TestRunner({"suites": {"full": {"command": ["pytest"], "directory": str(directory)}}})

    runner.TestRunner.run_tests.run(
        worker, runner.TestParams(test_suite="full"), context(tmp_path / "scratch", progress=told.append)
    )

    assert told == ["100% of the tests are done"]
