"""Reports that test tools write into files: JUnit XML, and the JSON of jest and vitest."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from junitparser import Error, JUnitXml, JUnitXmlError, Skipped, TestCase
from junitparser import Failure as Failed

from workers.builtin.testing.results import Case, Found, Outcome
from workers.commands.output import plain

LARGEST = 50 * 1024 * 1024
PLACE = re.compile(r"^(\S+?:\d+):", re.MULTILINE)
FRAME = re.compile(r"^ +at (?:.*\()?(?:file://)?(/[^\s()]+?:\d+):\d+\)?$", re.MULTILINE)
TEARDOWN = "failed on teardown"  # as pytest says it
STATUSES: dict[str, Outcome] = {"passed": "passed", "failed": "failed"}


def junit(files: Iterable[Path], *, interrupted: bool = False) -> Found | None:
    """What JUnit reports say; None when there is none, or one that cannot be read."""
    paths = [path for path in files if path.is_file()]
    if not paths or sum(path.stat().st_size for path in paths) > LARGEST:
        return None
    try:
        cases = [case for path in paths for suite in JUnitXml.fromfile(str(path)) for case in suite]
    except (JUnitXmlError, SyntaxError, ValueError, RecursionError):  # broken XML is a SyntaxError
        return None
    if interrupted and cases and _outcome(cases[-1]) == "passed":
        cases.pop()  # pytest lists the test it was interrupted in, without a result
    return Found([*_split(cases)])


def jest(file: Path) -> Found | None:
    """What jest's JSON says, which vitest writes too; None when there is none, or it cannot be read."""
    if not file.is_file() or file.stat().st_size > LARGEST:
        return None
    try:
        files = json.loads(file.read_bytes())["testResults"]
        return Found([case for told in files for case in _told(told)])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _split(cases: list[TestCase]) -> Iterator[Case]:
    """A test that passed and could not tidy up is one passed and one error, as pytest counts it."""
    last = None
    for case in cases:
        passed = _untidy(case) and (case.classname, case.name) != last  # one that failed stands before it
        yield from [_case(case, "passed")] if passed else []
        yield _case(case, _outcome(case))
        last = case.classname, case.name


def _untidy(case: TestCase) -> bool:
    results = case.result
    return len(results) == 1 and (results[0].message or "").startswith(TEARDOWN)


def _outcome(case: TestCase) -> Outcome:
    kinds = [type(result) for result in case.result]
    words: dict[type, Outcome] = {Error: "errors", Failed: "failed", Skipped: "skipped"}
    return next((word for kind, word in words.items() if kind in kinds), "passed")


def _case(case: TestCase, outcome: Outcome) -> Case:
    name, group = case.name or "", case.classname or ""
    if outcome not in ("failed", "errors"):
        return Case(name, outcome, group)
    result = next(result for result in case.result if isinstance(result, Error | Failed))
    text = plain((result.text or "").encode())
    message = result.message or ""
    if message in ("", "collection failure"):
        message = next((line[1:] for line in text.splitlines() if line.startswith("E ")), message)
    places = PLACE.findall(text)
    return Case(name, outcome, group, places[-1] if places else group, message or _line(text))


def _told(file: dict[str, Any]) -> Iterator[Case]:
    name = str(file["name"])
    for test in file["assertionResults"]:
        text = plain("\n".join(test.get("failureMessages") or []).encode())
        frames = [frame for frame in FRAME.findall(text) if "/node_modules/" not in frame]
        yield Case(
            name=str(test["fullName"]),
            outcome=STATUSES.get(test["status"], "skipped"),
            group=name,
            place=frames[0] if frames else name,
            message=_until_frames(text),
        )
    if file["status"] == "failed" and not file["assertionResults"]:
        said = plain(str(file.get("message", "")).encode()).replace("● Test suite failed to run", "")
        yield Case(Path(name).name, "errors", name, name, _line(said))


def _until_frames(text: str) -> str:
    lines = [line.strip() for line in text.partition("\n    at ")[0].splitlines()]
    return " ".join(line for line in lines if line)


def _line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
