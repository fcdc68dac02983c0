"""A draft that was left out beside others goes back to an agent once, on what has landed."""

from pathlib import Path

import pytest

from tests.support.fleet.ground import Ground, boxed, serving
from tests.support.scratch import at
from workers.base import Permanent, Report, fingerprint
from workers.builtin.code.ground.refs import draft_ref, integrated
from workers.builtin.code.ground.subtasks import Work
from workers.builtin.code.reading.code import Code, ConcludeParams, ReworkParams
from workers.builtin.code.reading.integrating import IntegrateData, IntegrateParams
from workers.practice.model import Model

pytestmark = [boxed, pytest.mark.fleet, pytest.mark.model]
PORT = "shop/part_000.py"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def drafted(ground: Ground, work: str, item: int, **files: str) -> str:
    """A draft as an agent would have left it."""
    git, read = ground.git(), Work.model_validate_json(Path(work).read_text())
    place = ground.home / f"by-hand-{item}"
    git.put(read.base, place)
    for name, text in files.items():
        (place / "shop" / f"{name}.py").write_text(text)
    trailers = {"Plan": "1", "Step": f"change-{item}", "Key": f"key-{item}"}
    said = "\n".join(f"Signoff-{name}: {value}" for name, value in trailers.items())
    commit = git.commit(git.taken(read.base, place), [read.base], f"{item}\n\n{said}")
    git.move(draft_ref(1, f"change-{item}"), commit)
    return commit


def landed(ground: Ground, work: str, *items: int, step: str = "integrate") -> Report[IntegrateData]:
    git = ground.git()
    commits = [git.tip(draft_ref(1, f"change-{item}")) for item in items]
    params = IntegrateParams(repository="shop", work=work, items=items, drafts=fingerprint([*commits])[:16])
    ctx = at(ground.home / "attempts", step)
    return Code.integrate.run(Code(ground.inventory), params, ctx)


def rework(ground: Ground, work: str, *items: int) -> tuple[str, Work]:
    ctx = at(ground.home / "attempts", "rework")
    params = ReworkParams(repository="shop", work=work, items=items)
    report = Code.rework.run(Code(ground.inventory), params, ctx)
    assert report.data is not None
    return report.data.items, Work.model_validate_json(Path(report.data.items).read_text())


def ended(ground: Ground, work: str) -> str:
    params = ConcludeParams(repository="shop", work=work)
    report = Code.conclude.run(Code(ground.inventory), params, at(ground.home / "attempts", "conclude"))
    assert report.data is not None
    return report.data.text


def test_a_conflict_goes_back_on_the_new_tip_and_lands(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = ground.work()
    drafted(ground, work, 0, part_000="def price_0(count):\n    return count * 3\n")
    drafted(
        ground, work, 1, part_000="PORT = 1\n", part_001="def price_1(count):\n    return 4 * count + 1\n"
    )
    first = landed(ground, work, 0, 1)
    assert first.data is not None
    assert first.data.left == [f"“Price chairs”: it conflicts in {PORT}"]
    again, cut = rework(ground, work, 1)
    assert (cut.base, len(cut.items), cut.items[3].instead) == (ground.git().tip(integrated(1)), 4, 1)
    assert f"The earlier draft conflicted in {PORT}." in cut.items[3].brief
    assert cut.items[3].paths == cut.items[1].paths
    with serving(Model(), monkeypatch):
        assert ground.change(3, work=again).status == "succeeded"
    second = landed(ground, again, 3, step="integrate-again")
    assert second.data is not None
    assert (second.data.landed, second.data.left) == (1, [])
    assert ended(ground, again).startswith("2 of 3 subtasks landed")
    assert ground.git().tip(draft_ref(1, "change-1")) == ""


def test_what_was_red_beside_others_is_judged_by_their_tests_too(ground: Ground) -> None:
    work = ground.work()
    drafted(ground, work, 0, part_000="def price_0(count):\n    return count * 3\n")
    bad = "def price_1(count):\n    return 4 * count + 1\n\n\nimport shop.part_000 as p\np.price_0 = None\n"
    drafted(ground, work, 1, part_001=bad, __init__="import shop.part_001\n")
    assert landed(ground, work, 0, 1).data.left
    _, cut = rework(ground, work, 1)
    assert cut.items[3].tests == ("tests/test_part_001.py", "tests/test_part_000.py")
    assert "these tests were red: tests/test_part_000.py" in cut.items[3].brief


def test_it_goes_back_once(ground: Ground) -> None:
    work = ground.work()
    drafted(ground, work, 0, part_000="def price_0(count):\n    return count * 3\n")
    drafted(ground, work, 1, part_000="PORT = 1\n")
    landed(ground, work, 0, 1)
    again, _ = rework(ground, work, 1)
    with pytest.raises(Permanent, match="that is done once"):
        rework(ground, again, 3)


def test_what_does_not_fit_beside_what_landed_is_left_out_by_name(ground: Ground) -> None:
    work = ground.work()
    drafted(ground, work, 0, part_000="def price_0(count):\n    return count * 3\n")
    drafted(ground, work, 1, part_000="PORT = 1\n")
    tip = landed(ground, work, 0).data.commit
    report = landed(ground, work, 1, step="integrate-1")
    assert report.data is not None
    assert (report.status, report.data.landed, report.data.commit) == ("succeeded", 0, tip)
    assert report.data.left == [f"“Price chairs”: it conflicts in {PORT}"]


def test_nothing_goes_back_that_was_not_left_out(ground: Ground) -> None:
    work = ground.work()
    with pytest.raises(Permanent, match="Nothing of this plan is integrated"):
        rework(ground, work, 1)
