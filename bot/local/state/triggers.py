"""Trigger ids: a person's act gives the app three seconds to open one view."""

import secrets
import time

from bot.local.shapes import Refused
from bot.local.state.faults import Faults

LIFETIME = 3.0


class Triggers:
    """Issued with an act, exchanged once for a view."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._issued: dict[str, tuple[str, float]] = {}
        self._used: set[str] = set()

    def issue(self, user_id: str) -> str:
        trigger = f"{secrets.randbelow(10**12)}.{secrets.token_hex(8)}"
        self._issued[trigger] = (user_id, time.monotonic())
        return trigger

    def exchange(self, trigger: str) -> str:
        """The person whose act it was."""
        if trigger in self._used:
            raise Refused("exchanged_trigger_id")
        if trigger not in self._issued:
            raise Refused("invalid_trigger_id")
        user_id, issued = self._issued[trigger]
        if time.monotonic() - issued > LIFETIME or self._faults.strikes("expired_trigger"):
            raise Refused("expired_trigger_id")
        self._used.add(trigger)
        return user_id
