"""The formal model holds, would find what it is there to find, and moves as the code does."""

import os
import re
import shutil

import pytest

from storage.contract.states import PLAN_MOVES, STEP_MOVES
from tests.proof.model import BUGS, MODEL, search

TEXT = MODEL.read_text(encoding="utf-8")


@pytest.fixture
def spin() -> None:
    if not (shutil.which("spin") and shutil.which("gcc")):
        reason = "Spin or gcc is not installed (Debian: apt-get install spin gcc)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def declared(kind: str) -> dict[str, tuple[frozenset[str], str]]:
    """The moves of the model's own table."""
    sources = re.findall(rf"#define MAY_{kind}_(\w+)\S*\s+\((.*)\)", TEXT)
    goals = dict(re.findall(rf"#define DO_{kind}_(\w+?)(?:\(s\))?\s+\S+ = (\w+)", TEXT))
    return {verb: (frozenset(re.findall(r"== (\w+)", guard)), goals[verb]) for verb, guard in sources}


@pytest.mark.parametrize(("kind", "moves"), [("plan", PLAN_MOVES), ("step", STEP_MOVES)])
def test_the_model_moves_as_the_code_does(kind, moves):
    assert declared(kind) == {
        verb: (frozenset(map(str, b)), str(after)) for verb, (b, after) in moves.items()
    }


@pytest.mark.parametrize("kind", ["plan", "step"])
def test_the_model_changes_states_only_by_those_moves(kind):
    body = TEXT.partition("inline skip_pending")[2]

    assert [verb for verb in declared(kind) if f"DO_{kind}_{verb}" not in body] == []
    assert re.findall(r"\bplan = ", body) == []
    born = {"step[PREPARE] = pending", "step[DEPLOY] = pending", "step[UNDO] = none", "step[UNDO] = pending"}
    assert set(re.findall(r"step\[\w+\] = \w+", body)) == born


@pytest.mark.parametrize("cut", ["DECIDING", "RUNNING"])
def test_no_interleaving_breaks_a_promise(spin, cut):
    found = search(cut, compiler="-O1")

    assert found.error == ""
    assert found.states > 100_000


@pytest.mark.parametrize("bug", BUGS)
def test_each_seeded_bug_is_found(spin, bug):
    found = search(BUGS[bug], f"BUG_{bug}")

    assert "assertion violated" in found.error


def test_every_bug_of_the_model_is_searched_for():
    assert set(re.findall(r"#ifdef BUG_(\w+)", TEXT)) == set(BUGS)
