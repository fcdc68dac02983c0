"""Every command says what it does in the same form: a short phrase that begins with a verb."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version

import pytest

from bot.__main__ import VERBS
from bot.__main__ import parser as signoff
from storage.__main__ import parser as storage
from workers.__main__ import parser as workers
from workers.kit.check import parser as check

TOPS = {"signoff": signoff(), "storage": storage("python -m storage"), "workers": workers(), "check": check()}
PHRASE = re.compile(r"[a-z`\[][^\n]*[^.\s]")
LINE = 60  # so many columns are left beside the longest name on a terminal of 80


def commands(top: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Each command with what the list of commands says of it."""
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for said in action._get_subactions():
                yield said.dest, said.help or "", action.choices[said.dest]


COMMANDS = [
    pytest.param(said, parser, id=f"{name} {command}")
    for name, top in TOPS.items()
    for command, said, parser in commands(top)
]
ARGUMENTS = [
    pytest.param(action.help or "", id=f"{parser.prog} {action.dest}")
    for top in TOPS.values()
    for parser in (top, *(parser for _, _, parser in commands(top)))
    for action in parser._actions
    if not isinstance(action, argparse._SubParsersAction)
]


@pytest.mark.parametrize(("said", "parser"), COMMANDS)
def test_a_command_is_a_phrase_on_one_line_and_says_it_again(
    said: str, parser: argparse.ArgumentParser
) -> None:
    assert PHRASE.fullmatch(said)
    assert len(said) <= LINE
    assert parser.description == said


@pytest.mark.parametrize("said", ARGUMENTS)
def test_an_argument_is_a_phrase(said: str) -> None:
    assert PHRASE.fullmatch(said)


@pytest.mark.parametrize("top", TOPS.values(), ids=TOPS)
def test_a_program_is_a_phrase(top: argparse.ArgumentParser) -> None:
    assert PHRASE.fullmatch(top.description or "")


def test_every_command_of_signoff_is_one_that_policy_knows() -> None:
    assert {name for name, _, _ in commands(TOPS["signoff"])} == {*VERBS}


@pytest.mark.parametrize("package", ["bot", "workers", "storage"])
def test_each_program_says_its_version(package: str) -> None:
    said = subprocess.run(
        [sys.executable, "-m", package, "--version"], capture_output=True, text=True, check=True
    )

    assert said.stdout == f"signoff {version('signoff')}\n"
