"""Git by plumbing, in a bare clone of our own: its directory is always said, and nothing of an agent's runs.

An agent's folder holds files and no `.git`. Trees are made in an index file of their own, so that a hundred
agents need no lock but the one that git takes for a ref.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from urllib.parse import quote, unquote
from uuid import uuid4

from workers.base import Context, Permanent, Transient
from workers.builtin.code.ground.repository import Entry
from workers.commands import process
from workers.commands.leftovers import engine
from workers.commands.process import Finished

SECONDS = 300.0
# Nothing that lies in a repository or in a home may run, and what is said to be done is on the disk.
CAREFUL = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.excludesFile=/dev/null",
    "-c",
    "core.autocrlf=false",
    "-c",
    "gc.auto=0",
    "-c",
    "core.filesRefLockTimeout=10000",  # a hundred agents and one list of refs
    "-c",
    "core.packedRefsTimeout=10000",
    "-c",
    "maintenance.auto=false",
    "-c",
    "core.fsync=committed,loose-object,reference",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "diff.external=",
    "-c",
    "core.quotePath=false",
    "-c",
    "init.templateDir=",
)
ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "HOME": "/nonexistent",
    "GIT_ATTR_NOSYSTEM": "1",
}
PASSING = re.compile(
    r"Could not resolve|Connection|timed out|early EOF|hung up|HTTP 5\d\d|\.lock", re.IGNORECASE
)
AUTHOR = ("signoff-agent", "signoff-agent@users.noreply")
_making: dict[str, Lock] = {}


@dataclass(frozen=True)
class Change:
    """One path that differs between two trees, as git tells it."""

    path: str
    before: str  # its mode, 000000 where there is none
    after: str
    blob: str
    kind: str  # A, M, D, T


class Git:
    """The clone of one repository."""

    def __init__(self, entry: Entry, ctx: Context) -> None:
        self.entry, self.ctx = entry, ctx
        self.dir = entry.pool.absolute() / "clone.git"

    def run(
        self,
        *words: str,
        index: Path | None = None,
        tree: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """What git prints; Permanent, or Transient where another try may help, when it fails."""
        done = self.tried(*words, index=index, tree=tree, env=env)
        if done.returncode != 0:
            lines = [line for line in done.text().splitlines() if line.strip()] or ["it printed nothing"]
            told = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
            kind = Transient if PASSING.search(told) or done.timed_out else Permanent
            raise kind(f"git {words[0]} failed: {told[:300]}")
        return done.log.read_text(errors="surrogateescape")  # all of it, with its NULs

    def tried(
        self,
        *words: str,
        index: Path | None = None,
        tree: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        place = {"GIT_DIR": str(self.dir)} | ({"GIT_INDEX_FILE": str(index)} if index else {})
        place |= {"GIT_WORK_TREE": str(tree)} if tree else {}
        return process.run(
            ["git", *CAREFUL, *words],
            cwd=tree or self.entry.pool.absolute(),
            env=ENV | place | {**(env or {})},
            timeout=SECONDS,
            scratch=self.ctx.scratch,
            key=self.ctx.key,
            cancelled=self.ctx.cancelled,
        )

    def ready(self) -> None:
        """The clone, made once."""
        with _making.setdefault(str(self.dir), Lock()):
            if not (self.dir / "HEAD").exists():
                self.entry.pool.mkdir(parents=True, exist_ok=True)
                draft = self.dir.with_name(f"clone-{uuid4().hex}")
                self.run("init", "--quiet", "--bare", str(draft), env={"GIT_DIR": str(draft)})
                try:
                    os.rename(draft, self.dir)
                except OSError:
                    if not (self.dir / "HEAD").exists():
                        raise

    def fetch(self) -> str:
        """The commit that the base branch has where the repository comes from."""
        self.ready()
        ref = f"refs/signoff/base/{uuid4().hex}"
        self.run(
            "fetch", "--quiet", "--no-tags", "--", self.entry.source, f"+refs/heads/{self.entry.base}:{ref}"
        )
        commit = self.run("rev-parse", f"{ref}^{{commit}}").strip()
        self.run("update-ref", "refs/signoff/base/last", commit)
        self.run("update-ref", "-d", ref)
        return commit

    def tip(self, ref: str) -> str:
        """The commit of a ref, or ""."""
        found = self.tried("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        return found.text().strip() if found.returncode == 0 else ""

    def files(self, tree: str) -> dict[str, str]:
        """Every path of a tree, with its mode."""
        listed = self.run("ls-tree", "-r", "-z", "--format=%(objectmode) %(path)", tree)
        return {line[7:]: line[:6] for line in _records(listed)}

    def put(self, tree: str, place: Path) -> None:
        """The files of a tree, in a folder, without any `.git`."""
        place.mkdir(parents=True, exist_ok=True)
        with self.index(tree) as index:
            self.run("checkout-index", "--all", "--force", "--quiet", index=index, tree=place)

    def taken(self, base: str, place: Path) -> str:
        """The tree of what lies in a folder now; ignored files are in it, too."""
        with self.index(base) as index:
            self.run("add", "--all", "--force", "--", ".", index=index, tree=place)
            return self.run("write-tree", index=index).strip()

    def differences(self, before: str, after: str) -> list[Change]:
        told = _records(self.run("diff-tree", "-r", "-z", "--no-renames", before, after))
        metas = [meta for meta in told if meta.startswith(":")]
        paths = [path for path in told if not path.startswith(":")]
        found = [(meta[1:].split(), path) for meta, path in zip(metas, paths, strict=True)]
        return [Change(path, meta[0], meta[1], meta[3], meta[4]) for meta, path in found]

    def composed(self, base: str, changes: Sequence[Change]) -> str:
        """The base's tree with these changes and no others."""
        with self.index(base) as index:
            gone = [change.path for change in changes if change.kind == "D"]
            words = [f"{one.after},{one.blob},{one.path}" for one in changes if one.kind != "D"]
            if words:
                pairs = [word for pair in words for word in ("--cacheinfo", pair)]
                self.run("update-index", "--add", *pairs, index=index)
            if gone:
                self.run("update-index", "--force-remove", "--", *gone, index=index)
            return self.run("write-tree", index=index).strip()

    def commit(self, tree: str, parents: Sequence[str], message: str) -> str:
        when = f"{int(self.ctx.now().timestamp())} +0000"
        env = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in zip(("NAME", "EMAIL", "DATE"), (*AUTHOR, when), strict=True)
        }
        words = [word for parent in parents for word in ("-p", parent)]
        return self.run("commit-tree", tree, *words, "-m", message, env=env).strip()

    def move(self, ref: str, new: str, old: str = "") -> None:
        """Compare and set: another commit there is another's work."""
        self.run("update-ref", ref, new, old or "0" * 40)

    def trailer(self, commit: str, name: str) -> str:
        return self.run("log", "-1", f"--format=%(trailers:key={name},valueonly)", commit).strip()

    def trailers(self, name: str, base: str, tip: str) -> list[str]:
        """The values of a trailer in everything that the tip has, and the base has not."""
        told = self.run("log", f"--format=%(trailers:key={name},valueonly)", f"{base}..{tip}")
        return told.split()

    def text(self, tree: str, path: str) -> str:
        """A file of a tree; "" where there is none, or a text that is no text."""
        found = self.tried("cat-file", "blob", f"{tree}:{path}")
        return found.log.read_text(errors="replace") if found.returncode == 0 else ""

    def forget(self, refs: Sequence[str]) -> None:
        """Take branches of our own away; one that is gone already is no trouble."""
        for ref in refs:
            self.run("update-ref", "--no-deref", "-d", ref)

    @contextmanager
    def index(self, tree: str) -> Iterator[Path]:
        file = self.entry.pool.absolute() / index_name(engine())
        try:
            self.run("read-tree", tree, index=file)
            yield file
        finally:
            file.unlink(missing_ok=True)
            file.with_name(f"{file.name}.lock").unlink(missing_ok=True)


def index_name(whose: str) -> str:
    """Whose it is stands in its name, so that what a dead process left can be told."""
    return f"index-{quote(whose, safe='')}-{uuid4().hex}"


def index_owner(name: str) -> str:
    return unquote(name.removeprefix("index-").rpartition("-")[0])


def _records(text: str) -> list[str]:
    return [part for part in text.rstrip("\n").split("\0") if part]
