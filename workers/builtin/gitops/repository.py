"""A branch of a repository: read, one file changed by a commit, pushed. Nothing is checked out or forced."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workers.base import Context, Permanent, Transient
from workers.commands import process
from workers.commands.process import Finished

SECONDS = 300.0
DEPTH = 500  # commits in which a step's own is looked for
LARGEST = 1024 * 1024
CAREFUL = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "init.templateDir=")
PASSING = re.compile(
    r"Could not resolve|Connection|timed out|early EOF|hung up|HTTP 5\d\d|unable to access", re.I
)
REJECTED = re.compile(r"\[(remote )?rejected\]|non-fast-forward|fetch first|cannot lock ref|stale info", re.I)
OURS = "refs/heads/seen"


class Rejected(Exception):
    """Somebody else's commit is newer. Nothing was pushed."""


@dataclass(frozen=True)
class Blob:
    """A file of a commit, as it stands there."""

    mode: str
    text: str


@dataclass
class Repository:
    """One branch, in a bare copy of the step's own."""

    address: str
    branch: str
    ctx: Context
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Sequence[str] = ()

    @property
    def place(self) -> Path:
        return self.ctx.scratch.absolute() / "repository"

    def fetch(self) -> str:
        """The newest commit of the branch."""
        if not (self.place / "HEAD").exists():
            shutil.rmtree(self.place, ignore_errors=True)
            self.place.mkdir()
            self._demand("init", "--quiet", "--bare")
        source = f"+refs/heads/{self.branch}:{OURS}"
        self._demand("fetch", "--quiet", "--no-tags", f"--depth={DEPTH}", "--", self.address, source)
        return self._demand("rev-parse", OURS)

    def commit_of(self, key: str) -> str:
        """The commit that the step with this key made; "" when the branch has none."""
        named = self._demand("log", "--format=%H", "-F", f"--grep={trailer(key)}", OURS).split()
        told = "--format=%(trailers:key=Signoff-Key,valueonly)"
        return next((one for one in named if self._demand("log", "-n1", told, one) == key), "")

    def parent(self, commit: str) -> str:
        return self._demand("rev-parse", f"{commit}^")

    def read(self, commit: str, file: str) -> Blob:
        """The file's own bytes: no filter, no link that leads elsewhere."""
        listed = self._demand("ls-tree", "--full-tree", commit, "--", file)
        found = re.fullmatch(r"(100644|100755) blob ([0-9a-f]+)\t.*", listed)
        if found is None:
            raise Permanent(f"{self.address} has no file {file} on {self.branch}. Nothing was changed.")
        name = self._demand("unpack-file", found[2])
        path = self.place / name
        try:
            if path.stat().st_size > LARGEST:
                raise Permanent(f"{file} is too large to be edited here. Nothing was changed.")
            return Blob(found[1], path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            raise Permanent(f"{file} is no text in UTF-8. Nothing was changed.") from None
        finally:
            path.unlink(missing_ok=True)

    def commit(self, parent: str, file: str, blob: Blob, message: str, author: str) -> str:
        """A commit on top of this one that changes only that file; nobody sees it before it is pushed."""
        scratch, name, mail = self.ctx.scratch.absolute(), *author.rstrip(">").split(" <")
        (scratch / "content").write_bytes(blob.text.encode("utf-8"))
        (scratch / "message").write_text(message, encoding="utf-8")
        (scratch / "index").unlink(missing_ok=True)
        index = {"GIT_INDEX_FILE": str(scratch / "index")}
        written = self._demand("hash-object", "-w", "--no-filters", "--", str(scratch / "content"))
        self._demand("read-tree", parent, env=index)
        self._demand("update-index", "--add", "--cacheinfo", f"{blob.mode},{written},{file}", env=index)
        tree = self._demand("write-tree", env=index)
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", name), ("EMAIL", mail))}  # fmt: skip
        return self._demand("commit-tree", tree, "-p", parent, "-F", str(scratch / "message"), env=who)

    def push(self, commit: str) -> None:
        """Ordinarily: a branch that has moved on refuses it, and nothing is overwritten."""
        done = self._git("push", "--quiet", "--", self.address, f"{commit}:refs/heads/{self.branch}")
        if done.returncode and REJECTED.search(done.text()):
            raise Rejected
        self._check(done, "push")

    def _demand(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        done = self._git(*words, env=env)
        self._check(done, words[0])
        return done.text().strip()

    def _git(self, *words: str, env: Mapping[str, str] | None = None) -> Finished:
        fixed = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh", "LC_ALL": "C"}
        given = {**self.env, **(env or {}), **fixed}
        return process.run(
            ["git", *CAREFUL, *words], cwd=self.place, env=given, timeout=SECONDS,
            scratch=self.ctx.scratch, key=self.ctx.key, cancelled=self.ctx.cancelled, secrets=self.secrets,
        )  # fmt: skip

    def _check(self, done: Finished, word: str) -> None:
        if done.returncode == 0:
            return
        lines = [line for line in done.text().splitlines() if line.strip()] or ["it printed nothing"]
        told = next((line for line in lines if line.startswith(("fatal:", "error:", "remote:"))), lines[-1])
        cause = f"git {done.broken_off()}" if done.broken_off() else told
        kind = Transient if PASSING.search(done.text()) or done.timed_out else Permanent
        raise kind(f"git {word} of {self.address} did not work: {cause[:300]}")


def trailer(key: str) -> str:
    return f"Signoff-Key: {key}"
