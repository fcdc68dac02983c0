"""The hash that links one journal event to the one before it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from storage.contract import fingerprint
from storage.spec import utc


def event_hash(
    *, prev: str, plan: int, seq: int, at: datetime, verb: str, actor: str, data: Mapping[str, Any]
) -> str:
    """Covers the whole event and, through `prev`, everything before it in its chain."""
    event: dict[str, Any] = {"prev": prev, "plan": plan, "seq": seq, "at": utc(at)}
    return fingerprint(event | {"verb": verb, "actor": actor, "data": dict(data)})


def broken_link(events: list[Any]) -> int | None:
    """The seq of the first event that does not follow from the one before, or None when the chain holds."""
    prev = ""
    for number, event in enumerate(events, start=1):
        found = event_hash(
            prev=prev, plan=event.plan_id, seq=number, at=event.at, verb=event.verb, actor=event.actor,
            data=event.data,
        )  # fmt: skip
        if event.seq != number or event.prev != prev or event.hash != found:
            return number
        prev = event.hash
    return None
