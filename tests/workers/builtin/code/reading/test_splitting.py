"""A subtask that no model gets green is cut smaller once: inside its paths, judged by all of its tests."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet.ground import Ground, boxed, serving
from tests.support.scratch import at
from workers.base import Permanent, Report
from workers.builtin.code.ground import model as api
from workers.builtin.code.ground.rungs import AGAIN, Rungs
from workers.builtin.code.ground.subtasks import Work
from workers.builtin.code.reading.code import Code, DecomposeParams, SplitParams
from workers.builtin.code.reading.furthering import FurtherData
from workers.practice.model import Model

pytestmark = pytest.mark.fleet
FILES = {
    "paths": ["shop/part_000.py", "shop/part_001.py"],
    "tests": ["tests/test_part_000.py", "tests/test_part_001.py"],
}
BOTH = {"title": "Price both", "brief": "Write both parts.", **FILES}


def part(number: int, **more: Any) -> dict[str, Any]:
    own = {"paths": [f"shop/part_{number:03}.py"], "tests": [f"tests/test_part_{number:03}.py"]}
    return {"title": f"Half {number}", "brief": "Write it.", **own, **more}


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def cut(ground: Ground, *parts: dict[str, Any], red: bool = True) -> str:
    """Work of one subtask that every model has tried."""
    item = BOTH | ({"parts": parts} if parts else {})
    tried = Rungs(ground.entry.pool, 1, "change-0", len(ground.entry.models))
    for _ in range(AGAIN * len(ground.entry.models) if red else 1):
        tried.note("its tests stay red: 1 failed")
    return ground.work(json.dumps({"subtasks": [item]}))


def split(ground: Ground, work: str, plan: str = "both") -> Report[FurtherData]:
    params = SplitParams(repository="shop", work=work, plan=plan)
    return Code.split.run(Code(ground.inventory), params, at(ground.home / "attempts", "split"))


def items(report: Report[FurtherData]) -> Work:
    assert report.data is not None
    return Work.model_validate_json(Path(report.data.items).read_text())


def test_the_parts_of_a_plan_file_take_its_place(ground: Ground) -> None:
    report = split(ground, cut(ground, part(0), part(1, needs=[0])))
    assert report.data is not None
    assert (report.data.fresh, report.data.instead, report.data.model) == ([1, 2], [0, 0], "")
    work = items(report)
    assert [(item.title, item.instead, item.needs) for item in work.items[1:]] == [
        ("Half 0", 0, ()),
        ("Half 1", 0, (1,)),
    ]
    assert report.summary == "cut smaller: “Price both”"


def test_without_parts_and_a_model_it_is_a_persons(ground: Ground) -> None:
    report = split(ground, cut(ground))
    assert report.data is not None
    assert (report.status, report.data.fresh) == ("succeeded", [])
    assert report.summary == "nothing could be cut smaller; a person's: “Price both”"


def test_what_has_a_rung_left_is_not_cut(ground: Ground) -> None:
    report = split(ground, cut(ground, part(0), part(1), red=False))
    assert report.data is not None
    assert report.data.fresh == []


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (
            [part(0), part(1, paths=["shop/part_002.py"])],
            "would change shop/part_002.py, which is not its own",
        ),
        ([part(0), part(1, tests=["tests/test_part_002.py"])], "judged by tests/test_part_002.py, which is"),
        ([part(0), part(0)], "No part of “Price both” is judged by tests/test_part_001.py"),
        ([part(0, **FILES)], "falls into two or three parts, not 1"),
        ([part(0), part(1, parts=[])], "Extra inputs"),
    ],
)
def test_parts_that_go_beyond_it_are_refused_when_it_is_cut(
    ground: Ground, tmp_path: Path, parts: list[dict[str, Any]], why: str
) -> None:
    ground.raw["subtasks"] = str(tmp_path)
    (tmp_path / "both.json").write_text(json.dumps({"subtasks": [BOTH | {"parts": parts}]}))
    params = DecomposeParams(repository="shop", goal="both", plan="both")
    with pytest.raises(Permanent, match=why):
        Code.decompose.run(Code(ground.inventory), params, at(ground.home / "attempts", "decompose"))


def answering(monkeypatch: pytest.MonkeyPatch, *said: dict[str, Any]) -> list[Any]:
    """A model that says this, each time the next."""
    from anthropic.types import Message

    left, asked = [*said], list[Any]()

    def ask(entry: Any, **wanted: Any) -> Message:
        asked.append(wanted)
        text = json.dumps({"subtasks": left.pop(0)})
        usage = {"input_tokens": 1000, "output_tokens": 100}
        return Message.model_validate({
            "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}], "usage": usage,
        })  # fmt: skip

    monkeypatch.setattr(api, "ask", ask)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "some")
    return asked


def test_a_model_cuts_what_a_model_cut_and_is_asked_to_mend_once(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answering(monkeypatch, [part(0), part(2)], [part(0), part(1)])
    report = split(ground, cut(ground), plan="")
    assert report.data is not None
    assert (report.data.fresh, report.data.model) == ([1, 2], "claude-sonnet-5-5")
    assert report.data.usd > 0
    assert "is not its own" in str(asked[1]["messages"][-1])
    assert "its tests stay red" in str(asked[0]["messages"][0])


def test_a_model_that_cuts_nothing_useful_leaves_it_to_a_person(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, [part(0)], [part(0)])
    report = split(ground, cut(ground), plan="")
    assert report.data is not None
    assert report.data.fresh == []


def test_neither_a_part_nor_what_was_cut_is_cut_once_more(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = split(ground, cut(ground, part(0), part(1)))
    for step in ("change-1", "change-2"):
        tried = Rungs(ground.entry.pool, 1, step, 2)
        for _ in range(4):
            tried.note("red")
    asked = answering(monkeypatch)
    assert report.data is not None
    again = split(ground, report.data.items, plan="")
    assert again.data is not None
    assert (again.data.fresh, asked) == ([], [])


@boxed
def test_parts_are_drafted_each_by_its_own_tests(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    report = split(ground, cut(ground, part(0), part(1)))
    assert report.data is not None
    with serving(Model(), monkeypatch):
        done = [ground.change(number, work=report.data.items).status for number in (1, 2)]
    assert done == ["succeeded", "succeeded"]
