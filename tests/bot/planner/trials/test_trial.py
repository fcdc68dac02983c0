"""An evaluation that can fail: models that always fail, refuse or ask back, and one that follows rules."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.cli import checks
from bot.config import BotSettings
from bot.demo.stand_in import answer
from bot.planner.evaluation import cases
from bot.planner.model import prompt
from bot.planner.model.calls import connect
from bot.planner.model.claude import Claude
from bot.planner.model.usage import PRICES, Usage
from bot.planner.trials import trial
from bot.planner.trials.report import compared, markdown
from bot.planner.trials.tasks import Task, tasks
from bot.planner.trials.trial import Sample
from storage.config import Purpose
from storage.errors import SignoffError
from tests.support.fake_model import KEY, MODEL, QUESTION, REFUSAL, FakeModel, fails, says

pytestmark = pytest.mark.model

OTHERS = {"changing": 6, "reviewing": 10, "iterating": 3}
SHARES = Counter({"planning": 0, "clarifying": 0, "refusing": 0})
for _case in cases():
    SHARES[{"plan": "planning", "clarify": "clarifying", "refuse": "refusing"}[_case.kinds()[0]]] += 1


STRICT = {case.say for case in cases() if len(case.kinds()) == 1}


def few() -> list[Task]:
    """A few of every kind, with one right answer each."""
    found, seen = [], Counter[str]()
    for task in tasks():
        if task.kind not in OTHERS and task.name not in STRICT:
            continue
        seen[task.kind] += 1
        found += [task] if seen[task.kind] <= 2 else []
    return found


def tried(fake: FakeModel, chosen: list[Task], samples: int = 1) -> dict[str, Any]:
    client = connect(KEY, url=fake.url)

    def made(purpose: Purpose, spend: Callable[[str, Usage], None]) -> Claude:
        return Claude(client, MODEL, "low", PRICES, spend, retries=0)

    answers = trial.run(made, chosen, samples=samples, at_once=4)
    client.close()
    return trial.figures(answers, model=MODEL, floor=0.7)


def test_there_are_tasks_of_every_kind():
    assert Counter(task.kind for task in tasks()) == SHARES + Counter(OTHERS)


def test_a_model_that_always_fails_is_counted_apart_and_ends_in_an_error():
    with FakeModel(fails(529)) as fake:
        found = tried(fake, few(), samples=2)

    total = found["total"]
    assert (total["samples"], total["answered"], found["failures"]) == (24, 0, 24)
    assert (total["right"], total["pass_all"], found["wrong"]) == (0, 0, [])
    assert trial.code(found) == 1


@pytest.mark.parametrize(("said", "kind"), [(REFUSAL, "refusing"), (QUESTION, "clarifying")])
def test_a_model_that_always_says_the_same_is_right_only_where_that_is_right(said, kind):
    with FakeModel(says(said)) as fake:
        found = tried(fake, few())

    right = {name: sums["right"] for name, sums in found["kinds"].items()}
    assert right[kind] == 2
    assert right["planning"] == right["changing"] == right["reviewing"] == right["iterating"] == 0
    assert found["failures"] == 0
    assert trial.code(found) == 1, "below the floor"


def test_repairs_cost_and_the_prompt_are_on_the_report():
    with FakeModel(says("{}"), says(REFUSAL)) as fake:
        found = tried(fake, [task for task in few() if task.kind == "refusing"][:1])

    total = found["total"]
    assert (total["right"], total["calls"], total["repairs"]) == (1, 2, 1)
    assert total["usd"] == pytest.approx(2 * (1000 * 4 + 200 * 20) / 1e6)
    assert [one.partition("-")[0] for one in found["prompts"]] == ["prompt"]
    assert found["prompts"][0].startswith(prompt.version("prompt")[:7])


def test_right_every_time_is_less_than_right_once():
    with FakeModel(says(REFUSAL), says(QUESTION), says(REFUSAL)) as fake:
        (task,) = [task for task in few() if task.kind == "refusing"][:1]
        client = connect(KEY, url=fake.url)
        answers = trial.run(
            lambda purpose, spend: Claude(client, MODEL, "low", PRICES, spend), [task], samples=3, at_once=1
        )
        client.close()
    found = trial.figures(answers, model=MODEL, floor=0.7)

    assert (found["total"]["right"], found["total"]["pass_all"], found["total"]["cases"]) == (2, 0, 1)


def test_rules_alone_get_a_review_and_an_investigation_right():
    """The stand-in is no model; that some are right shows that they can be."""
    with FakeModel(lambda body: says(json.dumps(answer(body)))) as fake:
        found = tried(fake, [task for task in tasks() if task.kind in {"reviewing", "iterating"}])

    assert found["kinds"]["reviewing"]["right"] == 5, "where people must say; it knows no other rung here"
    assert fake.rejected == []


def test_enough_plans_hide_no_kind_that_is_bad():
    def sample(kind: str, *, wrong: bool) -> Sample:
        return Sample(kind=kind, name=kind, wrong=("no",) if wrong else ())

    good = [sample("planning", wrong=False)] * 300
    found = trial.figures([*good, sample("reviewing", wrong=True)], model=MODEL, floor=0.7)

    assert (found["below"], trial.code(found)) == (["reviewing"], 1)
    assert trial.code(trial.figures(good, model=MODEL, floor=0.7)) == 0


@pytest.mark.parametrize(
    ("more", "why"),
    [({"samples": 0}, "at least one sample"), ({"report": Path("/gone/r.json")}, "written into")],
)
def test_what_cannot_be_tried_is_said_before_it_costs(monkeypatch, more, why):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(SignoffError, match=why):
        checks.evaluate(BotSettings(), offline=False, as_json=False, cases=None, floor=None, **more)


def test_two_reports_are_compared_by_kind_and_by_case(tmp_path, capsys):
    paths = []
    for name, said in (("a", REFUSAL), ("b", QUESTION)):
        with FakeModel(says(said)) as fake:
            found = tried(fake, [task for task in few() if task.kind in {"refusing", "clarifying"}])
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(found))
        assert "| refusing | " in markdown(found)

    assert checks.compare(*paths) == 0
    told = capsys.readouterr().out
    assert "| refusing | 100.0% | 0.0% | -100.0% |" in told
    assert "Right in B and wrong in A: 2; wrong in B and right in A: 2" in told
    assert compared(found, found).count("+0.0%") == 3


def test_the_command_says_by_its_code_that_the_api_failed(tmp_path: Path, monkeypatch, capsys):
    few_ = few()[:3]
    monkeypatch.setattr(checks, "tasks", lambda: few_)
    with FakeModel(fails(401)) as fake:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.url)
        monkeypatch.setenv("SIGNOFF_CONFIG", str(tmp_path / "signoff.toml"))
        code = checks.evaluate(
            BotSettings(), offline=False, as_json=False, cases=None, floor=None, report=tmp_path / "r.json"
        )

    assert code == 1
    assert "Failures of the API: 3 of 3 samples." in capsys.readouterr().out
    assert json.loads((tmp_path / "r.json").read_text())["failures"] == 3
    assert (tmp_path / "r.md").exists()
