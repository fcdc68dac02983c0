"""What machines send and read, by whichever door. Closed documents: what is not listed is refused."""

import unicodedata
from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from storage.contract.capability import Document

LONGEST = 2000
Name = Annotated[str, StringConstraints(max_length=100)]
Value = Annotated[str, StringConstraints(max_length=500)]
Key = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,200}$")]


class Asked(Document):
    """A wish: in words, as a runbook with its slots, or as a whole plan. Exactly one of the three."""

    text: Annotated[str, StringConstraints(max_length=LONGEST)] = ""
    runbook: Name = ""
    slots: Annotated[dict[Name, Value], Field(max_length=50)] = Field(default_factory=dict)
    plan: dict[str, Any] | None = None
    channel: Name = ""  # may be left out where the token names one
    on_behalf_of: Annotated[tuple[Name, ...], Field(max_length=10)] = ()  # each becomes an author
    answers: Annotated[dict[Name, Value], Field(max_length=50)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _printable(self) -> Self:
        if any(_controls(text) for text in _texts(self.model_dump())):
            raise ValueError("It holds control characters. Please say it in plain text.")
        return self


def _texts(value: Any) -> Iterator[str]:
    """Every name and every text, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for one in pair for text in _texts(one))
    elif isinstance(value, list | tuple):
        yield from (text for one in value for text in _texts(one))


def _controls(text: str) -> bool:
    return any(ch not in "\n\r\t" and unicodedata.category(ch) == "Cc" for ch in text)


class Need(Document):
    """A fact that is missing: say the same again under the same key, with `answers`."""

    name: str
    question: str
    choices: tuple[str, ...] = ()


class StepStatus(Document):
    """One step, as the card has it."""

    step: str
    title: str
    state: str
    summary: str = ""


class Status(Document):
    """Where a plan stands. `state` is accepted until it was looked at, refused where there is none."""

    plan: int | None = None
    state: str
    outcome: str = ""
    said: str = ""  # a sentence for people
    needs: tuple[Need, ...] = ()
    steps: tuple[StepStatus, ...] = ()
    url: str = ""  # its card in Slack
    key: str = ""

    @property
    def over(self) -> bool:
        """Whether it will not move any more."""
        return self.state in OVER


OVER = ("done", "rejected", "expired", "cancelled", "refused")


class Listed(Document):
    """A runbook that may be asked for."""

    runbook: str
    title: str
    example: str
    slots: dict[str, tuple[str, ...]]  # its names; what each may be, where that is a list


class Problem(Document):
    """One thing that is wrong: a stable code, where it stands, and a sentence."""

    code: str
    path: str = ""
    message: str
