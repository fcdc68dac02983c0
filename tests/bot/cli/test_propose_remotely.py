"""`signoff propose` from a pipeline: what it says, and the exit code that tells how the plan ended."""

from argparse import Namespace
from itertools import count
from typing import Any

import pytest

from bot.cli import propose_remotely as remotely
from bot.machines.client import Client, Refused
from bot.machines.wire import Need, Status

pytestmark = pytest.mark.machines


def run(monkeypatch: pytest.MonkeyPatch, *told: Status | Exception, wait: str = "30m", **given: Any) -> int:
    """Its exit code, where Signoff answers so, one after the other; each look at the clock takes a second."""
    answers = iter(told)

    def next_one(*_: object) -> Status:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(Client, "propose", next_one)
    monkeypatch.setattr(Client, "status", next_one)
    said: dict[str, Any] = {
        "what": ["x"],
        "runbook": "",
        "slot": [],
        "answer": [],
        "channel": "",
        "behalf": [],
    }
    seconds = count()
    namespace = Namespace(**said | {"wait": wait, "key": "k"} | given)
    return remotely.propose_remotely("http://127.0.0.1:1", "sgn_x", namespace, lambda: float(next(seconds)))


def at(state: str, outcome: str = "", plan: int | None = 7) -> Status:
    return Status(plan=plan, state=state, outcome=outcome, said=f"it is {state}")


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (at("done", "succeeded"), 0), (at("done", "failed"), 1), (at("done", "rolled_back"), 1),
        (at("done", "incomplete"), 1), (at("refused", plan=None), 2), (at("rejected"), 3), (at("expired"), 3),
        (at("cancelled"), 3),
    ],
)  # fmt: skip
def test_the_exit_code_says_how_it_ended(monkeypatch, end, code):
    assert run(monkeypatch, at("proposed"), at("approved"), end) == code


def test_what_is_not_looked_at_yet_is_asked_for_again(monkeypatch):
    early = at("accepted", plan=None)
    assert run(monkeypatch, early, early, at("proposed"), at("done", "succeeded")) == 0


def test_when_the_time_is_over_it_still_waits(monkeypatch):
    assert run(monkeypatch, *[at("proposed")] * 9, wait="3s") == 4
    assert run(monkeypatch, *[at("accepted", plan=None)] * 9, wait="3s") == 4


def test_without_wait_it_is_enough_to_be_asked_for(monkeypatch):
    assert run(monkeypatch, at("proposed"), wait="") == 0
    assert run(monkeypatch, at("accepted", plan=None), wait="") == 0


def test_what_is_missing_is_said_with_the_way_to_say_it(monkeypatch, capsys):
    need = Need(name="version", question="Which version?", choices=("v1", "v2"))
    assert run(monkeypatch, at("planning").model_copy(update={"needs": (need,)})) == 2
    said = capsys.readouterr().err
    assert "with --key k and:" in said
    assert "--answer version=…  Which version? v1, v2" in said


def test_a_refusal_is_a_sentence(monkeypatch, capsys):
    assert run(monkeypatch, Refused("This token opens nothing (any more).")) == 2
    assert "opens nothing" in capsys.readouterr().err


@pytest.mark.parametrize("given", [{"wait": "soon"}, {"runbook": "x", "slot": ["nope"]}, {"answer": ["=1"]}])
def test_what_cannot_be_read_is_refused_before_anybody_is_asked(monkeypatch, given):
    assert run(monkeypatch, **given) == 2
