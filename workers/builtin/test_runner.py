"""Runs a test suite; two witnesses, the exit code and the report, must agree before it is called green."""

import re
import shutil
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

from junitparser import Error, JUnitXml, JUnitXmlError, Skipped, TestCase
from junitparser import Failure as Failed
from pydantic import BaseModel

from workers import process
from workers.base import Context, Named, Params, Permanent, Report, Worker, action, check
from workers.output import plain
from workers.process import Finished

LIMIT = 1800.0
GRACE = 10.0
SHOWN = 5
LARGEST = 50 * 1024 * 1024
PLACE = re.compile(r"^(\S+?:\d+):", re.MULTILINE)
PERCENT = re.compile(r"\[ *(\d+%)\]$")
INTERRUPTED = 2
ENDINGS = {
    INTERRUPTED: "The test run was interrupted",
    3: "pytest failed with an internal error",
    4: "pytest did not accept its command line",
    5: "No tests were collected",
}


class TestParams(Params):
    test_suite: Annotated[str, Named("suites")]
    environment: str = "staging"


class Failure(BaseModel):
    """One test that did not pass: its name, file:line, and the first line of the reason."""

    name: str
    place: str
    message: str


class TestData(BaseModel):
    """Counts summed over the report's cases. An expected failure counts as skipped, as in the report."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    total: int = 0
    seconds: float = 0.0
    failures: list[Failure] = []


class TestRunner(Worker):
    """Runs a test suite and counts what passed and failed."""

    __test__ = False  # the name must not make pytest collect it
    name = "test-runner"

    @action(
        changes=False,
        repeat="safe",
        timeout=LIMIT,
        typical=120,
        criteria={
            "all_tests_pass": (check("failed", "eq", 0), check("errors", "eq", 0), check("passed", "gt", 0))
        },
    )
    def run_tests(self, params: TestParams, ctx: Context) -> Report[TestData]:
        suite = self.entry("suites", params.test_suite)
        _allow(params, suite)
        directory = Path(suite["directory"])
        report = (directory / suite["report"] if "report" in suite else ctx.scratch / "junit.xml").absolute()
        report.unlink(missing_ok=True)  # a crash must not show an earlier result
        done = _run(suite, params.environment, directory, report, ctx)
        kept = (str(done.log), str(report)) if report.exists() else (str(done.log),)
        interrupted = done.timed_out or done.cancelled or done.returncode == INTERRUPTED
        data = read(report, seconds=done.seconds, interrupted=interrupted)
        return judge(done, data, params.environment).model_copy(update={"artifacts": kept})


def judge(done: Finished, data: TestData | None, environment: str) -> Report[TestData]:
    """Green only if the exit code says so, the report says so, and something ran."""
    where = f"on {environment}"
    if problem := _broken_off(done):
        return Report.failed(f"{problem} {where} after {done.seconds:.0f} s; {_count(data)}.", data)
    if data is None:
        ending = ENDINGS.get(done.returncode, f"The tests ended with exit code {done.returncode}")
        return Report.failed(f"{ending} {where} and no readable report was written: {_last_line(done)}", data)
    if data.failed or data.errors:
        return Report.failed(_describe(data, where), data)
    if not data.passed:
        return Report.failed(f"No tests ran {where}: {_count(data)}. Nothing is proved.", data)
    if done.returncode:
        ending = ENDINGS.get(done.returncode, f"The command failed with exit code {done.returncode}")
        return Report.failed(f"{ending} {where}, though {_count(data)}: {_last_line(done)}", data)
    return Report.ok(f"{_count(data)} in {data.seconds:.1f} s {where}", data)


def read(report: Path, *, seconds: float, interrupted: bool = False) -> TestData | None:
    """What a JUnit report says of a run that took so long; None when there is none that can be read."""
    if not report.is_file() or report.stat().st_size > LARGEST:
        return None
    try:
        cases = [case for suite in JUnitXml.fromfile(str(report)) for case in suite]
    except (JUnitXmlError, SyntaxError, ValueError, RecursionError):  # broken XML is a SyntaxError
        return None
    if interrupted and cases and _outcome(cases[-1]) == "passed":
        cases.pop()  # pytest lists the test it was interrupted in, without a result
    outcomes = [_outcome(case) for case in cases]
    return TestData(
        passed=outcomes.count("passed"),
        failed=outcomes.count("failed"),
        errors=outcomes.count("errors"),
        skipped=outcomes.count("skipped"),
        total=len(cases),
        seconds=round(seconds, 1),
        failures=[_failure(case) for case in cases if _outcome(case) in ("failed", "errors")][:SHOWN],
    )


def argv(command: list[str], report: Path) -> list[str]:
    """The words to run: `pytest` and `python` mean the interpreter that runs this worker."""
    python = [sys.executable, "-m", "pytest"] if command[0] == "pytest" else [sys.executable]
    words = [*python, *command[1:]] if command[0] in ("pytest", "python") else command
    if "pytest" in (Path(command[0]).name, _module(command)):
        return [*words, f"--junitxml={report}", "-p", "no:cacheprovider"]
    return words


def _module(command: list[str]) -> str:
    return command[command.index("-m") + 1] if "-m" in command[:-1] else ""


def _allow(params: TestParams, suite: dict[str, Any]) -> None:
    allowed = suite.get("environments", [params.environment])
    if params.environment not in allowed:
        raise Permanent(
            f"The suite '{params.test_suite}' may not run on {params.environment}; "
            f"signoff.toml allows it on: {', '.join(allowed)}. Nothing was run."
        )


def _run(suite: dict[str, Any], environment: str, directory: Path, report: Path, ctx: Context) -> Finished:
    own = {name: ctx.scratch.absolute() / name.lower() for name in ("HOME", "TMPDIR")}
    for place in own.values():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    return process.run(
        argv(suite["command"], report),
        cwd=directory,
        env={name: str(place) for name, place in own.items()} | {"SIGNOFF_ENVIRONMENT": environment},
        timeout=min(float(suite.get("timeout", 600)), LIMIT - 2 * GRACE),
        scratch=ctx.scratch,
        key=ctx.key,
        cancelled=ctx.cancelled,
        on_line=lambda line: _tell(line, ctx),
        graces=(GRACE, 5.0),
    )


def _tell(line: str, ctx: Context) -> None:
    if found := PERCENT.search(line):
        ctx.progress(f"{found[1]} of the tests are done")


def _broken_off(done: Finished) -> str:
    if done.cancelled:
        return "The test run was cancelled"
    if done.timed_out:
        return "The test run did not finish in time"
    if done.signal:
        return f"The test run was killed by signal {done.signal} ({signal.strsignal(done.signal)})"
    return ""


def _count(data: TestData | None) -> str:
    if data is None or not data.total:
        return "no test reported a result"
    counts = {"passed": data.passed, "failed": data.failed, "errors": data.errors, "skipped": data.skipped}
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)


def _describe(data: TestData, where: str) -> str:
    first = data.failures[0]
    note = f" ({data.errors} could not run)" if data.errors else ""
    return (
        f"{data.failed + data.errors} of {data.total} tests failed{note} {where}; "
        f"first: {first.place} {first.name}: {first.message}"
    )


def _last_line(done: Finished) -> str:
    lines = [line.strip() for line in done.text().splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"


def _outcome(case: TestCase) -> str:
    kinds = [type(result) for result in case.result]
    words = {Error: "errors", Failed: "failed", Skipped: "skipped"}
    return next((word for kind, word in words.items() if kind in kinds), "passed")


def _failure(case: TestCase) -> Failure:
    result = next(result for result in case.result if isinstance(result, Error | Failed))
    text = plain((result.text or "").encode())
    message = result.message or ""
    if message in ("", "collection failure"):
        message = next((line[1:] for line in text.splitlines() if line.startswith("E ")), message)
    places = PLACE.findall(text)
    return Failure(
        name=case.name or "",
        place=places[-1] if places else (case.classname or ""),
        message=message.strip().partition("\n")[0][:300],
    )
