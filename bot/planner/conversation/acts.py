"""What somebody does with words in a plan's thread. No act approves anything."""

from dataclasses import dataclass
from typing import Literal

from storage.contract.spec import PlanSpec

Kind = Literal[
    "cancel", "approving", "question", "again", "undo", "retry", "edit", "unclear", "thanks", "hello", "talk"
]  # fmt: skip


@dataclass(frozen=True)
class Act:
    """One act. `topic` is what a question is about, `draft` the plan as an edit wants it.

    What is unclear is asked back: `asks` is the sentence, `choices` are answers as (label, words to say).
    """

    kind: Kind
    topic: str = ""
    step: str = ""
    draft: PlanSpec | None = None
    asks: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    later: str = ""  # words by which everything is moved later: “by 1 hour”


TALK = Act("talk")
