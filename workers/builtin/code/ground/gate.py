"""The gate before people look: what in a green change a person must see by name. Pure.

The box contains what code does; tests do not judge what it is meant for.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from workers.builtin.code.ground.acceptance import may_change
from workers.builtin.code.ground.git import Change
from workers.builtin.code.ground.powers import new_powers, shadows
from workers.builtin.code.ground.repository import Entry

PYTHON = (".py", ".pyi", ".pyw")
PLAIN = {"000000", "100644"}
NAMES = {"120000": "a symbolic link", "160000": "another repository", "100755": "an executable file"}


@dataclass(frozen=True)
class Text:
    """A changed file as it was and as it would be."""

    path: str
    before: str
    after: str


def flags(
    entry: Entry,
    changes: Sequence[Change],
    lines: Iterable[str],
    paths: Sequence[str],
    *,
    texts: Sequence[Text] = (),
    own: Collection[str] = (),
    judges: Collection[str] = (),
) -> list[str]:
    """Why a person looks at this change alone; none means that it may go with the others.

    `own` are the repository's modules, `judges` the files of tests that decide about any subtask.
    """
    added = [*lines]
    found = (*_shapes(entry, changes, paths, judges), *_powers(texts, own), *_words(entry, added))
    return [*dict.fromkeys([*found, *_size(entry, added)])][:10]


def _powers(texts: Sequence[Text], own: Collection[str]) -> Iterator[str]:
    for one in texts:
        if one.path.endswith(PYTHON):
            yield from new_powers(one.before, one.after, own)


def _shapes(
    entry: Entry, changes: Sequence[Change], paths: Sequence[str], judges: Collection[str]
) -> Iterator[str]:
    for one in changes:
        if not may_change(entry, one.path, paths, judges):
            yield f"{one.path} is outside its paths"
        if one.after not in PLAIN or (one.before not in PLAIN and one.before != one.after):
            yield f"{one.path} becomes {NAMES.get(one.after, f'a file of mode {one.after}')}"
        if one.path.startswith((".github/", ".gitlab", ".ci/")):
            yield f"{one.path} is a workflow"
        if one.kind == "A" and shadows(one.path):
            yield f"{one.path} is called like a part of Python or of its tests"


def _words(entry: Entry, added: Sequence[str]) -> Iterator[str]:
    for line in added:
        if line == "\0binary":
            yield "a binary file"
        plain = unicodedata.normalize("NFKC", line)  # as Python reads it
        yield from (f"“{word.rstrip('(')}”" for word in entry.risky if _said(word, plain))


def _said(word: str, line: str) -> bool:
    """As a word of its own: “environ” does not stand in “environment”."""
    ends = r"(?!\w)" if word[-1:].isalnum() else ""
    return word in line and re.search(rf"(?<!\w){re.escape(word)}{ends}", line) is not None


def _size(entry: Entry, added: Sequence[str]) -> Iterator[str]:
    if len(added) > entry.max_lines:
        yield f"{len(added)} new lines"
