"""One process of a kind per SQLite file, by whatever name it is opened."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from storage.database.engine import open_engine
from storage.database.only_one import only_one
from storage.errors import BadConfig


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.db").symlink_to(tmp_path / "signoff.db")
    return tmp_path


@pytest.mark.parametrize("name", ["signoff.db", "./signoff.db", "link.db", "{place}/signoff.db"])
def test_a_second_one_is_told_whom_to_stop_and_comes_in_afterwards(place: Path, name: str) -> None:
    first = open_engine(f"sqlite:///{place / 'signoff.db'}")
    second = open_engine(f"sqlite:///{name.format(place=place)}")
    with (
        only_one(first, "bot"),
        pytest.raises(BadConfig, match=rf"Another bot process uses {place}/signoff.db already\. Stop it"),
        only_one(second, "bot"),
    ):
        pass

    with only_one(second, "bot"):
        assert (place / "signoff.db.bot.lock").stat().st_mode & 0o777 == 0o600


def test_the_siblings_another_file_and_what_is_no_file_are_not_kept_away(place: Path) -> None:
    ours, other = open_engine("sqlite:///signoff.db"), open_engine("sqlite:///other.db")
    with ExitStack() as stack:
        for engine, kind in [(ours, "bot"), (ours, "workers"), (other, "bot")]:
            stack.enter_context(only_one(engine, kind))
        for _ in range(2):
            stack.enter_context(only_one(open_engine("sqlite://"), "bot"))
            stack.enter_context(only_one(open_engine("postgresql://u@127.0.0.1:1/d"), "bot"))
        assert {path.name for path in place.glob("*.lock")} == {
            "signoff.db.bot.lock", "signoff.db.workers.lock", "other.db.bot.lock",
        }  # fmt: skip
