"""Doors as signoff.toml names them: hooks that machines call, and where we tell of what happens."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from storage.contract.capability import Document

SlackId = Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]+$")]
HookSecret = Annotated[str, StringConstraints(pattern=r"^SIGNOFF_HOOK_[A-Z0-9_]+$")]
EventsSecret = Annotated[str, StringConstraints(pattern=r"^SIGNOFF_EVENTS_[A-Z0-9_]+$")]


class Route(Document):
    """What becomes of a call: the operator chooses the runbook, and which fields fill its slots."""

    runbook: str
    when: dict[str, str] = Field(default_factory=dict)  # field → what it must be; none: always
    slots: dict[str, str] = Field(default_factory=dict)  # slot → the field that it is taken from
    values: dict[str, str] = Field(default_factory=dict)  # slot → what it is
    one_per: str = ""  # the field whose value is one matter; else what the source says
    pause_minutes: float = Field(default=30.0, ge=0, le=10_080)  # before the same matter is a plan again


class Hook(Document):
    """A source that calls us at /hooks/NAME, and whose calls may become plans."""

    kind: Literal["alertmanager", "pagerduty", "github", "standard"]
    secret_env: Annotated[tuple[HookSecret, ...], Field(min_length=1, max_length=2)]  # two while they rotate
    channel: SlackId
    owner: SlackId
    routes: Annotated[tuple[Route, ...], Field(min_length=1)]
    unknown_sender: Literal["refuse", "owner"] = "refuse"


def _https(url: str) -> str:
    local = ("http://127.0.0.1:", "http://localhost:")
    if not url.startswith(("https://", *local)):
        raise ValueError("an address of https://, or one of this machine")
    return url


class Sink(Document):
    """Who is told of what happens to plans, as signed CloudEvents."""

    url: Annotated[str, AfterValidator(_https)]
    secret_env: EventsSecret
    types: tuple[str, ...] = ()  # none named: every move
    channels: tuple[SlackId, ...] = ()  # none named: every channel


class OnCall(Document):
    """A schedule elsewhere whose people are a group here: `oncall:NAME`."""

    provider: Literal["pagerduty", "opsgenie"]
    token_env: Annotated[str, StringConstraints(pattern=r"^SIGNOFF_ONCALL_[A-Z0-9_]+$")]
    schedule: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")]  # its id there
    levels: Annotated[tuple[int, ...], Field(min_length=1)] = (
        1,
    )  # of escalation; the last is often everybody
    url: Annotated[str, AfterValidator(_https)] = "https://"  # another address than the provider's own
    holds: Literal["approval", "shift"] = "approval"  # whether a yes outlives the shift that it was given in
    otherwise: Annotated[str, StringConstraints(pattern=r"^(S[A-Z0-9]+)?$")] = (
        ""  # asked while nobody can say
    )
