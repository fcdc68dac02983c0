"""code: looks at a repository, cuts a goal into subtasks, integrates what was drafted."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from workers.base import (
    Context,
    Params,
    Permanent,
    Preview,
    Report,
    Worker,
    action,
    check,
    fingerprint,
)
from workers.builtin.code.ground import model, subtasks
from workers.builtin.code.ground.acceptance import judge, may_change
from workers.builtin.code.ground.git import Git
from workers.builtin.code.ground.places import place_of, sweep_locks
from workers.builtin.code.ground.queue import Drafted, Landed, land
from workers.builtin.code.ground.refs import draft_ref, integrated
from workers.builtin.code.ground.repository import Entry, Repository, entry_of
from workers.builtin.code.ground.subtasks import MOST, Work
from workers.builtin.code.reading.concluding import Conclusion, clear, concluded
from workers.builtin.code.reading.decomposing import decomposed
from workers.commands import box

Item = Annotated[int, Field(ge=0, lt=MOST)]
SHOWN = 400  # files that an outline names
EXCERPT = 2500  # characters of the difference that stand beside Approve; all of it is in the repository


class ExploreParams(Params):
    repository: Repository


class ExploreData(BaseModel):
    commit: str
    files: int
    outline: str


class DecomposeParams(Params):
    """`plan` names a file of subtasks in the repository's `subtasks` folder; without one, a model cuts."""

    repository: Repository
    goal: str = Field(max_length=2000)
    outline: str = Field(default="", max_length=20_000, json_schema_extra={"from_output": True})
    plan: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{0,60}$")] = ""
    most: int = Field(default=50, ge=1, le=MOST)


class DecomposeData(BaseModel):
    """`items` is the file that change steps are pointed to."""

    items: str
    hash: str
    base: str
    count: int
    titles: list[str]
    needs: list[list[int]]
    model: str = ""
    usd: float = 0.0


class IntegrateParams(Params):
    """Which drafts, in which order; `work` is the file they were cut in, `drafts` names their commits."""

    repository: Repository
    work: str = Field(max_length=500, json_schema_extra={"from_output": True})
    items: tuple[Item, ...] = Field(min_length=1, max_length=MOST)
    drafts: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


class IntegrateData(BaseModel):
    commit: str
    landed: int
    left: list[str]
    titles: list[str]
    suite_runs: int


class ConcludeParams(Params):
    """Whose end is told; `work` is the file that the epic was cut in."""

    repository: Repository
    work: str = Field(max_length=500, json_schema_extra={"from_output": True})


class ConcludeData(BaseModel):
    """`text` answers the goal: what landed, what did not and why."""

    landed: int
    left: int
    commit: str
    text: str


