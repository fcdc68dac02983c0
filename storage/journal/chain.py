"""The hash that links one journal event to the one before it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import rfc8785

from storage.contract.spec import utc

_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
EXACT = 2**53 - 1
ABOVE = "^"  # in the place of a hash: the one of the event before, which lies in the row before


def event_text(
    *, prev: str, plan: int, seq: int, at: datetime, verb: str, actor: str, data: Mapping[str, Any]
) -> bytes:
    """The event as canonical JSON (RFC 8785): what is hashed, and what an export holds."""
    event: dict[str, Any] = {"prev": prev, "plan": plan, "seq": seq, "at": utc(at)}
    return canonical(event | {"verb": verb, "actor": actor, "data": dict(data)})


def event_hash(
    *, prev: str, plan: int, seq: int, at: datetime, verb: str, actor: str, data: Mapping[str, Any]
) -> str:
    """Covers the whole event and, through `prev`, everything before it in its chain."""
    text = event_text(prev=prev, plan=plan, seq=seq, at=at, verb=verb, actor=actor, data=data)
    return hashlib.sha256(text).hexdigest()


def canonical(value: Any) -> bytes:
    """RFC 8785; by Python's own encoder, which is four times faster, where both say the same."""
    return _ENCODE(value).encode() if _plain(value) else rfc8785.dumps(value)


def broken_link(events: Sequence[Any], seq: int = 0, prev: str = "") -> int | None:
    """The seq of the first event that does not follow from the one before, or None when the chain holds.

    They follow event `seq`, whose hash is `prev`; or nothing. One that was put away does not name it again:
    its own hash covers it all the same.
    """
    for number, event in enumerate(events, start=seq + 1):
        found = event_hash(
            prev=prev, plan=event.plan_id, seq=number, at=event.at, verb=event.verb, actor=event.actor,
            data=event.data,
        )  # fmt: skip
        named = prev if event.prev == ABOVE else event.prev
        if event.seq != number or named != prev or event.hash != found:
            return number
        prev = event.hash
    return None


def _plain(value: Any) -> bool:
    """Whether both encoders agree: no floats, no integer too large for JSON, keys with one order."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-EXACT <= value <= EXACT)
    if kind is dict:
        ours = all(type(key) is str and key.isascii() for key in value)
        return ours and all(type(inner) is str or _plain(inner) for inner in value.values())
    return kind is list and all(map(_plain, value))
