"""What is missing before there can be a plan, as the fields of one form."""

from collections.abc import Mapping, Sequence
from typing import Literal

from storage.contract import Document
from storage.errors import SignoffError


class Field(Document):
    """One fact that only the person knows. `value` is what is known already."""

    name: str
    label: str
    kind: Literal["choice", "number", "text", "time"] = "text"
    options: tuple[str, ...] = ()
    value: str = ""


def answered(text: str, fields: Sequence[Field], values: Mapping[str, str]) -> str:
    """The request with what the form answered, in words that a planner reads."""
    said = [f"{field.label} {values[field.name]}" for field in fields if values.get(field.name)]
    return "\n".join([text, *said])


class Offer(Document):
    """A runbook that may be meant; a person picks, nobody else."""

    id: str
    title: str
    example: str


class NoPlan(SignoffError):
    """The request does not become a plan; the sentence says why and what to try."""

    def __init__(self, why: str, offers: tuple[Offer, ...] = ()) -> None:
        super().__init__(why)
        self.offers = offers


class Missing(NoPlan):
    """One runbook fits, but facts are missing: the form asks for `fields`, then it is planned again."""

    def __init__(self, why: str, runbook: str, fields: tuple[Field, ...]) -> None:
        super().__init__(why)
        self.runbook = runbook
        self.fields = fields
