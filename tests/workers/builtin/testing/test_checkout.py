"""Tests run on a clean checkout at one commit, and on nothing that the operator did not allow."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.samples.suites import preview
from tests.support.scratch import context
from workers.base import Permanent, Report
from workers.builtin.testing import checkout
from workers.builtin.testing import test_runner as runner

OLD = "def test_version(): assert open('version').read() == 'old'"
NEW = "def test_version(): assert open('version').read() == 'new'"


def git(repository: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.test", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *words], cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A tag v1.0.0 with the old text, main with the new one, and a working tree with neither."""
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "--quiet")
    for text, version in ((OLD, "old"), (NEW, "new")):
        (place / "test_it.py").write_text(text)
        (place / "version").write_text(version)
        git(place, "add", ".")
        git(place, "commit", "--quiet", "-m", version)
        if version == "old":
            git(place, "tag", "v1.0.0")
    (place / "version").write_text("dirty")
    return place


def run(repository: Path | str, scratch: Path, version: str = "", **suite: Any) -> Report[Any]:
    entry: dict[str, Any] = {
        "command": ["pytest", "-q"],
        "repository": str(repository),
        "versions": r"v\d+\.\d+\.\d+",
        **suite,
    }
    entry["env"] = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # it starts sooner
    worker = runner.TestRunner({"suites": {"full": entry}})
    params = runner.TestParams(test_suite="full", version=version)
    report: Report[Any] = runner.TestRunner.run_tests.run(worker, params, context(scratch))
    return report


def test_the_checkout_is_clean_and_the_report_names_its_commit(repository: Path, tmp_path: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")

    report = run(repository, tmp_path / "scratch")

    assert report.status == "succeeded", report.summary
    assert report.data.commit == commit
    assert report.summary.endswith(f"on staging at {commit[:12]}")
    assert not (tmp_path / "scratch" / "checkout").exists()
    assert all(Path(file).exists() for file in report.artifacts)
    assert (repository / "version").read_text() == "dirty"


def test_a_version_is_the_tag_of_that_name(repository: Path, tmp_path: Path) -> None:
    report = run(repository, tmp_path / "scratch", "v1.0.0")

    assert report.status == "succeeded", report.summary
    assert report.data.commit == git(repository, "rev-parse", "v1.0.0")


def test_the_entry_may_name_a_commit_and_a_place_inside(repository: Path, tmp_path: Path) -> None:
    commit = git(repository, "rev-parse", "v1.0.0")
    entry = {"command": ["sh", "-c", "pwd; ls"], "tool": "exit-code", "ref": commit, "directory": "."}

    report = run(repository, tmp_path / "scratch", **entry)

    assert report.status == "succeeded"
    assert report.data.commit == commit


@pytest.mark.parametrize("version", ["main", "--upload-pack=touch pwned", "v1.0.0; id", "refs/pull/1/head"])
def test_a_version_that_the_entry_does_not_allow_is_refused(
    version: str, repository: Path, tmp_path: Path
) -> None:
    with pytest.raises(Permanent, match=r"The version of 'full' must match"):
        run(repository, tmp_path / "scratch", version)


def test_without_a_rule_for_versions_none_is_taken(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="must be left out"):
        run(repository, tmp_path / "scratch", "v1.0.0", versions="")


def test_a_version_needs_a_repository(tmp_path: Path) -> None:
    entry = {"command": ["pytest"], "directory": "/srv/auth"}

    with pytest.raises(Permanent, match="tests /srv/auth as it is; a version needs 'repository'"):
        preview(entry, "v1.0.0")


def test_what_is_not_there_is_a_sentence(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(
        Permanent, match=r"has no refs/tags/v9\.9\.9 or refs/heads/v9\.9\.9\. Nothing was run"
    ):
        run(repository, tmp_path / "one", "v9.9.9")
    with pytest.raises(Permanent, match=r"nowhere could not be checked out: fatal: .*nowhere"):
        run(tmp_path / "nowhere", tmp_path / "two")


def test_no_hook_of_anybody_runs_at_checkout(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "home" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    (hooks / "post-checkout").chmod(0o755)
    (tmp_path / "home" / ".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    assert run(repository, tmp_path / "scratch").status == "succeeded"
    assert not (tmp_path / "pwned").exists()


def test_the_preview_names_repository_and_version() -> None:
    entry = {"command": ["go", "test", "./..."], "repository": "/srv/auth.git", "versions": "v.*"}

    assert preview(entry, "v2.1.4").text == (
        "Runs `go test ./...` in a clean checkout of /srv/auth.git at v2.1.4, for staging; at most 600 s."
    )


def test_what_a_suite_takes_is_known_before_it_runs() -> None:
    entries = {
        "full": {
            "command": ["pytest"],
            "repository": "/srv/a.git",
            "versions": "v.*",
            "environments": ["staging"],
        },
        "plain": {"command": ["pytest"], "directory": "/srv/a"},
        "broken": {"command": []},
    }

    worker = runner.TestRunner({"suites": entries})

    hints = {name: worker.hint("suites", name) for name in entries}
    assert hints == {
        "full": "only on staging; version must match v.*", "plain": "takes no version", "broken": "",
    }  # fmt: skip


def test_a_repository_around_the_checkout_is_not_looked_for(tmp_path: Path) -> None:
    """Where there is none of its own yet, git would take the one above, with its filters."""
    witness, place = tmp_path / "witness", tmp_path / "around" / "checkout"
    place.mkdir(parents=True)
    git(place.parent, "init", "--quiet")
    with (place.parent / ".git" / "config").open("a") as config:
        config.write(f'[filter "x"]\n\tclean = touch {witness}; cat\n')
    (place.parent / ".git" / "info" / "attributes").write_text("* filter=x\n")
    (place / "file").write_text("x")

    assert checkout._git(["add", "."], place, context(tmp_path)).returncode != 0
    assert not witness.exists()
