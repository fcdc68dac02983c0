"""No damage passes for a backup: not while it is made, not while it lies there, not when it is restored."""

import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.backup_site import (
    Damage,
    act,
    back_up,
    context,
    empty,
    flip_a_bit,
    garble,
    good_backups,
    instead_of,
    make_shop,
    truncate,
)
from workers.base import Permanent
from workers.builtin.backup.directory import BackupDirectory, Manifest, checksum
from workers.builtin.backup.dumps import Contents, Damaged, Scope, compare, compare_counts
from workers.builtin.backup.pg_client import Client
from workers.builtin.backup.postgres import Postgres
from workers.builtin.backup.sqlite import Sqlite, read

pytestmark = pytest.mark.postgres
# Each, run in pg_restore's place, damages the file that is being written, after reading it in earnest.
SCRIPTS = {
    "truncated": "f.truncate(os.path.getsize(path) // 2)",
    "garbled": 'f.seek(os.path.getsize(path) // 2); f.write(b"noise" * 13)',
    "one bit": "f.seek(99); bit = f.read(1)[0] ^ 1; f.seek(99); f.write(bytes([bit]))",
    "longer": 'f.seek(0, 2); f.write(b"more")',
    "removed": "os.remove(path)",
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_damage_before_the_backup_gets_its_name_is_noticed(
    billing: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    damage = tmp_path / "damage.py"
    damage.write_text(f"import os, sys\npath = sys.argv[1]\nwith open(path, 'r+b') as f:\n    {script}\n")
    files = f"{billing['directory']}/*.partial"
    call = f'"$REAL" "$@"; code=$?; [ "$1" = -f ] && python3 {damage} {files}; exit $code'
    instead_of("pg_restore", tmp_path, call, monkeypatch)

    with pytest.raises(Permanent, match=r"NOT backed up|No backup was made"):
        back_up(billing, context(tmp_path))
    assert not list(Path(billing["directory"]).iterdir())


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('"$REAL" "$@" | head -c 300000', "pg_restore says: .*end of file"),
        ('"$REAL" "$@" --exclude-table=orders', "lacks 1 tables and the rows of 1"),
        ('"$REAL" "$@" --exclude-table-data=orders', "lacks 0 tables and the rows of 1"),
        ("exit 0", "pg_restore says: "),
    ],
    ids=["cut off", "a table is missing", "the rows of a table are missing", "nothing"],
)
def test_a_dump_that_calls_itself_done_and_is_not_is_noticed(
    billing: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    instead_of("pg_dump", tmp_path, script, monkeypatch)

    with pytest.raises(Permanent, match=rf"shop was NOT backed up, the copy failed its check: .*{reason}"):
        back_up(billing, context(tmp_path))
    assert not list(Path(billing["directory"]).iterdir())


def encoded(tool: str) -> Callable[[Path], None]:
    """Make of our file one in another encoding, with its manifest, as if it had been made so."""

    def encode(path: Path) -> None:
        raw = subprocess.run(["gunzip", "-c", path], capture_output=True, check=True).stdout
        # Where the tool is missing the bare dump stands for it: neither has a checksum of its own.
        words = [tool, "-c"] if tool and shutil.which(tool) else ["cat"]
        path.write_bytes(subprocess.run(words, input=raw, capture_output=True, check=True).stdout)
        manifest = Manifest.model_validate_json(Path(f"{path}.json").read_bytes())
        changes = {"bytes": path.stat().st_size, "sha256": checksum(path)}
        made = manifest.model_copy(update={"data": manifest.data.model_copy(update=changes)})
        Path(f"{path}.json").write_text(made.model_dump_json())

    return encode


SEVEN: dict[str, list[Damage]] = {
    "truncated to half": [truncate],
    "64 bytes garbled": [garble],
    "a data file is missing": [Path.unlink],
    "one bit in gzip": [flip_a_bit],
    "one bit in zstd": [encoded("zstd"), flip_a_bit],
    "one bit in lz4": [encoded("lz4"), flip_a_bit],
    "one bit without compression": [encoded(""), flip_a_bit],
}


@pytest.mark.parametrize("damages", SEVEN.values(), ids=SEVEN)
def test_each_of_the_seven_damages_is_noticed_later(
    billing: dict[str, Any], tmp_path: Path, damages: list[Damage]
) -> None:
    made = back_up(billing, context(tmp_path)).data
    path = Path(made.path)
    *before, damage = damages
    for step in before:
        step(path)
    whole = act("list_backups", billing, context(tmp_path), check=True).data
    damage(path)

    listed = act("list_backups", billing, context(tmp_path), check=True).data
    assert (whole.damaged, whole.newest) == (0, path.name)
    assert listed.newest == ""
    assert [found.sound for found in listed.backups] == ([] if damage is Path.unlink else [False])
    with pytest.raises(Permanent, match=r"shop was NOT restored|has no backup"):
        act("restore_database", billing, context(tmp_path), backup=path.name)
    assert BackupDirectory(path.parent, "shop").find("plan-1/step-2") is None


def test_rows_that_a_restore_does_not_bring_back_are_named(url: str, tmp_path: Path) -> None:
    client = Client("BILLING_URL", url, context(tmp_path))
    source, copy = Postgres(client, client), tmp_path / "copy"
    copy.touch()
    counts = source.copy(copy, Scope(), count=True).counts or {}
    source.rehearse(copy, Scope(), counts, "0123456789ab")

    with pytest.raises(Damaged, match=r"public\.orders has 20000 rows instead of 20001"):
        source.rehearse(copy, Scope(), counts | {"public.orders": 20001}, "0123456789ab")
    with psycopg.connect(url) as connection:
        left = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'signoff%'").fetchall()
    assert left == []


@pytest.mark.parametrize("damage", [truncate, garble, empty])
def test_a_damaged_sqlite_copy_is_noticed(tmp_path: Path, damage: Damage) -> None:
    shop, copy = make_shop(tmp_path), tmp_path / "copy"
    Sqlite(Path(shop["path"]), context(tmp_path)).copy(copy, Scope(), count=False)
    wanted = read(copy, with_rows=True)
    damage(copy)

    with pytest.raises(Damaged):
        compare(wanted, read(copy, with_rows=True))


def test_an_sqlite_backup_that_lost_rows_does_not_pass_its_rehearsal(tmp_path: Path) -> None:
    shop, copy = make_shop(tmp_path), tmp_path / "copy"
    source = Sqlite(Path(shop["path"]), context(tmp_path))
    counts = source.copy(copy, Scope(), count=True).counts or {}
    source.rehearse(copy, Scope(), counts, "tag")
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("DELETE FROM orders WHERE id = 7")
        connection.commit()

    with pytest.raises(Damaged, match="orders has 1999 rows instead of 2000"):
        source.rehearse(copy, Scope(), counts, "tag")


def test_a_copy_that_lacks_a_table_or_a_row_is_damaged() -> None:
    wanted = Contents(frozenset({"a", "b"}), {"a": 3, "b": None})

    compare(wanted, wanted)
    with pytest.raises(Damaged, match="lacks 1 tables and the rows of 1"):
        compare(wanted, Contents(frozenset({"a"}), {"a": 3}))
    with pytest.raises(Damaged, match="lacks 0 tables and the rows of 1"):
        compare(wanted, Contents(frozenset({"a", "b"}), {"a": 2, "b": None}))
    with pytest.raises(Damaged, match=r"a has no rows instead of 1; b .*; c .* and 2 more"):
        compare_counts(dict.fromkeys("abcde", 1), {})


def test_a_damaged_backup_is_made_again_under_the_same_key(billing: dict[str, Any], tmp_path: Path) -> None:
    first = back_up(billing, context(tmp_path)).data
    flip_a_bit(Path(first.path))
    second = back_up(billing, context(tmp_path)).data

    assert good_backups(Path(billing["directory"])) == [Path(second.path)]
    assert checksum(Path(second.path)) == second.sha256
