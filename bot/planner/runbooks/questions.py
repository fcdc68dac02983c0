"""What is missing before there can be a plan, as the fields of one form."""

from collections.abc import Mapping
from typing import Literal

import pydantic

from storage.contract.capability import Document
from storage.errors import SignoffError


class Field(Document):
    """One fact that only the person knows. `value` is what is known already."""

    name: str
    label: str
    kind: Literal["choice", "number", "text", "time", "confirm"] = "text"
    options: tuple[str, ...] = ()
    value: str = ""


BY_FORM = "Let's do it by form."  # when words do not help


class Form(Document):
    """Everything that is missing, asked at once. `runbook` is the one that it is for, if it is for one."""

    why: str
    fields: tuple[Field, ...]
    runbook: str = ""


class Given(Document):
    """What forms have answered so far: by the runbook's slots, and in words that a model reads."""

    runbook: str = ""
    values: dict[str, str] = pydantic.Field(default_factory=dict)
    said: tuple[str, ...] = ()
    rounds: int = 0


def answered(given: Given, form: Form, values: Mapping[str, str]) -> Given:
    """With what this form answered: it had every fact that its runbook needs."""
    said = tuple(f"{field.label} {values[field.name]}" for field in form.fields if values.get(field.name))
    return Given(
        runbook=form.runbook, values=dict(values), said=(*given.said, *said), rounds=given.rounds + 1
    )


class NeedsAnswers(SignoffError):
    """There can be no plan before the requester has answered a form."""

    def __init__(self, form: Form) -> None:
        super().__init__(form.why)
        self.form = form


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
