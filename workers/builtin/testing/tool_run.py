"""One run of a suite's tool: in a home of its own, with what it reported, and once more for what failed."""

import shutil
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

from workers.base import Context
from workers.builtin.testing.reports import LARGEST
from workers.builtin.testing.results import Found, merge
from workers.builtin.testing.suites import GRACES, Suite
from workers.builtin.testing.tools import Tool
from workers.commands import process
from workers.commands.output import Mask, mask_of
from workers.commands.process import Finished

KEPT = 20  # report files that become artefacts


@dataclass(frozen=True)
class Site:
    """Where and with what a suite runs; `ends` is when the last of it must be over."""

    suite: Suite
    directory: Path
    commit: str
    environment: str
    env: dict[str, str] = field(repr=False)
    secrets: list[str] = field(repr=False)
    ends: float

    def where(self) -> str:
        return f"on {self.environment}" + (f" at {self.commit[:12]}" if self.commit else "")

    def fit(self, text: str) -> str:
        """Without secrets, and with places as they are called inside the project."""
        return mask_of(self.secrets).text(text).replace(f"{self.directory.absolute()}/", "")


@dataclass(frozen=True)
class ToolRun:
    """What one run of the tool left: how it ended, what it found, and files worth keeping."""

    done: Finished
    found: Found | None
    tool: Tool
    files: tuple[str, ...]


def run_once(site: Site, ctx: Context, failed: ToolRun | None = None) -> ToolRun:
    """Run the suite, or what failed of it."""
    tool, scratch = site.suite.new_tool(), ctx.scratch.absolute() / ("again" if failed else "")
    own = ctx.scratch.absolute() / f"report{'-again' if failed else ''}.{tool.suffix}"
    _clear(site, own)
    words = tool.words(site.suite.command, own, reruns=bool(site.suite.reruns))
    if failed and failed.found:
        words = tool.again(words, failed.found.bad())
    done = _run(words, site, tool, scratch, ctx)
    files = _files(site, own)
    kept = _keep(files, own, scratch, mask_of(site.secrets))
    return ToolRun(done, tool.found(files, done), tool, (str(done.log), *kept))


def run_again(site: Site, first: ToolRun, ctx: Context) -> ToolRun | None:
    """What failed, once more, if the suite asks for it and the first run came to its own end."""
    bad = first.found.bad() if first.found else []
    if not site.suite.reruns or not bad or first.done.broken_off():
        return None
    ctx.progress(f"{len(bad)} failed; running them again")
    return run_once(site, ctx, first)


def settle(first: ToolRun, again: ToolRun | None) -> ToolRun:
    """Both runs as one; a second run that broke off proves nothing."""
    if again is None or again.found is None or first.found is None or again.done.broken_off():
        return first
    return ToolRun(again.done, merge(first.found, again.found), again.tool, again.files)


def _run(words: list[str], site: Site, tool: Tool, scratch: Path, ctx: Context) -> Finished:
    own = {name: scratch / name.lower() for name in ("HOME", "TMPDIR")}
    scratch.mkdir(mode=0o700, exist_ok=True)
    for place in own.values():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(mode=0o700)
    told = [""]

    def tell(line: str) -> None:
        if (text := tool.hear(line)) and text != told[0]:
            told[0] = text
            ctx.progress(text)

    return process.run(
        words,
        cwd=site.directory,
        env={name: str(place) for name, place in own.items()} | site.env,
        timeout=max(1.0, min(site.suite.timeout, site.ends - time.monotonic())),
        scratch=scratch,
        key=ctx.key,
        cancelled=ctx.cancelled,
        on_line=tell,
        graces=GRACES,
        silence=site.suite.silence,
        limits=site.suite.limits,
        secrets=site.secrets,
    )


def _clear(site: Site, own: Path) -> None:
    """A crash must not show an earlier result."""
    for file in _files(site, own):
        file.unlink()


def _files(site: Site, own: Path) -> list[Path]:
    found = sorted(site.directory.glob(site.suite.report)) if site.suite.report else [own]
    return [file for file in found if file.is_file()]


def _keep(files: list[Path], own: Path, scratch: Path, mask: Mask) -> list[str]:
    """Copies without secrets, where they stay: the tool's own place may be gone with the checkout."""
    kept = []
    for number, file in enumerate(files[:KEPT], start=1):
        facts = file.lstat()  # a link could lead to what no test may show
        if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1 and facts.st_size <= LARGEST:
            target = file if file == own else scratch / f"{number}-{file.name}"
            target.write_bytes(mask.hide(file.read_bytes()))
            kept.append(str(target))
    return kept