class Code(Worker):
    """Looks at repositories, cuts goals into subtasks, and integrates what agents have drafted."""

    name = "code"

    @action(changes=False, repeat="safe", timeout=600, typical=10, says="*Explore* {repository}")
    def explore(self, params: ExploreParams, ctx: Context) -> Report[ExploreData]:
        """Lists what a repository holds: files, kinds, tests."""
        git = self._git(params.repository, ctx)
        commit = git.fetch()
        files = [*git.files(commit)]
        data = ExploreData(commit=commit, files=len(files), outline=_outline(files))
        return Report[ExploreData].ok(f"{params.repository} has {len(files)} files at {commit[:8]}", data)

    @explore.preview
    def _box(self, params: ExploreParams, ctx: Context) -> Preview:
        """Where agents would work, said before anybody approves that they do."""
        return Preview(f"Agents work {box.said()}.", {"box": box.kind()}, (box.brief(),))

    @action(
        changes=False,
        repeat="safe",
        timeout=600,
        typical=60,
        says="*Cut up* {goal} for {repository}[, by the plan {plan}]",
    )
    def decompose(self, params: DecomposeParams, ctx: Context) -> Report[DecomposeData]:
        """Cuts a goal into subtasks, each with the paths it may change and the tests that decide."""
        git = self._git(params.repository, ctx)
        base, entry = git.fetch(), git.entry
        found, by, usd = self._cut(params, entry, base, git)
        _check_fit(found, git)
        file, digest = subtasks.write(found, ctx.scratch)
        titles = [item.title for item in found.items]
        data = DecomposeData(
            items=file,
            hash=digest,
            base=base,
            count=len(titles),
            titles=titles,
            model=by,
            usd=usd,
            needs=subtasks.needs_of(found.items),
        )
        how = f"by {by}" if by else f"from the plan {params.plan}"
        return Report[DecomposeData].ok(f"{len(titles)} subtasks, {how}", data)

    @action(
        changes=True,
        repeat="safe",
        timeout=3600,
        typical=120,
        target="repository:{repository}",
        says="*Integrate* {repository} drafts {items}",
        criteria={"all_landed": (check("left", "eq", []),)},
        leaves="drafts {items} of {repository} are integrated",
    )
    def integrate(self, params: IntegrateParams, ctx: Context) -> Report[IntegrateData]:
        """Merges drafts in their order, tests them together, and puts them on the plan's own branch."""
        git = self._git(params.repository, ctx)
        ref, before = integrated(ctx.plan), git.tip(integrated(ctx.plan))
        if before and git.trailer(before, "Signoff-Integration") == ctx.key:
            return _told(self._summary(git, before))
        done = self._queue(params, git, before, ctx)
        if not done.landed:
            return Report[IntegrateData].failed(
                f"nothing could be integrated: {_why(done)}", _data(done, before)
            )
        tip = git.commit(done.tree, [done.tip], _message(done, ctx))
        git.move(ref, tip, before)
        # What is integrated needs no branch of its own.
        git.forget([draft_ref(ctx.plan, git.trailer(one.commit, "Signoff-Step")) for one in done.landed])
        return _told(_data(done, tip))

    @integrate.preview
    def _preview(self, params: IntegrateParams, ctx: Context) -> Preview:
        git = self._git(params.repository, ctx)
        source, before = git.fetch(), git.tip(integrated(ctx.plan))
        done = self._queue(params, git, before, ctx)
        start = before or self._work(params, ctx).base
        stat = _brief(git.run("diff", "--shortstat", start, done.tree))
        diff = git.run("diff", "--no-ext-diff", "--no-textconv", "--no-color", start, done.tree)
        left = [f"left out: “{one.title}”: {why}" for one, why in done.left]
        text = "\n".join([stat, *(f"“{one.title}”" for one in done.landed), *left, diff[:EXCERPT]])
        found = (f"{len(done.landed)} of {len(params.items)} go together", "tests pass", stat)
        found = found if not left else (f"!{len(left)} left out", *found[:2])
        moved = (
            ""
            if source == self._work(params, ctx).base
            else f"\n{git.entry.base} has moved since; it is not merged here."
        )
        # What it changes itself: an earlier integration of the same plan moves the tip, and nothing of this.
        change = fingerprint(git.run("diff-tree", "-r", "--raw", "--no-renames", start, done.tree))
        return Preview(text + moved, {"source": source, "change": change, "left": len(left)}, found[:3])

    @action(changes=False, repeat="safe", timeout=600, typical=5, says="*Sum up* what landed in {repository}")
    def conclude(self, params: ConcludeParams, ctx: Context) -> Report[ConcludeData]:
        """Says what of an epic landed and what did not; drafts that nobody wanted are cleared away."""
        git = self._git(params.repository, ctx)
        work = subtasks.read(params.work, ctx.place.parents[1], params.repository)
        found = concluded(git, work, ctx.plan)
        clear(git, work, ctx.plan)
        return Report[ConcludeData].ok(_first_line(found), _ended(found))

    def needs(self) -> Iterator[tuple[str, Callable[[], object]]]:
        yield "the box of coding agents", box.demand

    def _git(self, name: str, ctx: Context) -> Git:
        git = Git(entry_of(name, self.entry("repositories", name)), ctx)
        git.ready()
        sweep_locks(git.dir)
        return git

    def _work(self, params: IntegrateParams, ctx: Context) -> Work:
        return subtasks.read(params.work, ctx.place.parents[1], params.repository)

    def _cut(self, params: DecomposeParams, entry: Entry, base: str, git: Git) -> tuple[Work, str, float]:
        if params.plan:
            return subtasks.read_plan(_plan(entry, params.plan), params.repository, base), "", 0.0
        if not model.has_key(entry):
            raise Permanent(
                f"Without a model, say which plan of subtasks is meant; there are: {_plans(entry)}."
            )
        return decomposed(
            params.goal,
            params.outline or _outline([*git.files(base)]),
            params.repository,
            base,
            entry,
            params.most,
        )

    def _queue(self, params: IntegrateParams, git: Git, before: str, ctx: Context) -> Landed:
        box.demand()
        work = self._work(params, ctx)
        commits = [git.tip(draft_ref(ctx.plan, f"change-{number}")) for number in params.items]
        if fingerprint([*commits])[:16] != params.drafts:
            raise Permanent("A draft is not the one that was proposed. Nothing was integrated.")
        waiting = [
            _drafted(git, work, n, commit, ctx) for n, commit in zip(params.items, commits, strict=True)
        ]
        with place_of(git.entry, ctx) as home:
            whole = judge(git, work.base, (), home).green

            def tested(tree: str, landed: Sequence[Drafted]) -> bool:
                named = [*dict.fromkeys(test for one in landed for test in one.tests)]
                return judge(git, tree, () if whole else named, home).green

            return land(git, before or work.base, waiting, tested, f"Signoff-Plan: {ctx.plan}")

    def _summary(self, git: Git, tip: str) -> IntegrateData:
        count, (titles, left) = (
            git.trailer(tip, "Signoff-Count"),
            (git.trailer(tip, f"Signoff-{name}").splitlines() for name in ("Title", "Left")),
        )
        return IntegrateData(commit=tip, landed=int(count or 0), left=left, titles=titles, suite_runs=0)


