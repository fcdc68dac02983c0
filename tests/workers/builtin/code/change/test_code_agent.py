"""A subtask drafted by a scripted agent: its tests decide, whatever the agent says or does."""

from pathlib import Path

import pytest

from tests.support.fleet.ground import Ground, boxed, serving
from workers.base import Permanent
from workers.builtin.code.ground.rungs import last_tried
from workers.practice.model import Model
from workers.practice.sample_repository import title_of

pytestmark = [boxed, pytest.mark.fleet, pytest.mark.model]
FIRST = title_of(0)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def dealt(fault: str) -> Model:
    return Model(script={FIRST: fault} if fault else {"": ""})


def test_a_draft_is_committed_by_us_with_who_and_why(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(dealt(""), monkeypatch):
        report = ground.change()
    assert report.status == "succeeded"
    assert report.data is not None
    assert (report.data.files, report.data.flags, report.data.incident) == (["shop/part_000.py"], [], "")
    assert 0 < report.data.usd < ground.entry.max_usd
    git = ground.git()
    assert git.run("log", "-1", "--format=%an", report.data.commit).strip() == "signoff-agent"
    kept = {
        name: git.trailer(report.data.commit, f"Signoff-{name}")
        for name in ("Plan", "Step", "Attempt", "Model", "Key")
    }
    assert kept == {
        "Plan": "1",
        "Step": "change-0",
        "Attempt": "1",
        "Model": "claude-haiku-5-5",
        "Key": "plan-1-change-0-abc",
    }
    assert [*(ground.home / "pool" / "work").iterdir()] == []


def test_an_agent_that_repeats_itself_is_ended_and_the_next_one_begins_anew(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(dealt("loop"), monkeypatch):
        first, second = ground.change(), ground.change(attempt=2)
    assert first.error is not None
    assert (first.error.kind, first.data and first.data.incident) == ("transient", "repetition")
    assert second.status == "succeeded"


def test_the_ladder_ends_with_the_dearer_model_and_then_a_person(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(dealt("wrong!"), monkeypatch):
        reports = [ground.change(attempt=number) for number in range(1, 5)]
    assert [report.data.model for report in reports if report.data] == ["claude-haiku-5-5"] * 2 + [
        "claude-sonnet-5-5"
    ] * 2
    assert [report.error.kind for report in reports if report.error] == ["transient"] * 3 + ["permanent"]
    assert all(report.data and report.data.usd > 0 for report in reports)


def test_after_a_refusal_the_other_model_is_asked(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(dealt("refusal"), monkeypatch):
        first, second = ground.change(), ground.change(attempt=2)
    assert (first.status, second.status) == ("failed", "succeeded")
    assert second.data is not None
    assert second.data.model == "claude-sonnet-5-5"


def test_trouble_of_the_api_uses_up_no_rung(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(dealt("busy!"), monkeypatch) as model:
        reports = [ground.change(attempt=number) for number in (1, 2)]
        model.script = {FIRST: ""}
        model.dealt.clear()
        third = ground.change(attempt=3)
    assert [report.error.kind for report in reports if report.error] == ["transient", "transient"]
    assert third.data is not None
    assert (third.status, third.data.model) == ("succeeded", "claude-haiku-5-5")


def test_an_agent_whose_model_says_nothing_stalls_and_uses_up_no_rung(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(tmp_path, silent_seconds=1.5)
    with serving(dealt("hung!"), monkeypatch) as model:
        first = ground.change()
        used = last_tried(ground.entry.pool, 1, "change-0")
        model.script = {FIRST: ""}
        model.dealt.clear()
        second = ground.change(attempt=2)
    assert first.error is not None
    assert (first.error.kind, first.data and first.data.incident) == ("transient", "stalled")
    assert first.summary.startswith("The model said nothing for")
    assert second.data is not None
    assert (second.status, second.data.model) == ("succeeded", "claude-haiku-5-5")
    assert used == ""


@pytest.mark.parametrize(("given", "silence", "reply"), [
    ({}, 360, 120), ({"call_seconds": 600}, 1800, 600), ({"silent_seconds": 30}, 30, 10),
    ({"call_seconds": 2}, 120, 2),
])  # fmt: skip
def test_silence_is_a_setting_and_never_shorter_than_the_tries_of_a_call(
    tmp_path: Path, given: dict[str, float], silence: float, reply: float
) -> None:
    entry = Ground(tmp_path, **given).entry
    assert (entry.silence(), entry.reply_seconds()) == (silence, reply)


def test_hostile_code_is_contained_and_held_for_a_person(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = Model(script={FIRST: "hostile!"}, witness=str(tmp_path / "witness"))
    with serving(model, monkeypatch):
        report = ground.change()
    assert report.data is not None
    assert report.data.green
    assert "“subprocess”" in report.data.flags
    assert "a person must see it" in report.summary
    assert not (tmp_path / "witness").exists()


def test_what_was_committed_before_a_crash_is_not_drafted_twice(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(dealt(""), monkeypatch) as model:
        first = ground.change()
        calls = model.calls
        again = ground.change(attempt=2)
        assert model.calls == calls
    assert first.data is not None
    assert again.data is not None
    assert again.data.commit == first.data.commit


def test_tests_that_are_not_there_cost_nothing(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ground.plan.replace("tests/test_part_000.py", "tests/test_missing.py")
    with serving(dealt(""), monkeypatch) as model, pytest.raises(Permanent, match="could not be run"):
        ground.change(work=ground.work(plan))
    assert model.calls == 0


@pytest.mark.parametrize("work", ["/etc/passwd", "please do what I say", "../../x.json"])
def test_free_text_is_no_work(ground: Ground, work: str) -> None:
    ground.work()
    with pytest.raises(Permanent, match="no file that a decompose step"):
        ground.change(work=work)


def test_an_item_out_of_range_is_refused(ground: Ground) -> None:
    with pytest.raises(Permanent, match="no subtask 150"):
        ground.change(150)


def test_work_that_was_changed_afterwards_is_refused(ground: Ground) -> None:
    file = Path(ground.work())
    file.write_text(file.read_text().replace("Price chairs", "Price anything"))
    with pytest.raises(Permanent, match="changed after it was written"):
        ground.change(work=str(file))
