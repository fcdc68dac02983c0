"""Errors that people may read. `str(error)` is fit for a channel, a modal field or a terminal.

SignoffError
├─ NotFound         no such plan, revision or step
├─ Conflict         the row moved before you did: an old button, a lost race, a late report
│  └─ HandledElsewhere  another bot has handled this delivery: whatever we did for it is undone
├─ NotAllowed       policy said no
├─ InvalidPlan      .issues: every problem found, each with its place
├─ BadConfig        signoff.toml or the environment cannot be used
├─ BadTime          a time was not understood, lies in the past, or does not exist
└─ Unavailable      the database does not answer now
"""

from collections.abc import Sequence
from dataclasses import dataclass


class SignoffError(Exception):
    """Expected: a sentence for the person, never a stack trace."""


class NotFound(SignoffError):
    """There is no such thing."""


class Conflict(SignoffError):
    """The row moved before you did."""


class HandledElsewhere(Conflict):
    """Another bot has handled this delivery meanwhile; nothing of what we did for it was committed."""


class LeaseLost(HandledElsewhere):
    """This process stood still for so long that another one does its work; nothing was written."""


class NotAllowed(SignoffError):
    """Policy said no."""


class BadConfig(SignoffError):
    """The configuration cannot be used."""


class BadTime(SignoffError):
    """A time cannot be used as it was said."""


class Unavailable(SignoffError):
    """The database does not answer now; nothing was written."""


@dataclass(frozen=True)
class Issue:
    """One problem of a plan: a stable code, where it stands, and a sentence."""

    code: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidPlan(SignoffError):
    """The plan cannot be proposed."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        super().__init__("\n".join(map(str, issues)))
        self.issues = tuple(issues)
