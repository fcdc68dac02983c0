"""Collections of requests: the development half, later sets, and a command that can fail."""

import json
from pathlib import Path

import pytest

from bot.planner.collection import on_file
from storage.errors import BadConfig

SAMPLES = Path(__file__).parents[2] / "support" / "samples" / "understanding.jsonl"


@pytest.mark.language
def test_requests_as_people_say_them_are_understood():
    """The development half of a collection; the other half is run by somebody else."""
    text, code = on_file(SAMPLES, as_json=True, floor=0.92)
    found = json.loads(text)
    plans = found["plan_class"]

    assert code == 0, on_file(SAMPLES, as_json=False, floor=0)[0]
    assert (found["forbidden"], found["wrong_automatic"]) == (0, 0)
    assert found["right"] >= 0.92 * found["cases"]
    assert plans["right"] >= 0.85 * plans["cases"]


@pytest.mark.language
def test_later_sets_that_were_labelled_before_their_first_run_stay_understood():
    """At their first runs 263 of 297, 113 of 127 and, of a sample here, 742 of 789 were right."""
    found = json.loads(on_file(SAMPLES.with_name("fresh.jsonl"), as_json=True, floor=0.95)[0])

    assert (found["cases"], found["forbidden"], found["wrong_automatic"]) == (690, 0, 0)
    assert found["right"] >= 0.95 * found["cases"]


@pytest.mark.language
def test_below_the_floor_the_command_fails(tmp_path):
    row = {"family": "x", "request": "order a pizza", "answer": ["plan"], "runbook": "deploy-service"}
    (tmp_path / "cases.jsonl").write_text(json.dumps(row))

    assert on_file(tmp_path / "cases.jsonl", as_json=False, floor=0.0)[1] == 0
    assert on_file(tmp_path / "cases.jsonl", as_json=False, floor=0.5)[1] == 1


@pytest.mark.language
@pytest.mark.parametrize(
    ("line", "why"), [('{"request": "x"}', "answer: Field required"), ("not json", "it is no JSON object")]
)
def test_a_line_that_is_no_request_is_named(tmp_path, line, why):
    (tmp_path / "cases.jsonl").write_text(line)

    with pytest.raises(BadConfig, match=f"^Line 1 is no request with its right answers: {why}"):
        on_file(tmp_path / "cases.jsonl", as_json=False, floor=0.0)
