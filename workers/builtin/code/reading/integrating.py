"""Drafts merged in their order and tested together, and what is said of it."""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from workers.base import Context, Params, Permanent, Preview, Report, fingerprint
from workers.builtin.code.ground import subtasks
from workers.builtin.code.ground.acceptance import judge
from workers.builtin.code.ground.git import Git
from workers.builtin.code.ground.places import place_of
from workers.builtin.code.ground.queue import Drafted, Landed, land
from workers.builtin.code.ground.refs import draft_ref, integrated
from workers.builtin.code.ground.repository import Repository
from workers.builtin.code.ground.subtasks import MOST, Work
from workers.commands import box

Item = Annotated[int, Field(ge=0, lt=MOST)]
EXCERPT = 2500  # characters of the difference that stand beside Approve; all of it is in the repository


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


def integrate(params: IntegrateParams, git: Git, ctx: Context) -> Report[IntegrateData]:
    """What goes together is on the plan's branch; an attempt that was killed after that only tells it."""
    ref, before = integrated(ctx.plan), git.tip(integrated(ctx.plan))
    if before and git.trailer(before, "Signoff-Integration") == ctx.key:
        _tidy(params, git, before, ctx)
        return _told(_summary(git, before))
    done = _queue(params, git, before, ctx)
    if not done.landed:
        return _nothing(done, before)
    tip = git.commit(done.tree, [done.tip], _message(done, ctx))
    git.move(ref, tip, before)
    _tidy(params, git, tip, ctx)
    return _told(_data(done, tip))


def _tidy(params: IntegrateParams, git: Git, tip: str, ctx: Context) -> None:
    """What is integrated needs no branch of its own."""
    steps = git.trailers("Signoff-Step", _work(params, ctx).base, tip)
    there = git.run("for-each-ref", "--format=%(refname)", draft_ref(ctx.plan, "")).split()
    git.forget(sorted({draft_ref(ctx.plan, step) for step in steps} & {*there}))


def previewed(params: IntegrateParams, git: Git, ctx: Context) -> Preview:
    """The difference that people approve, and what would be left out."""
    source, before, work = git.fetch(), git.tip(integrated(ctx.plan)), _work(params, ctx)
    done = _queue(params, git, before, ctx)
    start = before or work.base
    stat = _brief(git.run("diff", "--shortstat", start, done.tree))
    diff = git.run("diff", "--no-ext-diff", "--no-textconv", "--no-color", start, done.tree)
    left = [f"left out: “{one.title}”: {why}" for one, why in done.left]
    text = "\n".join([stat, *(f"“{one.title}”" for one in done.landed), *left, diff[:EXCERPT]])
    found = (f"{len(done.landed)} of {len(params.items)} go together", "tests pass", stat)
    found = found if not left else (f"!{len(left)} left out", *found[:2])
    moved = "" if source == work.start else f"\n{git.entry.base} has moved since; it is not merged here."
    # What it changes itself: an earlier integration of the same plan moves the tip, and nothing of this.
    change = fingerprint(git.run("diff-tree", "-r", "--raw", "--no-renames", start, done.tree))
    return Preview(text + moved, {"source": source, "change": change, "left": len(left)}, found[:3])


def _work(params: IntegrateParams, ctx: Context) -> Work:
    return subtasks.read(params.work, ctx.place.parents[1], params.repository)


def _queue(params: IntegrateParams, git: Git, before: str, ctx: Context) -> Landed:
    box.demand()
    work = _work(params, ctx)
    commits = [git.tip(draft_ref(ctx.plan, f"change-{number}")) for number in params.items]
    if fingerprint([*commits])[:16] != params.drafts:
        raise Permanent("A draft is not the one that was proposed. Nothing was integrated.")
    waiting = [_drafted(git, work, n, commit, ctx) for n, commit in zip(params.items, commits, strict=True)]
    with place_of(git.entry, ctx) as home:
        whole = judge(git, work.base, (), home).green

        def tested(tree: str, landed: Sequence[Drafted]) -> bool:
            named = [*dict.fromkeys(test for one in landed for test in one.tests)]
            return judge(git, tree, () if whole else named, home).green

        return land(git, before or work.base, waiting, tested, f"Signoff-Plan: {ctx.plan}")


def _drafted(git: Git, work: Work, number: int, commit: str, ctx: Context) -> Drafted:
    """Only what an agent of this plan drafted, on the work's own base."""
    item = work.item(number)
    known = git.tip(commit)
    if not known or git.trailer(commit, "Signoff-Plan") != str(ctx.plan):
        raise Permanent(f"{commit[:8]} is no draft of this plan. Nothing was integrated.")
    if git.run("rev-parse", f"{commit}^").strip() != work.base:
        raise Permanent(f"{commit[:8]} was drafted on another commit. Nothing was integrated.")
    return Drafted(commit, item.title, git.trailer(commit, "Signoff-Key"), item.tests)


def _summary(git: Git, tip: str) -> IntegrateData:
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


def _nothing(done: Landed, before: str) -> Report[IntegrateData]:
    """Beside what has landed already, one that does not fit is left out as in any batch."""
    if before:
        return _told(_data(done, before))
    why = "; ".join(f"“{one.title}”: {why}" for one, why in done.left)[:500]
    return Report[IntegrateData].failed(f"nothing could be integrated: {why}", _data(done, before))


def _data(done: Landed, tip: str) -> IntegrateData:
    left = [f"“{one.title}”: {why}" for one, why in done.left]
    titles = [one.title for one in done.landed]
    return IntegrateData(commit=tip, landed=len(titles), left=left, titles=titles, suite_runs=done.runs)


def _told(data: IntegrateData) -> Report[IntegrateData]:
    left = f"; left out: {'; '.join(data.left)}" if data.left else ""
    return Report[IntegrateData].ok(f"{data.landed} drafts integrated at {data.commit[:8]}{left}", data)
