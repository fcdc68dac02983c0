"""What is on the shelf is listed truly; what goes was shown before; the newest good backup never goes."""

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.backup_site import NOW, act, back_up, context, flip_a_bit, good_backups, preview, truncate
from workers.base import Permanent
from workers.builtin.backup.data import BackupParams
from workers.builtin.backup.directory import BackupData, Manifest
from workers.builtin.backup.retention import Keep, expendable


def made(shop: dict[str, Any], tmp_path: Path, days: Iterable[float], **params: Any) -> list[Path]:
    """A backup on each of those days, in that order."""
    return [
        Path(back_up(shop, context(tmp_path, f"day-{day}-{params}", later=day), **params).data.path)
        for day in days
    ]


def manifest(age: timedelta, kind: str = "full") -> Manifest:
    data = BackupData(path="", bytes=1, sha256="", tables=1, verified=True, seconds=0)
    file = Path(f"{kind}-{age}")
    at = NOW - age
    return Manifest.model_validate(
        {"key": "", "database": "shop", "backup_type": kind, "made_at": at, "data": data, "file": file}
    )


def in_days(*numbers: int) -> list[timedelta]:
    return [timedelta(days=number) for number in numbers]


def left(ages: Iterable[timedelta], **keep: int) -> list[timedelta]:
    """The ages of what such a rule keeps."""
    found = [manifest(age) for age in ages]
    gone = expendable(found, Keep(**keep), NOW)
    return sorted(NOW - kept.made_at for kept in found if kept not in gone)


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ({}, [*range(0, 100, 4)]),
        ({"last": 2}, [0, 4]),
        ({"days": 9}, [0, 4, 8]),
        ({"weeks": 3}, [0, 8, 16]),
        ({"months": 2}, [0, 16]),
        ({"last": 1, "weeks": 2, "months": 3}, [0, 8, 16, 48]),
    ],
    ids=str,
)
def test_a_rule_keeps_what_any_of_its_parts_wants(keep: dict[str, int], expected: list[int]) -> None:
    assert left(in_days(*range(0, 100, 4)), **keep) == in_days(*expected)


# A manifest dates its backup to the microsecond: ages closer than that would be one age.
AGES = st.timedeltas(timedelta(), timedelta(days=400))


@given(
    ages=st.lists(AGES, unique=True, min_size=1, max_size=30),
    keep=st.fixed_dictionaries({word: st.integers(0, 5) for word in ("last", "days", "weeks", "months")}),
)
def test_whatever_the_rule_the_newest_stays(ages: list[timedelta], keep: dict[str, int]) -> None:
    kept = left(ages, **keep)

    assert min(ages) in kept
    assert len(kept) >= min(len(ages), keep["last"])


def test_each_kind_of_backup_is_kept_for_itself() -> None:
    kinds = ("schema_only", "full", "full", "schema_only")
    found = [*map(manifest, in_days(0, 1, 2, 3), kinds)]

    assert expendable(found, Keep(last=1), NOW) == [found[3], found[2]]


def test_retention_comes_after_success_and_is_told(shop: dict[str, Any], tmp_path: Path) -> None:
    days = made(shop, tmp_path, range(3))
    report = back_up(shop | {"keep": {"last": 2}}, context(tmp_path, "new", later=3))

    assert good_backups(Path(shop["directory"])) == [days[2], Path(report.data.path)]
    assert report.data.removed == (days[0].name, days[1].name)
    assert report.summary.endswith("; retention removed 2 older backups")
    assert len(list(Path(shop["directory"]).iterdir())) == 4


def test_a_backup_that_fails_removes_nothing(shop: dict[str, Any], tmp_path: Path) -> None:
    days = made(shop, tmp_path, range(3))
    broken = shop | {"keep": {"last": 1}, "path": __file__}

    with pytest.raises(Permanent, match="file is not a database"):
        back_up(broken, context(tmp_path, "new", later=3))
    assert good_backups(Path(shop["directory"])) == days


