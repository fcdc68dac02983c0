"""Nobody but us reads what we keep, also where it was kept openly before."""

import os
from pathlib import Path

import pytest

from storage.audit.export import checkpoint
from storage.clock import wall
from storage.database.engine import migrate, open_engine
from storage.private_files import narrow, narrow_tree, open_plain, private_directory


@pytest.fixture(autouse=True)
def _generous():
    """As most machines are: what is made is readable by all."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_every_directory_that_is_made_is_ours_and_those_that_were_there_stay(tmp_path):
    tmp_path.chmod(0o755)
    made = private_directory(tmp_path / "a" / "b")

    assert [mode(path) for path in (made, made.parent, tmp_path)] == [0o700, 0o700, 0o755]


def test_a_directory_that_was_open_is_closed(tmp_path):
    (tmp_path / "state").mkdir()

    assert mode(private_directory(tmp_path / "state")) == 0o700


@pytest.mark.parametrize("wide", [False, True], ids=["new", "made openly before"])
def test_nobody_else_reads_the_database_and_what_lies_beside_it(tmp_path, wide):
    file = tmp_path / "kept" / "signoff.db"
    if wide:
        file.parent.mkdir()
        for end in ("", "-wal", "-shm"):
            file.with_name(file.name + end).touch(0o644)
    engine = open_engine(f"sqlite:///{file}")
    migrate(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")

        assert {path.name: mode(path) for path in file.parent.iterdir()} == dict.fromkeys(
            ("signoff.db", "signoff.db-wal", "signoff.db-shm"), 0o600
        )
    engine.dispose()


@pytest.mark.parametrize("wide", [False, True], ids=["new", "made openly before"])
def test_nobody_else_reads_the_checkpoints(lite, tmp_path, wide):
    file = tmp_path / "kept" / "checkpoints.jsonl"
    if wide:
        file.parent.mkdir()
        file.touch(0o644)
    checkpoint(lite.engine, file, wall())

    assert mode(file) == 0o600


def test_what_an_earlier_release_left_open_is_closed_and_links_are_left_alone(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "attempts" / "plan-1" / "run.sh"
    outside.touch(0o644)
    inside.parent.mkdir(parents=True)
    inside.touch(0o755)
    (inside.parent / "link").symlink_to(outside)
    narrow_tree(tmp_path / "attempts")

    assert [mode(path) for path in (inside, inside.parent, outside)] == [0o700, 0o700, 0o644]


def test_what_is_not_there_needs_no_narrowing(tmp_path, caplog):
    narrow(tmp_path / "none")

    assert not caplog.records


def test_what_cannot_be_narrowed_is_said(tmp_path, caplog, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("not yours")

    (tmp_path / "state").mkdir(0o755)
    monkeypatch.setattr(Path, "chmod", refuse)
    narrow(tmp_path / "state")

    assert "others may reach" in caplog.text


def test_reading_leaves_no_handle_open(tmp_path):
    (tmp_path / "log").touch()
    before = len(os.listdir("/proc/self/fd"))
    for name in ("log", "none", "log/in/it"):
        try:
            os.close(open_plain(tmp_path / name, tmp_path))
        except OSError:
            continue

    assert len(os.listdir("/proc/self/fd")) == before
