"""code: looks at a repository, cuts a goal into subtasks, integrates what was drafted."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from workers.base import Context, Params, Permanent, Preview, Report, Worker, action, check
from workers.builtin.code.ground import model, subtasks
from workers.builtin.code.ground.acceptance import may_change
from workers.builtin.code.ground.git import Git
from workers.builtin.code.ground.places import place_of, sweep_locks
from workers.builtin.code.ground.repository import Entry, Repository, entry_of
from workers.builtin.code.ground.subtasks import MOST, Work
from workers.builtin.code.reading import integrating
from workers.builtin.code.reading.concluding import Conclusion, clear, concluded
from workers.builtin.code.reading.decomposing import decomposed
from workers.builtin.code.reading.furthering import FurtherData, further
from workers.builtin.code.reading.integrating import IntegrateData, IntegrateParams, Item
from workers.builtin.code.reading.reworking import reworked
from workers.builtin.code.reading.splitting import fitting, smaller
from workers.commands import box

SHOWN = 400  # files that an outline names


PlanName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{0,60}$")]


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
    plan: PlanName = ""
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


class SplitParams(Params):
    """`work` is the file that was cut; `plan` as it was then: what a file cut, no model cuts further."""

    repository: Repository
    work: str = Field(max_length=500, json_schema_extra={"from_output": True})
    plan: PlanName = ""


class ReworkParams(Params):
    """Which subtasks; `work` is the file they were cut in."""

    repository: Repository
    work: str = Field(max_length=500, json_schema_extra={"from_output": True})
    items: tuple[Item, ...] = Field(min_length=1, max_length=MOST)


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
        changes=False,
        repeat="safe",
        timeout=1200,
        typical=30,
        says="*Cut smaller* what stays red in {repository}[, by the plan {plan}]",
    )
    def split(self, params: SplitParams, ctx: Context) -> Report[FurtherData]:
        """Cuts subtasks that no model got green into two or three smaller ones, inside the same paths."""
        git = self._git(params.repository, ctx)
        work = subtasks.read(params.work, ctx.place.parents[1], params.repository)
        found = smaller(git, work, ctx.plan, by_model=not params.plan and model.has_key(git.entry))
        _check_fit(found.work, git)
        data = further(work, found.work, ctx, model=found.model, usd=found.usd)
        return Report[FurtherData].ok(found.said(), data)

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
        return integrating.integrate(params, self._git(params.repository, ctx), ctx)

    @integrate.preview
    def _preview(self, params: IntegrateParams, ctx: Context) -> Preview:
        return integrating.previewed(params, self._git(params.repository, ctx), ctx)

    @action(
        changes=False,
        repeat="safe",
        timeout=3600,
        typical=30,
        says="*Take up again* drafts {items} of {repository}, on what has landed",
    )
    def rework(self, params: ReworkParams, ctx: Context) -> Report[FurtherData]:
        """Cuts subtasks that were left out beside others once more, on top of what has landed."""
        box.demand()
        git = self._git(params.repository, ctx)
        work = subtasks.read(params.work, ctx.place.parents[1], params.repository)
        with place_of(git.entry, ctx) as home:
            found = reworked(git, work, params.items, home, ctx)
        data = further(work, found, ctx)
        return Report[FurtherData].ok(f"{len(data.fresh)} subtasks go back to an agent", data)

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
        if item.parts:
            fitting(item, item.parts)


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


def _ended(found: Conclusion) -> ConcludeData:
    return ConcludeData(
        landed=len(found.landed), left=len(found.left), commit=found.tip, text=found.text()[:2000]
    )


def _first_line(found: Conclusion) -> str:
    return found.text().splitlines()[0].rstrip(".")
