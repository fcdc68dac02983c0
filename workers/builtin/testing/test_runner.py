"""Runs a test suite; two witnesses, the exit code and the report, must agree before it is called green."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import Field

from workers.base import Context, Named, Params, Permanent, Preview, Report, Worker, action, check
from workers.builtin.shared.entries import read_entry
from workers.builtin.testing.checkout import checked_out
from workers.builtin.testing.results import TestData, count, data
from workers.builtin.testing.suites import GRACES, LIMIT, Suite, refs, settings
from workers.builtin.testing.tool_run import Site, ToolRun, run_again, run_once, settle
from workers.builtin.testing.tools import own_pytest
from workers.commands.process import Finished


class TestParams(Params):
    __test__ = False  # the name must not make pytest collect it

    test_suite: Annotated[str, Named("suites")]
    environment: str = "staging"
    version: str = Field(
        default="",
        max_length=100,
        description="A tag or branch; only for suites whose inventory entry allows versions.",
    )


class TestRunner(Worker):
    """Runs a test suite and counts what passed and failed."""

    __test__ = False
    name = "test-runner"

    @action(
        changes=False,
        repeat="safe",
        timeout=LIMIT,
        typical=120,
        criteria={
            "all_tests_pass": (check("failed", "eq", 0), check("errors", "eq", 0), check("passed", "gt", 0)),
            "no_flaky_tests": (check("flaky", "eq", 0),),
        },
        says="*Run {test_suite:full=all} tests* on {environment}[, version {version}]",
    )
    def run_tests(self, params: TestParams, ctx: Context) -> Report[TestData]:
        """Runs a test suite and counts what passed and failed; nothing that ran nothing is green."""
        with self._site(params, ctx) as site:
            first = run_once(site, ctx)
            again = run_again(site, first, ctx)
        return report(site, first, again)

    @run_tests.preview
    def preview_tests(self, params: TestParams, ctx: Context) -> Preview:
        suite = self._suite(params)
        settings(suite, params.test_suite, params.environment)
        where = f"in {suite.directory}"
        if suite.repository:
            ref = refs(suite, params.test_suite, params.version)[0].removeprefix("refs/tags/")
            inside = f" in {suite.directory}" if suite.directory else ""
            where = f"{inside} in a clean checkout of {suite.repository} at {ref}".strip()
        text = f"Runs `{suite.line()}` {where}, for {params.environment}; at most {suite.timeout:.0f} s."
        text += " What fails is run once more." if suite.reruns else ""
        return Preview(text)

    def hint(self, table: str, name: str) -> str:
        """Where this suite may run and which versions it takes; "" when its entry cannot be used."""
        try:
            suite = read_entry(Suite, table, name, self.entry(table, name))
        except Permanent:
            return ""
        on = f"only on {', '.join(suite.environments)}; " if suite.environments is not None else ""
        return on + (f"version must match {suite.versions}" if suite.versions else "takes no version")

    def needs(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """The pytest of each suite that names no project's own."""
        for name, raw in self.inventory.get("suites", {}).items():
            if (raw.get("command") or [""])[0] == "pytest":
                yield f"suite {name}", own_pytest

    def _suite(self, params: TestParams) -> Suite:
        suite = read_entry(Suite, "suites", params.test_suite, self.entry("suites", params.test_suite))
        if params.version and not suite.repository:
            raise Permanent(
                f"The suite '{params.test_suite}' tests {suite.directory} as it is; "
                "a version needs 'repository' and 'versions' in signoff.toml. Nothing was run."
            )
        return suite

    @contextmanager
    def _site(self, params: TestParams, ctx: Context) -> Iterator[Site]:
        ends = time.monotonic() + LIMIT - 2 * sum(GRACES)
        suite = self._suite(params)
        env, secrets = settings(suite, params.test_suite, params.environment)
        if not suite.repository:
            yield Site(suite, suite.directory or Path(), "", params.environment, env, secrets, ends)
            return
        with checked_out(suite.repository, refs(suite, params.test_suite, params.version), ctx) as (
            place,
            commit,
        ):
            inside = place / (suite.directory or "")
            yield Site(suite, inside, commit, params.environment, env, secrets, ends)


def report(site: Site, first: ToolRun, again: ToolRun | None) -> Report[TestData]:
    """What the run proved, without a secret in it, and the files that tell more."""
    last = settle(first, again)
    seconds = first.done.seconds + (again.done.seconds if again else 0.0)
    told = data(last.found, seconds=seconds, commit=site.commit) if last.found else None
    shown = TestData.model_validate_json(site.fit(told.model_dump_json())) if told else None
    kept = first.files + (again.files if again else ())
    return judge(last, shown, site.where()).model_copy(update={"artifacts": kept})


def judge(trial: ToolRun, data: TestData | None, where: str) -> Report[TestData]:
    """Green only if the exit code says so, the report says so, and something ran."""
    done = trial.done
    if problem := done.broken_off():
        text = f"The test run {problem} {where} after {done.seconds:.0f} s; {count(data)}."
        return Report.failed(text, data)
    if data is None or trial.tool.mute:
        return _by_exit_code(trial, data, where)
    if data.failed or data.errors:
        return Report.failed(_describe(data, where), data)
    if not data.passed:
        return Report.failed(f"No tests ran {where}: {count(data)}. Nothing is proved.", data)
    if done.returncode:
        ending = trial.tool.endings.get(
            done.returncode, f"The command failed with exit code {done.returncode}"
        )
        return Report.failed(f"{ending} {where}, though {count(data)}: {_last_line(done)}", data)
    flaky = f" (flaky: {', '.join(data.flakes)})" if data.flaky else ""
    return Report.ok(f"{count(data)} in {data.seconds:.1f} s {where}{flaky}", data)


def _by_exit_code(trial: ToolRun, data: TestData | None, where: str) -> Report[TestData]:
    done = trial.done
    if data is None:
        ending = trial.tool.endings.get(done.returncode, f"The tests ended with exit code {done.returncode}")
        return Report.failed(f"{ending} {where} and no readable report was written: {_last_line(done)}")
    if done.returncode:
        text = f"The command failed with exit code {done.returncode} {where} after {done.seconds:.1f} s"
        return Report.failed(f"{text}: {_last_line(done)}", data)
    return Report.ok(f"Exit code 0 in {done.seconds:.1f} s {where}; this suite counts no tests", data)


def _describe(data: TestData, where: str) -> str:
    note = f" ({data.errors} could not run)" if data.errors else ""
    text = f"{data.failed + data.errors} of {data.total} tests failed{note} {where} in {data.seconds:.1f} s"
    flaky = f"; {data.flaky} flaky" if data.flaky else ""
    if not data.failures:
        return text + flaky
    first = data.failures[0]
    return f"{text}{flaky}; first: {' '.join(filter(None, (first.place, first.name)))}: {first.message}"


def _last_line(done: Finished) -> str:
    lines = [line.strip() for line in done.text().splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"
