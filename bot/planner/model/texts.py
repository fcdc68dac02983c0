"""The kinds of text in a model's answer: bounded, visible, and inert in Slack."""

from typing import Annotated

from pydantic import AfterValidator

from bot.planner.model.prompt import plain
from bot.untrusted import inert

WORD, VALUE = 100, 4_000  # characters of a name, of a parameter


def _at_most(limit: int) -> AfterValidator:
    """Checked here only: the API takes no lengths in a schema."""

    def check(text: str) -> str:
        if len(text) > limit:
            raise ValueError(f"longer than {limit} characters")
        if inert(text) != text:
            raise ValueError("holds characters that nobody can see")
        return text

    return AfterValidator(check)


Prose = Annotated[str, AfterValidator(plain)]
Word = Annotated[str, _at_most(WORD)]
Text = Annotated[str, _at_most(VALUE)]
