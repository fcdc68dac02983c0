"""A scripted agent: what it does next follows from the conversation alone. Pure; it knows no repository.

It must look at its file to learn what is wanted. A fault, drawn by whoever serves it, makes it go wrong.
"""

import json
import random
import re
from dataclasses import dataclass, replace
from typing import Any

EDITOR, TESTS = "str_replace_based_edit_tool", "run_tests"
WANTED = re.compile(r"Wanted: (def (\w+)\(count\): return (.+))")
FAULTS = (
    "wrong",
    "lazy",
    "cheat",
    "loop",
    "endless",
    "hostile",
    "malformed",
    "unknown_tool",
    "truncated",
    "refusal",
    "busy",
    "hung",
)
HOSTILE = (
    "import os, subprocess\n\ntry:\n    subprocess.run(['touch', '{witness}'])\nexcept OSError:\n    pass\n"
)


@dataclass(frozen=True)
class Turn:
    """What the model says: blocks, and why it stops; or an HTTP status instead."""

    content: tuple[dict[str, Any], ...] = ()
    stop: str = "tool_use"
    status: int = 200


@dataclass(frozen=True)
class Draw:
    """Which fault a conversation has, and how stubborn it is."""

    fault: str = ""
    mends: int = 1  # after how many complaints it does right; more than two is never, for one conversation


def draw(seed: int, title: str, number: int, rate: float) -> Draw:
    """By the seed alone; a later conversation about the same keeps its fault half as often."""
    dice = random.Random(f"{seed}/{title}/{number}")  # noqa: S311 # a script, no secret
    if dice.random() >= rate * (0.5 ** (number - 1)):
        return Draw()
    return Draw(dice.choice(FAULTS), dice.choice((1, 1, 2, 9)))


def brief_of(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What the first message asks for."""
    text = "".join(block.get("text", "") for block in messages[0]["content"] if block["type"] == "text")
    found, _ = json.JSONDecoder().raw_decode(text)
    return dict(found)


@dataclass(frozen=True)
class Talk:
    """A conversation, as the agent remembers it."""

    messages: list[dict[str, Any]]
    drawn: Draw
    witness: str

    @property
    def file(self) -> str:
        return str(brief_of(self.messages)["yours"][0])

    @property
    def test(self) -> str:
        return str(brief_of(self.messages)["tests"][0])

    @property
    def past(self) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["role"] == "assistant"]

    @property
    def shown(self) -> str:
        """What the file wants, if it was looked at."""
        return next((text for text in reversed(_results(self.messages)) if "Wanted:" in text), "")

    @property
    def wrong(self) -> bool:
        """Whether it still does what its fault makes it do."""
        return sum("Not done yet" in text for text in _texts(self.messages)) < self.drawn.mends

    def call(self, name: str, **given: Any) -> Turn:
        return Turn((_use(name, len(self.past), **given),))


def answer(messages: list[dict[str, Any]], drawn: Draw, witness: str) -> Turn:
    """The next turn."""
    talk = Talk(messages, drawn, witness)
    for way in (_refuses, _looks, _stumbles, _cheats, _shares, _writes, _wanders, _tries):
        if turn := way(talk):
            return turn
    return Turn((_text("The part is written as its docstring wants it."),), "end_turn")


def _refuses(talk: Talk) -> Turn | None:
    return Turn((_text("I will not."),), "refusal") if talk.drawn.fault == "refusal" else None


def _looks(talk: Talk) -> Turn | None:
    if talk.drawn.fault == "loop" or not talk.shown:
        return talk.call(EDITOR, command="view", path=talk.file)
    return None


def _stumbles(talk: Talk) -> Turn | None:
    """Once, right after the first look."""
    if len(talk.past) != 1:
        return None
    if talk.drawn.fault == "malformed":
        return talk.call(EDITOR, command="create")
    if talk.drawn.fault == "unknown_tool":
        return talk.call("bash", command="ls")
    if talk.drawn.fault == "truncated":
        return replace(talk.call(EDITOR, command="create", path=talk.file), stop="max_tokens")
    return None


def _cheats(talk: Talk) -> Turn | None:
    """Says that it is done, and has done nothing, or written its own test."""
    if talk.drawn.fault not in {"lazy", "cheat"} or not talk.wrong:
        return None
    if talk.drawn.fault == "cheat" and len(talk.past) == 1:
        return talk.call(EDITOR, command="create", path=talk.test, file_text="# green\n")
    return Turn((_text("It is done."),), "end_turn")


def _shares(talk: Talk) -> Turn | None:
    """Puts its name into a file that others write to as well; only a script makes it do so."""
    if talk.drawn.fault != "shared" or len(talk.past) != 1:
        return None
    brief = brief_of(talk.messages)
    text = f"OWNER = {str(brief['title'])!r}\n"
    return talk.call(EDITOR, command="create", path=str(brief["yours"][1]), file_text=text)


def _writes(talk: Talk) -> Turn | None:
    wrong = talk.drawn.fault == "wrong" and talk.wrong
    texts = [str(use["input"].get("file_text", "")) for use in _uses(talk.past)]
    code = _code(talk.shown, talk.drawn.fault, wrong, talk.witness)
    return None if code in texts else talk.call(EDITOR, command="create", path=talk.file, file_text=code)


def _wanders(talk: Talk) -> Turn | None:
    """Does not know that it is finished."""
    if talk.drawn.fault != "endless":
        return None
    return talk.call(EDITOR, command="view", path=talk.file, view_range=[1, len(talk.past)])


def _tries(talk: Talk) -> Turn | None:
    wrong = talk.drawn.fault == "wrong" and talk.wrong
    return None if wrong or _uses(talk.past)[-1]["name"] == TESTS else talk.call(TESTS)


def _code(shown: str, fault: str, wrong: bool, witness: str) -> str:
    found = WANTED.search(shown)
    if found is None:
        return "# there is nothing wanted\n"
    line = found[1] if not wrong else f"def {found[2]}(count): return 0"
    first = HOSTILE.format(witness=witness) if fault == "hostile" else ""
    signature, _, body = line.partition(": return ")
    return f'"""A part of the shop.\n\nWanted: {found[1]}\n"""\n{first}\n\n{signature}:\n    return {body}\n'


def _uses(past: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [block for message in past for block in message["content"] if block["type"] == "tool_use"]


def _results(messages: list[dict[str, Any]]) -> list[str]:
    return [
        str(b["content"])
        for m in messages
        if m["role"] == "user"
        for b in m["content"]
        if b["type"] == "tool_result"
    ]


def _texts(messages: list[dict[str, Any]]) -> list[str]:
    return [b["text"] for m in messages if m["role"] == "user" for b in m["content"] if b["type"] == "text"]


def _text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def _use(name: str, number: int, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number:04}", "name": name, "input": given}
