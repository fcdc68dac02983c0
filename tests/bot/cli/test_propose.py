"""`signoff propose`: what is handed in at the terminal, and what is said there."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.cli.propose import asked_for, hand_in, propose, wait_for
from bot.config import BotSettings
from storage.errors import InvalidPlan, SignoffError


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BotSettings:
    monkeypatch.setenv("SIGNOFF_STATE", str(tmp_path))
    return BotSettings()


def test_a_name_that_ends_so_is_a_file_and_anything_else_are_words(tmp_path):
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"goal": "x"}))

    assert asked_for(str(file)) == {"plan": {"goal": "x"}}
    assert asked_for("restart checkout") == {"text": "restart checkout"}
    with pytest.raises(InvalidPlan, match="There is no file"):
        asked_for(str(tmp_path / "other.json"))


def test_without_a_bot_it_lies_in_line(settings, capsys):
    assert propose(settings, "restart checkout", "C1", patience=0.0) == 0
    assert "It lies in line" in capsys.readouterr().out


def test_what_the_bot_says_is_handed_on(lite):
    key = hand_in(lite, {"text": "restart checkout"}, "C1")
    slept: list[float] = []

    def bot_answers(_: float) -> None:
        slept.append(_)
        with lite.handling(key):
            lite.handled()
        lite.leave_answer(key, {"plan": 7})

    assert wait_for(lite, key, 5.0, bot_answers) == {"plan": 7}
    assert len(slept) == 1


def test_a_secret_is_not_even_put_into_line(lite):
    held: dict[str, Any] = {"plan": {"goal": "x", "steps": [{"token": "ghp_" + "a" * 36}]}}
    with pytest.raises(SignoffError, match="looks like a secret"):
        hand_in(lite, held, "C1")

    assert lite.unhandled() == []
