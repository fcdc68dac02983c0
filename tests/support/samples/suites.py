"""Suites for the test-runner: written to a folder, run or only previewed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.scratch import context
from workers.base import Preview, Report
from workers.builtin.testing import test_runner as runner


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
    entry: dict[str, Any] = {"command": ["pytest", "-q"], "directory": str(directory), **suite}
    entry["env"] = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **suite.get("env", {})}  # it starts sooner
    worker = runner.TestRunner({"suites": {"full": entry}})
    params = runner.TestParams(test_suite="full", environment=environment)
    report: Report[Any] = runner.TestRunner.run_tests.run(
        worker, params, context(scratch, cancelled=cancelled)
    )
    return report


def preview(entry: dict[str, Any], version: str = "") -> Preview:
    worker = runner.TestRunner({"suites": {"full": entry}})
    params = runner.TestParams(test_suite="full", version=version)
    shown: Preview = runner.TestRunner.run_tests.hooks["preview"](worker, params, context(Path()))
    return shown
