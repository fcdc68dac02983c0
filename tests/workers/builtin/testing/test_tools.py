"""Each test tool is understood as it understands itself: same counts, also when it breaks off."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.samples.suites import run, suite_of
from tests.support.samples.without import forget
from workers.base import Permanent
from workers.builtin.testing import reports
from workers.builtin.testing.results import data
from workers.builtin.testing.streams import Cargo, Go, Node
from workers.builtin.testing.suites import Suite
from workers.builtin.testing.tools import own_pytest
from workers.commands.process import Finished

RECORDED = Path(__file__).parent / "recorded"
ENDED = Finished(0, None, False, False, b"", b"", 0, Path("log"), 0.0)
PYTEST = """
import pytest, unittest
def test_good(): pass
def test_bad(): assert [1] == [2]
@pytest.mark.xfail
def test_known(): assert 0
@pytest.mark.xfail(strict=True)
def test_surprise(): pass
@pytest.fixture
def untidy():
    yield
    raise OSError("cannot tidy up")
def test_teardown(untidy): pass
def test_both(untidy): assert 0
@pytest.mark.parametrize("n", range(30))
def test_many(n): assert n != 7
class Old(unittest.TestCase):
    def test_old(self): pass
    @unittest.skip("no")
    def test_never(self): pass
"""
NODE = """
const {test, describe, it} = require('node:test');
const assert = require('assert');
test('adds', () => {});
test('parent', async (t) => {
  await t.test('child ok', () => {});
  await t.test('child # bad', () => { assert.strictEqual(1, 2); });
});
describe('suite', () => {
  it('in', () => {});
  it('skipped', {skip: true}, () => {});
  it('later', {todo: true}, () => {});
  it('throws', () => { throw new Error('boom'); });
});
test('slow', {timeout: 20}, async () => { await new Promise((done) => setTimeout(done, 5000).unref()); });
"""
GO = """
package a
import "testing"
func TestOne(t *testing.T) {}
func TestSub(t *testing.T) {
	t.Run("x", func(t *testing.T) {})
	t.Run("y", func(t *testing.T) { t.Errorf("got %d, want %d", 3, 4) })
}
func TestSkip(t *testing.T) { t.Skip("no database") }
"""
RUST = """
/// ```
/// assert_eq!(sample::two(), 2);
/// ```
pub fn two() -> i32 { 2 }
#[cfg(test)]
mod tests {
    #[test] fn good() {}
    #[test] fn bad() { assert_eq!(super::two(), 3, "two is not three"); }
    #[test] fn err() -> Result<(), String> { Err("no database".into()) }
    #[test] #[should_panic] fn panics() { panic!("as it should"); }
    #[test] #[ignore] fn later() {}
}
"""
CARGO = '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n'

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
needs_go = pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")
needs_cargo = pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not installed")


def told(report: Any) -> dict[str, int]:
    words = ("passed", "failed", "errors", "skipped")
    return {word: number for word in words if (number := getattr(report.data, word))}


def printed(directory: Path, *words: str) -> str:
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def go_env() -> dict[str, str]:
    """Go keeps its compiled packages below HOME, which is new for every run."""
    return {
        "GOCACHE": str(Path.home() / ".cache" / "go-build"),
        "GOFLAGS": "-mod=mod",
        "GOTOOLCHAIN": "local",
    }


def cargo_env() -> dict[str, str]:
    """Where a cargo that is rustup's finds its toolchain: by default beside it, whoever's HOME this is."""
    beside = Path(shutil.which("cargo") or "").parent.parent.with_name(".rustup")
    home = Path(os.environ.get("RUSTUP_HOME", beside))
    return {"RUSTUP_HOME": str(home), "CARGO_NET_OFFLINE": "true"} if home.exists() else {}


def test_pytest_is_counted_as_it_counts(tmp_path: Path) -> None:
    directory = suite_of(tmp_path / "suite", {"test_all.py": PYTEST})

    report = run(directory, tmp_path / "scratch")

    last = printed(directory, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider").splitlines()[-1]
    words = {"error": "errors", "xfailed": "skipped"}
    own: Counter[str] = Counter()
    for number, word in re.findall(r"(\d+) (passed|failed|skipped|errors?|xfailed)", last):
        own[words.get(word.removesuffix("s") if word == "errors" else word, word)] += int(number)
    assert told(report) == dict(own)


@needs_node
def test_node_is_counted_as_it_counts(tmp_path: Path) -> None:
    directory = suite_of(tmp_path / "suite", {"a.test.js": NODE, "b.test.js": "require('no-such-module')"})

    report = run(directory, tmp_path / "scratch", command=["node", "--test"])

    own = dict(re.findall(r"^\S+ (\w+) (\d+)$", printed(directory, "node", "--test"), re.MULTILINE))
    assert report.data.total == int(own["tests"]) == 10
    assert told(report) == {
        "passed": int(own["pass"]), "failed": int(own["fail"]), "errors": int(own["cancelled"]),
        "skipped": int(own["skipped"]) + int(own["todo"]),
    }  # fmt: skip
    first, second = report.data.failures[:2]
    assert (first.name, first.message) == ("child # bad", "Expected values to be strictly equal:")
    assert first.place == "a.test.js:7"
    assert (second.name, second.message) == ("throws", "boom")
    assert any("Cannot find module 'no-such-module'" in failure.message for failure in report.data.failures)


@needs_node
def test_node_without_tests_or_killed_is_not_green(tmp_path: Path) -> None:
    empty = run(suite_of(tmp_path / "empty", {}), tmp_path / "one", command=["node", "--test"])
    slow = {
        "a.test.js": "const {test} = require('node:test'); test('a', () => {}); setInterval(() => {}, 100)"
    }
    killed = run(suite_of(tmp_path / "slow", slow), tmp_path / "two", command=["node", "--test"], timeout=2)

    assert empty.summary.startswith("No tests ran on staging")
    assert killed.status == "failed"
    assert killed.summary.startswith("The test run did not finish in time on staging")


FLAKY_NODE = """
const {test, describe, it} = require('node:test');
const fs = require('fs');
test('steady', () => {});
const once = () => { if (!fs.existsSync('x')) { fs.writeFileSync('x', ''); throw new Error('first'); } };
describe('d', () => { it('flaky', once); });
"""
FLAKY_GO = """
package a
import ("os"; "testing")
func TestSteady(t *testing.T) {}
func TestFlaky(t *testing.T) { t.Run("in", func(t *testing.T) {
	if _, err := os.Stat("x"); err != nil { os.WriteFile("x", nil, 0644); t.Fatal("first") }
}) }
"""


@pytest.mark.parametrize(
    ("files", "command", "name", "passed"),
    [
        pytest.param({"a.test.js": FLAKY_NODE}, ["node", "--test"], "flaky", 1, marks=needs_node),
        pytest.param({"a_test.go": FLAKY_GO}, ["go", "test"], "TestFlaky/in", 2, marks=needs_go),
    ],
    ids=["node", "go"],
)
def test_a_flaky_test_is_known_in_other_tools_too(
    files: dict[str, str], command: list[str], name: str, passed: int, tmp_path: Path
) -> None:
    directory = suite_of(tmp_path / "suite", {"go.mod": "module example.test/g\ngo 1.19\n", **files})

    report = run(directory, tmp_path / "scratch", command=command, env=go_env(), reruns=1)

    assert report.status == "succeeded", report.summary
    assert (report.data.flakes, report.data.passed) == ([name], passed)


@needs_go
def test_go_is_counted_as_it_counts(tmp_path: Path) -> None:
    directory = suite_of(tmp_path / "suite", {"go.mod": "module example.test/g\ngo 1.19\n", "a_test.go": GO})
    broken = directory / "broken"
    broken.mkdir()
    (broken / "c_test.go").write_text(
        'package c\nimport "testing"\nfunc TestC(t *testing.T) { undefinedThing() }'
    )

    report = run(directory, tmp_path / "scratch", command=["go", "test", "./..."], env=go_env())

    own = Counter(
        re.findall(r"^\s*--- (PASS|FAIL|SKIP)", printed(directory, "go", "test", "-v", "."), re.MULTILINE)
    )
    assert told(report) == {"passed": own["PASS"], "failed": own["FAIL"], "errors": 1, "skipped": own["SKIP"]}
    named = {failure.name: failure for failure in report.data.failures}
    assert set(named) == {"TestSub/y", "example.test/g/broken"}
    assert (named["TestSub/y"].place, named["TestSub/y"].message) == ("a_test.go:7", "got 3, want 4")
    assert named["example.test/g/broken"].place.endswith("c_test.go:3")
    assert "undefined: undefinedThing" in named["example.test/g/broken"].message


@needs_go
def test_go_without_tests_or_with_a_dead_binary_is_not_green(tmp_path: Path) -> None:
    module = {"go.mod": "module example.test/g\ngo 1.19\n"}
    none = {**module, "a_test.go": "package a\n"}
    dead = {
        **module,
        "a_test.go": 'package a\nimport ("os"; "testing")\nfunc TestA(t *testing.T) { os.Exit(3) }',
    }
    options: dict[str, Any] = {"command": ["go", "test", "./..."], "env": go_env()}

    empty = run(suite_of(tmp_path / "none", none), tmp_path / "one", **options)
    killed = run(suite_of(tmp_path / "dead", dead), tmp_path / "two", **options)

    assert empty.summary.startswith("No tests ran on staging")
    assert (killed.status, killed.data.errors) == ("failed", 1)


@needs_cargo
def test_cargo_is_counted_as_it_counts(tmp_path: Path) -> None:
    directory = suite_of(tmp_path / "suite", {"Cargo.toml": CARGO})
    suite_of(directory / "src", {"lib.rs": RUST})
    command = ["cargo", "test", "--no-fail-fast"]

    report = run(directory, tmp_path / "scratch", command=command, env=cargo_env())
    (directory / "src" / "lib.rs").write_text("#[test] fn a() { nowhere(); }")
    broken = run(directory, tmp_path / "two", command=command, env=cargo_env())

    assert told(report) == {"passed": 3, "failed": 2, "skipped": 1}
    named = {failure.name: failure for failure in report.data.failures}
    assert named["tests::bad"].place == "src/lib.rs:9"
    assert "two is not three" in named["tests::bad"].message
    # Compilers before 1.70 print what a test returned to nobody's account, and blame its status code.
    assert re.search('Error: "no database"|non-zero status code', named["tests::err"].message)
    assert (broken.data.errors, broken.data.failures[0].place) == (1, "src/lib.rs:1")
    assert "nowhere" in broken.data.failures[0].message


@pytest.mark.parametrize("tool", ["jest", "vitest"])
def test_what_jest_and_vitest_wrote_is_read(tool: str) -> None:
    """Recorded from jest 30 and vitest 4: passed, failed, skipped, todo, and a broken import."""
    found = reports.jest(RECORDED / f"{tool}.json")

    assert found is not None
    read = data(found, seconds=1.0)
    assert (read.passed, read.failed, read.skipped, read.errors) == (1, 1, 2, 1)
    bad, broken = read.failures
    assert (bad.name, bad.place.startswith("/srv/shop/a.test.")) == ("suite bad", True)
    assert "Object.is equality" in bad.message
    assert broken.name.startswith("b.test.")
    assert "no-such" in broken.message


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"testResults": 3}', '{"testResults": [{"name": 1}]}']
)
def test_a_broken_json_report_is_no_report(text: str, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(text)

    assert reports.jest(tmp_path / "report.json") is None


def test_a_newer_go_tells_of_its_builds_in_events() -> None:
    go = Go()
    for line in (
        '{"ImportPath":"p [p.test]","Action":"build-output","Output":"# p [p.test]\\n"}',
        '{"ImportPath":"p [p.test]","Action":"build-output","Output":"./c_test.go:3:2: undefined: x\\n"}',
        '{"ImportPath":"p [p.test]","Action":"build-fail"}',
        '{"Action":"start","Package":"p"}',
        '{"Action":"output","Package":"p","Output":"FAIL\\tp [build failed]\\n"}',
        '{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p [p.test]"}',
    ):
        go.hear(line)

    found = go.found([], ENDED)
    assert found is not None
    assert [(case.outcome, case.place, case.message) for case in found.cases] == [
        ("errors", "./c_test.go:3", "undefined: x")
    ]


@pytest.mark.parametrize("tool", [Go, Node, Cargo])
@pytest.mark.parametrize(
    "line", ["", "{", "{}", "[]", "ok", '{"Action": 7}', "test x ... ?", "# tests", "not ok"]
)
def test_odd_lines_are_no_results(tool: Any, line: str) -> None:
    one = tool()

    assert one.hear(line) == ""
    assert one.found([], ENDED) is None or not one.found([], ENDED).cases


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (["pytest", "-q"], "pytest"), (["/opt/venv/bin/python", "-m", "pytest"], "pytest"),
        (["uv", "run", "pytest"], "pytest"), (["go", "test", "./..."], "go"), (["go", "vet"], "junit"),
        (["/usr/bin/node", "--test"], "node"), (["npx", "jest"], "jest"), (["npx", "vitest"], "vitest"),
        (["cargo", "test"], "cargo"), (["cargo", "nextest", "run"], "junit"), (["make", "test"], "junit"),
    ],
)  # fmt: skip
def test_a_command_gives_its_tool_away(command: list[str], kind: str) -> None:
    assert Suite(command=tuple(command), directory=Path()).kind() == kind
    assert Suite(command=tuple(command), directory=Path(), tool="exit-code").kind() == "exit-code"
    assert Suite(command=tuple(command), directory=Path(), report="*.xml").kind() == "junit"


def test_pytest_is_ours_else_the_machines_else_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "pytest"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert own_pytest() == [sys.executable, "-m", "pytest"]

    forget(monkeypatch, "pytest")
    assert own_pytest() == [str(program)]

    program.unlink()
    with pytest.raises(Permanent, match=r"Install signoff\[demo\]\. Or let the suite's command name"):
        own_pytest()
