"""What a worker answers. Data, never commands."""

import math
from typing import Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict

Data = TypeVar("Data")


class Fault(BaseModel):
    """Why a step failed. `transient` may be tried again; `after` is the least wait in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["transient", "permanent"]
    message: str
    after: float | None = None


class Report(BaseModel, Generic[Data]):
    """The outcome of one attempt. `summary` is one line: outcome, key number, state things were left in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Literal["succeeded", "failed"]
    summary: str
    data: Data | None = None
    error: Fault | None = None
    recommendations: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()

    @classmethod
    def ok(cls, summary: str, data: Data, *, artifacts: tuple[str, ...] = ()) -> Self:
        return cls(status="succeeded", summary=summary, data=data, artifacts=artifacts)

    @classmethod
    def failed(
        cls,
        summary: str,
        data: Data | None = None,
        *,
        kind: Literal["transient", "permanent"] = "permanent",
        recommendations: tuple[str, ...] = (),
        artifacts: tuple[str, ...] = (),
    ) -> Self:
        return cls(
            status="failed",
            summary=summary,
            data=data,
            error=Fault(kind=kind, message=summary),
            recommendations=recommendations,
            artifacts=artifacts,
        )


AnyReport = Report[dict[str, Any]]


CHECKPOINT = "checkpoint"


def asks(report: dict[str, Any] | None) -> bool:
    """Whether a stored report is no failure but a question that the plan itself puts to people."""
    return bool(((report or {}).get("data") or {}).get(CHECKPOINT))


OUTDATED = "outdated"


def outdated(report: dict[str, Any] | None) -> bool:
    """Whether a step did not start since what it rests on has changed: as it stands, it never can."""
    return bool(((report or {}).get("data") or {}).get(OUTDATED))


def storable(report: Report[Any]) -> AnyReport:
    """The report as every database can keep it: no NUL, no half of a character, no number that JSON lacks."""
    return AnyReport.model_validate(_plain(report.model_dump(mode="json")))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_plain(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, str):
        return value.replace("\0", "").encode(errors="replace").decode()
    return None if isinstance(value, float) and not math.isfinite(value) else value
