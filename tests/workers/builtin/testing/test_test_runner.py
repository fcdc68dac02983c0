"""The test-runner says what pytest says, and never calls a run green that proved nothing."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from storage.contract.spec import holds
from tests.support.samples.suites import preview, run, suite_of
from tests.support.scratch import context
from workers.base import Permanent
from workers.builtin.testing import reports
from workers.builtin.testing import test_runner as runner

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
    assert re.fullmatch(
        r"2 of 3 tests failed \(1 could not run\) on staging in \d+\.\d s; "
        r"first: test_failing\.py:5 test_login: assert \(1 \+ 1\) == 3",
        report.summary,
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

    assert reports.junit([tmp_path / "junit.xml"]) is None


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

    assert told == ["3/3 tests"]


FLAKY = """
import pathlib
def test_steady(): pass
def test_flaky():
    first = pathlib.Path("been-here")
    assert first.exists() or first.touch()
"""


def test_a_flaky_test_is_shown_apart_and_is_no_secret(tmp_path: Path) -> None:
    directory = suite_of(tmp_path / "suite", {"test_flaky.py": FLAKY})

    report = run(directory, tmp_path / "scratch", reruns=1)

    assert report.status == "succeeded"
    assert (report.data.passed, report.data.flaky, report.data.failed) == (1, 1, 0)
    assert report.data.flakes == ["test_flaky"]
    assert re.fullmatch(r"1 flaky, 1 passed in \d+\.\d s on staging \(flaky: test_flaky\)", report.summary)
    (criterion,) = runner.TestRunner.run_tests.criteria["no_flaky_tests"]
    assert not holds(criterion, report.data.model_dump())


def test_what_fails_twice_stays_failed(tmp_path: Path) -> None:
    files = {"test_flaky.py": FLAKY, "test_bad.py": "def test_bad(): assert 0, 'for good'"}

    report = run(suite_of(tmp_path / "suite", files), tmp_path / "scratch", reruns=1)

    assert report.status == "failed"
    assert (report.data.passed, report.data.flaky, report.data.failed) == (1, 1, 1)
    assert "1 of 3 tests failed on staging" in report.summary
    assert "1 flaky; first: test_bad.py:1 test_bad" in report.summary


def test_a_suite_without_a_report_is_judged_by_its_exit_code_alone(tmp_path: Path) -> None:
    options: dict[str, Any] = {"tool": "exit-code", "command": ["sh", "check.sh"]}
    good = run(suite_of(tmp_path / "a", {"check.sh": "echo fine"}), tmp_path / "one", **options)
    bad = run(suite_of(tmp_path / "b", {"check.sh": "echo no database; exit 7"}), tmp_path / "two", **options)

    assert good.status == "succeeded"
    assert re.fullmatch(r"Exit code 0 in \d+\.\d s on staging; this suite counts no tests", good.summary)
    assert bad.status == "failed"
    assert bad.summary.startswith("The command failed with exit code 7 on staging")
    assert bad.summary.endswith(": no database")


def test_reports_in_many_files_are_summed_and_old_ones_removed(tmp_path: Path) -> None:
    xml = "<testsuite><testcase classname='{0}' name='a'/><testcase classname='{0}' name='b'/></testsuite>"
    made = "mkdir -p out/x out/y; cp one.xml out/x/TEST-1.xml; cp two.xml out/y/TEST-2.xml"
    files = {"one.xml": xml.format("one"), "two.xml": xml.format("two"), "make.sh": made}
    directory = suite_of(tmp_path / "suite", files)
    (directory / "out").mkdir()
    (directory / "out" / "TEST-old.xml").write_text(xml.format("old"))

    report = run(directory, tmp_path / "scratch", command=["sh", "make.sh"], report="out/**/TEST-*.xml")

    assert report.status == "succeeded"
    assert report.data.passed == 4
    assert len(report.artifacts) == 3


def test_a_silent_run_is_ended(tmp_path: Path) -> None:
    report = run(suite_of(tmp_path / "suite", {"test_slow.py": SLOW}), tmp_path / "scratch", silence=2)

    assert report.status == "failed"
    assert report.summary.startswith("The test run printed nothing for too long on staging after")


def test_an_environment_has_settings_of_its_own_and_keeps_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAGING_TOKEN", 's3cret&"value"')
    text = """
import os
def test_it():
    assert os.environ["PLACE"] == "blue"
    print(os.environ["TOKEN"])
    raise ValueError("refused: " + os.environ["TOKEN"])
"""
    directory = suite_of(tmp_path / "suite", {"test_it.py": text})
    staging = {"env": {"PLACE": "blue"}, "secrets_env": {"TOKEN": "STAGING_TOKEN"}}

    report = run(directory, tmp_path / "scratch", environments={"staging": staging})

    assert "refused: [hidden]" in report.summary
    assert "s3cret" not in report.model_dump_json()
    assert len(report.artifacts) == 2
    assert not [file for file in report.artifacts if "s3cret" in Path(file).read_text()]


def test_a_secret_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=r"\[inventory\.suites\.full\] needs NO_SUCH_VARIABLE where"):
        run(tmp_path, tmp_path / "scratch", secrets_env={"TOKEN": "NO_SUCH_VARIABLE"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"directory": None}, "needs 'directory', or 'repository'"),
        ({"repository": "/srv/a.git", "directory": "/srv"}, "must be a place inside the project"),
        ({"repository": "/srv/a.git", "directory": "../x"}, "must be a place inside the project"),
        ({"repository": "https://bob:pw@host/a.git", "directory": "x"}, "holds a password"),
        ({"versions": "v.*"}, "'versions' needs a repository"),
        ({"repository": "/srv/a.git", "directory": "x", "versions": "["}, "no regular expression"),
        ({"report": "/etc/*.xml"}, "must be a place inside the project"),
        ({"reruns": 5}, "reruns"),
        ({"reruns": 1, "tool": "exit-code"}, "'reruns' needs a tool"),
        ({"timeout": 90000}, "timeout"),
        ({"comand": []}, "comand"),
    ],
)
def test_an_entry_that_cannot_work_is_a_sentence(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    entry = {"command": ["pytest"], "directory": str(tmp_path)} | change

    with pytest.raises(Permanent) as refused:
        preview(entry)

    assert str(refused.value).startswith("[inventory.suites.full] in signoff.toml cannot be used: ")
    assert said in str(refused.value)


def test_the_preview_says_what_would_run_and_where() -> None:
    entry = {
        "command": ["pytest", "-q", "a b"],
        "directory": "/srv/auth",
        "environments": ["staging"],
        "reruns": 1,
    }

    shown = preview(entry)

    assert shown.text == (
        "Runs `pytest -q 'a b'` in /srv/auth, for staging; at most 600 s. What fails is run once more."
    )
    assert shown.basis is None
