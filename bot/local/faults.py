"""What can go wrong on purpose: each fault counts down the times it will still strike."""

from bot.local.memory import Changed
from bot.local.shapes import Json

NAMES = {
    "rate_limit": "The next Web API calls answer 429",
    "api_down": "The next Web API calls answer 500",
    "lost_ack": "The next acks never arrive",
    "duplicate": "The next deliveries come twice",
    "expired_trigger": "The next trigger ids are too old",
    "stale_view": "The next view updates lose the race",
}


class Faults:
    """A small table of name and count, set from outside and used up by the parts that fail."""

    def __init__(self, changed: Changed) -> None:
        self._left = dict.fromkeys(NAMES, 0)
        self._changed = changed
        self.retry_after = 1

    def set(self, name: str, times: int) -> None:
        if name not in self._left:
            raise ValueError(f"there is no fault {name}; there are {', '.join(NAMES)}")
        self._left[name] = times
        self._changed("fault", name, self.body(name))

    def strikes(self, name: str) -> bool:
        """Use up one, if there is one."""
        if self._left[name] == 0:
            return False
        self.set(name, self._left[name] - 1)
        return True

    def body(self, name: str) -> Json:
        return {"id": name, "help": NAMES[name], "left": self._left[name]}

    def bodies(self) -> list[Json]:
        return [self.body(name) for name in self._left]
