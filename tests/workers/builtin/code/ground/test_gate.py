"""What in a green change a person must see by name."""

from pathlib import Path

import pytest

from workers.builtin.code.ground.gate import flags
from workers.builtin.code.ground.git import Change
from workers.builtin.code.ground.repository import Entry

ENTRY = Entry(source="/shop", pool=Path("/pool"), max_lines=5)
PATHS = ["shop"]


def change(path: str = "shop/a.py", before: str = "100644", after: str = "100644") -> Change:
    return Change(path, before, after, "0" * 40, "M")


def test_a_plain_change_goes_with_the_others() -> None:
    assert flags(ENTRY, [change()], ["x = 1"], PATHS) == []


@pytest.mark.parametrize(
    ("changes", "lines", "said"),
    [
        ([change("other/a.py")], [], "other/a.py is outside its paths"),
        ([change(after="120000")], [], "shop/a.py becomes a symbolic link"),
        ([change(after="100755")], [], "shop/a.py becomes an executable file"),
        ([change(after="160000")], [], "shop/a.py becomes another repository"),
        ([change(".github/workflows/x.yml")], [], ".github/workflows/x.yml is a workflow"),
        ([change()], ["import subprocess"], "“subprocess”"),
        ([change()], ["    eval(text)"], "“eval”"),
        ([change()], ["\0binary"], "a binary file"),
        ([change()], ["x = 1"] * 6, "6 new lines"),
    ],
)
def test_what_a_person_must_see(changes: list[Change], lines: list[str], said: str) -> None:
    assert said in flags(ENTRY, changes, lines, PATHS)
