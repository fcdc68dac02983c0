"""The rules of policy, as they stand in signoff.toml: when a rule speaks, and what it then says."""

from datetime import datetime, time
from fnmatch import fnmatchcase
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, model_validator

from storage.contract.capability import Document
from storage.contract.demands import Part

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Risk = Literal["low", "medium", "high"]


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_several)]


class Over(Document):
    """More than this many, in the whole plan; what is not given has no limit."""

    steps: int | None = Field(default=None, ge=0)
    replicas: int | None = Field(default=None, ge=0)
    databases: int | None = Field(default=None, ge=0)


class When(Document):
    """Which steps a rule speaks of: all that is said must fit. A name may hold `*`; several mean any."""

    worker: Names = ()
    action: Names = ()
    effect: Literal["", "changes", "reads"] = ""
    environment: Names = ()
    target: Names = ()
    risk: Annotated[tuple[Risk, ...], BeforeValidator(_several)] = ()
    requester: Names = ()  # user ids, or roles
    days: Annotated[tuple[Day, ...], BeforeValidator(_several)] = ()
    after: time | None = None
    before: time | None = None
    over: Over = Over()

    def hours(self, moment: datetime, zone: str) -> bool:
        """Whether the rule speaks at this moment; `after` later than `before` reaches past midnight."""
        there = moment.astimezone(ZoneInfo(zone))
        clock, since, until = there.time(), self.after or time.min, self.before or time.max
        inside = since <= clock < until if since <= until else clock >= since or clock < until
        return inside and (not self.days or DAYS[there.weekday()] in self.days)


def fits(wanted: tuple[str, ...], value: str) -> bool:
    """Nothing wanted fits everything; `*` stands for any letters."""
    return not wanted or any(fnmatchcase(value, pattern) for pattern in wanted)


class Require(Document):
    """What must be given before it runs. Each approval is another person's."""

    approvals: int = Field(default=1, ge=1, le=20)
    of: Names = Field(default=(), alias="from")  # user ids, Slack group ids, roles; none: the approvers
    second_factor: bool = False
    # Each approver has opened Details; left out where nobody asks for it: the policy's version stays.
    read: bool = Field(default=False, exclude_if=lambda given: not given)
    authors: bool = False  # those who asked for it or changed it may approve it
    within_hours: float | None = Field(default=None, gt=0, le=720)
    window: str = ""  # starts only while this window is open


class BreakGlass(Document):
    """What may be overridden in an emergency, and by whom."""

    overrides: tuple[Part, ...] = Field(min_length=1)
    of: Names = Field(alias="from", min_length=1)


class Rule(Document):
    """One rule: its name and reason are said on the card."""

    name: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    when: When = When()
    allow: Literal[True] | None = None
    require: Require | None = None
    deny: Literal[True] | None = None
    break_glass: BreakGlass | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        said = [n for n in ("allow", "require", "deny", "break_glass") if getattr(self, n) is not None]
        if len(said) != 1:
            both = " and ".join(said) or "none of them"
            raise ValueError(f"a rule says exactly one of allow, require, deny, break_glass; this: {both}")
        if self.require and self.require.authors and (not self.when.risk or "high" in self.when.risk):
            raise ValueError('authors approve only what is not high: say when = { risk = ["low", "medium"] }')
        return self

    def people(self) -> tuple[str, ...]:
        """Everybody that it names."""
        return (
            *(self.require.of if self.require else ()),
            *(self.break_glass.of if self.break_glass else ()),
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class Limits(Document):
    """How much at once; 0 is no limit."""

    plans_per_hour: int = Field(default=60, ge=0)  # asked for by one person
    plans_per_target: int = Field(default=20, ge=0)  # open at the same time


class Breaker(Document):
    """So many failed changes within so many minutes hold further ones, for so long or until an admin."""

    failures: int = Field(default=5, ge=0)  # 0: never
    within_minutes: float = Field(default=15.0, gt=0)
    pause_minutes: float = Field(default=30.0, ge=0)  # 0: until an admin resumes
