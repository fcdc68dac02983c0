"""The gate before people look: what in a green change a person must see by name. Pure.

The box contains what code does; tests do not judge what it is meant for.
"""

from collections.abc import Iterable, Iterator, Sequence

from workers.builtin.code.ground.acceptance import may_change
from workers.builtin.code.ground.git import Change
from workers.builtin.code.ground.repository import Entry

PLAIN = {"000000", "100644"}
NAMES = {"120000": "a symbolic link", "160000": "another repository", "100755": "an executable file"}


def flags(entry: Entry, changes: Sequence[Change], lines: Iterable[str], paths: Sequence[str]) -> list[str]:
    """Why a person looks at this change alone; none means that it may go with the others."""
    added = [*lines]
    return [*dict.fromkeys([*_shapes(entry, changes, paths), *_words(entry, added), *_size(entry, added)])][
        :10
    ]


def _shapes(entry: Entry, changes: Sequence[Change], paths: Sequence[str]) -> Iterator[str]:
    for one in changes:
        if not may_change(entry, one.path, paths):
            yield f"{one.path} is outside its paths"
        if one.after not in PLAIN or (one.before not in PLAIN and one.before != one.after):
            yield f"{one.path} becomes {NAMES.get(one.after, f'a file of mode {one.after}')}"
        if one.path.startswith((".github/", ".gitlab", ".ci/")):
            yield f"{one.path} is a workflow"


def _words(entry: Entry, added: Sequence[str]) -> Iterator[str]:
    for line in added:
        if line == "\0binary":
            yield "a binary file"
        yield from (f"“{word.rstrip('(')}”" for word in entry.risky if word in line)


def _size(entry: Entry, added: Sequence[str]) -> Iterator[str]:
    if len(added) > entry.max_lines:
        yield f"{len(added)} new lines"