@pytest.mark.parametrize(
    ("keep", "sentence"),
    [
        (
            {"last": -1},
            r"\[inventory\.databases\.shop\] has a wrong keep\.last: .*greater than or equal to 0",
        ),
        ({"forever": 1}, r"wrong keep\.forever: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_rule_is_a_sentence_before_the_work(
    shop: dict[str, Any], tmp_path: Path, keep: dict[str, int], sentence: str
) -> None:
    with pytest.raises(Permanent, match=sentence):
        back_up(shop | {"keep": keep}, context(tmp_path))
    assert not Path(shop["directory"]).exists()


def test_a_prune_removes_exactly_what_its_preview_showed(shop: dict[str, Any], tmp_path: Path) -> None:
    days = made(shop, tmp_path, range(4))
    shown = preview("prune_backups", shop, context(tmp_path, later=9), keep_last=2)
    report = act("prune_backups", shop, context(tmp_path, later=9), keep_last=2)

    assert shown.basis == [days[0].name, days[1].name] == report.data.removed
    assert shown.text.startswith("Would remove 2 (")
    assert shown.text.endswith(f" and keep 2: {days[0].name}, {days[1].name}")
    assert report.summary.endswith(" freed; 2 kept")
    assert good_backups(Path(shop["directory"])) == days[2:]
    again = preview("prune_backups", shop, context(tmp_path, later=9), keep_last=2)
    assert (again.text, again.basis) == ("Would remove nothing; all 2 stay.", [])


@pytest.mark.parametrize("damage", [truncate, flip_a_bit])
def test_a_damaged_backup_is_not_the_one_that_is_kept(
    shop: dict[str, Any], tmp_path: Path, damage: Any
) -> None:
    days = made(shop, tmp_path, range(4))
    damage(days[3])
    act("prune_backups", shop, context(tmp_path, later=9), keep_last=1)

    assert good_backups(Path(shop["directory"])) == days[2:]


def test_without_a_rule_nothing_can_be_pruned(shop: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="Nothing says which backups of shop may go"):
        act("prune_backups", shop, context(tmp_path))


def test_the_list_says_what_is_there_and_what_is_damaged(shop: dict[str, Any], tmp_path: Path) -> None:
    days = made(shop, tmp_path, range(3))
    made(shop, tmp_path, [9], backup_type="schema_only")
    truncate(days[1])
    flip_a_bit(days[2])
    quick = act("list_backups", shop, context(tmp_path))
    thorough = act("list_backups", shop, context(tmp_path), check=True)

    assert [found.backup_type for found in quick.data.backups] == ["schema_only", "full", "full", "full"]
    assert (quick.data.damaged, thorough.data.damaged) == (1, 2)
    assert quick.summary.endswith(f"; DAMAGED: {days[1].name}")
    assert thorough.summary.startswith("shop has 4 backups, ")


def test_an_empty_shelf_is_said_to_be_empty(shop: dict[str, Any], tmp_path: Path) -> None:
    assert act("list_backups", shop, context(tmp_path)).summary.endswith("; NONE is good")


def test_a_preview_says_how_much_goes_where(shop: dict[str, Any], tmp_path: Path) -> None:
    shown = preview("backup_database", shop, context(tmp_path))

    assert shown.text.startswith("About ")
    assert f" into {tmp_path / 'backups'}, which has " in shown.text
    assert shown.basis is None
    assert not (tmp_path / "backups").exists()


def test_a_backup_of_quite_another_size_is_worth_a_look(shop: dict[str, Any], tmp_path: Path) -> None:
    orders = {"backup_type": "tables", "tables": ("orders",)}
    back_up(shop, context(tmp_path, "one"), **orders)
    same = back_up(shop, context(tmp_path, "two", later=1), **orders)
    with closing(sqlite3.connect(shop["path"])) as connection:
        connection.execute("DELETE FROM orders WHERE id > 5")
        connection.commit()
    less = back_up(shop, context(tmp_path, "three", later=2), **orders)

    assert same.recommendations == ()
    assert "(as large as the last)" in same.summary
    assert less.recommendations[0].startswith("shop: -9")
    assert less.recommendations[0].endswith(" % in size against the last backup. Look why.")


def test_what_old_crashes_left_is_swept(shop: dict[str, Any], tmp_path: Path) -> None:
    directory = Path(shop["directory"])
    directory.mkdir()
    old, young = directory / "shop-1-a.sqlite.partial", directory / "shop-2-b.sqlite.partial"
    alone, other = directory / "shop-1-a.sqlite.json", directory / "shopping-1.partial"
    for file in (old, young, alone, other):
        file.touch()
    for file in (old, alone, other):
        os.utime(file, (time.time() - 90000,) * 2)
    back_up(shop, context(tmp_path))

    assert [file.exists() for file in (old, alone, young, other)] == [False, False, True, True]


@pytest.mark.parametrize("params", [{"backup_type": "tables"}, {"tables": ("orders",)}])
def test_tables_are_named_where_they_are_wanted_and_nowhere_else(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="names the tables of a backup of type tables"):
        BackupParams(database="shop", **params)
