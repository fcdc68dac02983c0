"""What a killed process left in the pool is swept by the next one, and what somebody uses is not."""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.fleet.ground import Ground
from tests.support.scratch import context
from workers.builtin.code.ground.git import index_name, index_owner
from workers.builtin.code.ground.places import MARK, place_of, sweep_places
from workers.commands.leftovers import engine

pytestmark = pytest.mark.fleet
WHO = "from workers.commands.leftovers import engine; print(engine())"


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    ground = Ground(tmp_path)
    (tmp_path / "pool").mkdir()
    return ground.entry.pool


def left(pool: Path, whose: str, *, seconds: float = 0.0) -> Path:
    file = pool / index_name(whose)
    file.write_bytes(b"DIRC")
    os.utime(file, (time.time() - seconds,) * 2)
    return file


def test_the_owner_of_an_index_stands_in_its_name() -> None:
    assert index_owner(index_name(engine())) == engine()
    assert index_owner(f"{index_name(engine())}.lock") == engine()


def test_an_index_goes_with_its_process(tmp_path: Path, pool: Path) -> None:
    said = subprocess.run([sys.executable, "-c", WHO], capture_output=True, text=True, check=True).stdout
    dead, ours = left(pool, said.strip()), left(pool, engine())

    sweep_places(Ground(tmp_path).entry)

    assert not dead.exists()
    assert ours.exists()


def test_an_index_of_another_container_goes_when_it_is_old(tmp_path: Path, pool: Path) -> None:
    young, old = left(pool, "pid:[1] 7 8"), left(pool, "pid:[1] 7 8", seconds=3600)

    sweep_places(Ground(tmp_path).entry)

    assert young.exists()
    assert not old.exists()


def test_who_is_killed_while_it_clears_a_folder_leaves_one_that_is_swept(
    tmp_path: Path, pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Ground(tmp_path).entry
    rmtree = shutil.rmtree

    def killed(path: Path, **_: object) -> None:
        """In the middle of a folder: as much as was done is done."""
        for child in path.iterdir():
            rmtree(child) if child.is_dir() else child.unlink()
            raise KeyboardInterrupt

    def works() -> None:
        with place_of(entry, context(tmp_path)) as home:
            for name in ("judged", "draft"):
                (home / name / "tests").mkdir(parents=True)
            said = subprocess.run([sys.executable, "-c", WHO], capture_output=True, text=True, check=True)
            (home / MARK).write_text(said.stdout.strip())
            monkeypatch.setattr(shutil, "rmtree", killed)

    with pytest.raises(KeyboardInterrupt):
        works()
    monkeypatch.setattr(shutil, "rmtree", rmtree)

    assert [*(pool / "work").glob("*")]
    assert sweep_places(entry) == 1
    assert not [*(pool / "work").glob("*")]


def test_a_folder_that_nobody_has_marked_goes_when_it_is_old(tmp_path: Path, pool: Path) -> None:
    young, old = pool / "work" / "young", pool / "work" / "old"
    for home in (young, old):
        home.mkdir(parents=True)
    os.utime(old, (time.time() - 3600,) * 2)

    assert sweep_places(Ground(tmp_path).entry) == 1
    assert young.exists()


def test_many_clear_what_a_dead_one_left_at_once(tmp_path: Path, pool: Path) -> None:
    entry = Ground(tmp_path).entry
    said = subprocess.run([sys.executable, "-c", WHO], capture_output=True, text=True, check=True).stdout
    for number in range(200):
        home = pool / "work" / f"dead{number}"
        (home / "judged" / "tests").mkdir(parents=True)
        (home / MARK).write_text(said.strip())

    with ThreadPoolExecutor(16) as threads:
        swept = [threads.submit(sweep_places, entry) for _ in range(16)]

    assert all(one.result() >= 0 for one in swept)
    assert not [*(pool / "work").glob("*")]
