"""Looking at a repository, cutting a goal, integrating drafts; and what each refuses."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.support.fleet.ground import Ground, boxed, serving
from tests.support.scratch import at
from workers.base import Context, Permanent, fingerprint
from workers.builtin.code.ground.refs import integrated
from workers.builtin.code.reading.code import Code, DecomposeParams, ExploreParams
from workers.builtin.code.reading.integrating import IntegrateParams
from workers.practice.model import Model

pytestmark = pytest.mark.fleet


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path, subtasks=str(tmp_path / "plans"))
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "prices.json").write_text(made.plan)
    return made


def step(ground: Ground, name: str) -> Context:
    return at(ground.home / "attempts", name)


def decompose(ground: Ground, **params: Any) -> Any:
    given = DecomposeParams(repository="shop", goal="write all prices", **params)
    return Code.decompose.run(Code(ground.inventory), given, step(ground, "decompose"))


def test_an_outline_names_what_is_there(ground: Ground) -> None:
    report = Code.explore.run(
        Code(ground.inventory), ExploreParams(repository="shop"), step(ground, "explore")
    )
    assert report.data.files == 10
    assert "shop/part_001.py" in report.data.outline


def test_a_plan_file_is_cut_without_a_model(ground: Ground) -> None:
    report = decompose(ground, plan="prices")
    assert (report.data.count, report.data.needs, report.data.usd) == (3, [[], [], []], 0.0)
    assert Path(report.data.items).is_file()


def test_without_a_model_and_a_plan_it_says_which_plans_there_are(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(Permanent, match="there are: prices"):
        decompose(ground)
    with pytest.raises(Permanent, match="no plan of subtasks 'other'"):
        decompose(ground, plan="other")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"paths": ["tests/test_part_000.py"]}, "protected or not allowed"),
        ({"paths": ["../outside.py"]}, "no plain path"),
        ({"paths": [".git/config"]}, "no plain path"),
        ({"tests": ["tests/missing.py"]}, "which is not there"),
        ({"tests": ["--help"]}, "no plain path"),
        ({"needs": [0]}, "comes after it"),
        ({"surprise": 1}, "Extra inputs"),
    ],
)
def test_what_is_badly_cut_is_refused_before_it_costs_anything(
    ground: Ground, change: dict[str, Any], why: str
) -> None:
    plan = json.loads(ground.plan)
    plan["subtasks"][0] |= change
    (ground.home / "plans" / "bad.json").write_text(json.dumps(plan))
    with pytest.raises(Permanent, match=why):
        decompose(ground, plan="bad")


@boxed
def test_drafts_are_integrated_with_their_difference_shown_first(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = decompose(ground, plan="prices").data.items
    with serving(Model(), monkeypatch):
        commits = [str(ground.change(item, work=work).data.commit) for item in (0, 1)]
    code, ctx = Code(ground.inventory), step(ground, "integrate")
    params = IntegrateParams(repository="shop", work=work, items=(0, 1), drafts=fingerprint(commits)[:16])
    seen = Code.integrate.hooks["preview"](code, params, ctx)
    assert "return count * 3 + 0" in seen.text
    assert seen.found == ("2 of 2 go together", "tests pass", "+10 −2 in 2 files")
    report = Code.integrate.run(code, params, ctx)
    assert (report.data.landed, report.data.left) == (2, [])
    git = ground.git()
    keys = git.run("log", "--format=%(trailers:key=Signoff-Key,valueonly)", integrated(1)).split()
    assert sorted(keys) == ["plan-1-change-0-abc", "plan-1-change-1-abc"]
    again = Code.integrate.run(code, params, ctx)
    assert again.data.commit == report.data.commit


@boxed
def test_what_was_killed_once_it_had_integrated_leaves_no_draft_behind(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = decompose(ground, plan="prices").data.items
    with serving(Model(), monkeypatch):
        commits = [str(ground.change(item, work=work).data.commit) for item in (0, 1)]
    code, ctx = Code(ground.inventory), step(ground, "integrate")
    params = IntegrateParams(repository="shop", work=work, items=(0, 1), drafts=fingerprint(commits)[:16])
    with monkeypatch.context() as killed:
        killed.setattr("workers.builtin.code.ground.git.Git.forget", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            Code.integrate.run(code, params, ctx)

    report = Code.integrate.run(code, params, ctx)

    assert report.data.landed == 2
    assert ground.git().run("for-each-ref", "--format=%(refname)", "refs/heads").split() == [integrated(1)]


@boxed
def test_what_people_saw_moves_when_the_base_does(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    work = decompose(ground, plan="prices").data.items
    with serving(Model(), monkeypatch):
        commit = str(ground.change(0, work=work).data.commit)
    code, ctx = Code(ground.inventory), step(ground, "integrate")
    params = IntegrateParams(repository="shop", work=work, items=(0,), drafts=fingerprint([commit])[:16])
    before = Code.integrate.hooks["preview"](code, params, ctx).basis
    git = ground.git()
    moved = git.commit(
        git.tip("refs/signoff/base/last") + "^{tree}", [git.tip("refs/signoff/base/last")], "somebody"
    )
    git.run("push", "--quiet", str(ground.repository), f"{moved}:refs/heads/other")
    git.run("update-ref", "refs/heads/main", moved, env={"GIT_DIR": str(ground.repository / ".git")})
    assert Code.integrate.hooks["preview"](code, params, ctx).basis != before


def test_a_commit_that_no_agent_of_this_plan_drafted_is_refused(ground: Ground) -> None:
    work = decompose(ground, plan="prices").data.items
    git = ground.git()
    strange = git.commit(f"{git.fetch()}^{{tree}}", [git.fetch()], "mine\n\nSignoff-Plan: 7")
    git.move("refs/heads/signoff/1/change-0", strange)
    params = IntegrateParams(repository="shop", work=work, items=(0,), drafts=fingerprint([strange])[:16])
    if boxed.args[0]:
        pytest.skip("no box here")
    with pytest.raises(Permanent, match="no draft of this plan"):
        Code.integrate.run(Code(ground.inventory), params, step(ground, "integrate"))


def test_a_draft_that_moved_since_it_was_proposed_is_refused(ground: Ground) -> None:
    work = decompose(ground, plan="prices").data.items
    params = IntegrateParams(repository="shop", work=work, items=(0,), drafts="0" * 16)
    if boxed.args[0]:
        pytest.skip("no box here")
    with pytest.raises(Permanent, match="not the one that was proposed"):
        Code.integrate.run(Code(ground.inventory), params, step(ground, "integrate"))
