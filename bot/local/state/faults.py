"""What can go wrong on purpose: a fault strikes a number of times, or for a number of seconds."""

import time
from dataclasses import dataclass

from bot.local.shapes import Json
from bot.local.state.persistence import Changed

NAMES = {
    "rate_limit": "Web API calls answer 429",
    "api_down": "Web API calls answer 500",
    "slow_api": "Web API calls take a while",
    "lost_reply": "Web API calls are carried out, but their answer never arrives",
    "lost_ack": "Acks never arrive",
    "duplicate": "Deliveries come twice",
    "reorder": "Events arrive after the ones that follow them",
    "expired_trigger": "Trigger ids are too old",
    "stale_view": "A view has changed before it is published or updated",
}


@dataclass
class Fault:
    """One fault: how often it still strikes, until when, and which method (none is every one)."""

    left: int = 0
    until: float = 0.0
    method: str = ""


class Faults:
    """A small table, set from outside and used up by the parts that fail."""

    def __init__(self, changed: Changed) -> None:
        self._faults = {name: Fault() for name in NAMES}
        self._changed = changed
        self.retry_after = 1
        self.delay = 1.0

    def set(self, name: str, times: int = 0, *, seconds: float = 0.0, method: str = "") -> None:
        if name not in self._faults:
            raise ValueError(f"there is no fault {name}; there are {', '.join(NAMES)}")
        self._faults[name] = Fault(times, time.monotonic() + seconds, method)
        self._changed("fault", name, self.body(name))

    def strikes(self, name: str, method: str = "") -> bool:
        """Use up one, if there is one for this method."""
        fault = self._faults[name]
        if fault.method not in ("", method):
            return False
        if time.monotonic() < fault.until:
            return True
        if fault.left == 0:
            return False
        fault.left -= 1
        self._changed("fault", name, self.body(name))
        return True

    def clear(self) -> None:
        for name in self._faults:
            self.set(name)
        self.retry_after, self.delay = 1, 1.0

    def body(self, name: str) -> Json:
        fault = self._faults[name]
        seconds = max(0.0, round(fault.until - time.monotonic(), 1))
        facts = {"left": fault.left, "seconds": seconds, "method": fault.method}
        return {"id": name, "help": NAMES[name]} | facts

    def bodies(self) -> list[Json]:
        return [self.body(name) for name in self._faults]