def _message(done: Landed, ctx: Context) -> str:
    """With all that a report says, for an attempt that was killed before it could."""
    data = _data(done, "")
    trailers = [f"Signoff-Integration: {ctx.key}", f"Signoff-Count: {len(done.landed)}"]
    trailers += [f"Signoff-Title: {title}" for title in data.titles]
    trailers += [f"Signoff-Left: {' '.join(left.split())}" for left in data.left]
    return f"Integrate {len(done.landed)} drafts of plan {ctx.plan}\n\n" + "\n".join(trailers)


def _brief(told: str) -> str:
    """“6 files changed, 30 insertions(+), 6 deletions(-)” in a few characters."""
    found = {word[0]: number for number, word in re.findall(r"(\d+) (files?|insertions?|deletions?)", told)}
    return f"+{found.get('i', 0)} −{found.get('d', 0)} in {found.get('f', 0)} files"


def _drafted(git: Git, work: Work, number: int, commit: str, ctx: Context) -> Drafted:
    """Only what an agent of this plan drafted, on the work's own base."""
    item = work.item(number)
    known = git.tip(commit)
    if not known or git.trailer(commit, "Signoff-Plan") != str(ctx.plan):
        raise Permanent(f"{commit[:8]} is no draft of this plan. Nothing was integrated.")
    if git.run("rev-parse", f"{commit}^").strip() != work.base:
        raise Permanent(f"{commit[:8]} was drafted on another commit. Nothing was integrated.")
    return Drafted(commit, item.title, git.trailer(commit, "Signoff-Key"), item.tests)


def _check_fit(work: Work, git: Git) -> None:
    """Paths that may be changed, tests that are there: what is badly cut costs nothing yet."""
    known = git.files(work.base)
    for number, item in enumerate(work.items):
        for path in item.paths:
            if not may_change(git.entry, path, item.paths, work.judges()):
                raise Permanent(f"Subtask {number} would change {path}, which is protected or not allowed.")
        for test in item.tests:
            if test.partition("::")[0] not in known:
                raise Permanent(f"Subtask {number} is judged by {test}, which is not there.")


def _outline(files: Sequence[str]) -> str:
    kinds = Counter(PurePosixPath(file).suffix or "(none)" for file in files)
    said = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(8))
    return "\n".join(
        [said, *files[:SHOWN], *([f"… {len(files) - SHOWN} more"] if len(files) > SHOWN else [])]
    )[:20_000]


def _plan(entry: Entry, name: str) -> str:
    folder = entry.subtasks or Path("/nonexistent")
    file = folder / f"{name}.json"
    if not file.is_file():
        raise Permanent(f"There is no plan of subtasks '{name}'; there are: {_plans(entry)}.")
    return file.read_text()


def _plans(entry: Entry) -> str:
    found = sorted(one.stem for one in entry.subtasks.glob("*.json")) if entry.subtasks else []
    return ", ".join(found) or "none"


def _data(done: Landed, tip: str) -> IntegrateData:
    left = [f"“{one.title}”: {why}" for one, why in done.left]
    titles = [one.title for one in done.landed]
    return IntegrateData(commit=tip, landed=len(titles), left=left, titles=titles, suite_runs=done.runs)


def _told(data: IntegrateData) -> Report[IntegrateData]:
    left = f"; left out: {'; '.join(data.left)}" if data.left else ""
    return Report[IntegrateData].ok(f"{data.landed} drafts integrated at {data.commit[:8]}{left}", data)


def _ended(found: Conclusion) -> ConcludeData:
    return ConcludeData(
        landed=len(found.landed), left=len(found.left), commit=found.tip, text=found.text()[:2000]
    )


def _first_line(found: Conclusion) -> str:
    return found.text().splitlines()[0].rstrip(".")


def _why(done: Landed) -> str:
    return "; ".join(f"“{one.title}”: {why}" for one, why in done.left)[:500]
