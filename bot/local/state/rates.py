"""Slack's rate limits, when they are asked for: so many calls of a method in a minute, and then a wait."""

import math
from collections import defaultdict, deque
from collections.abc import Callable

MINUTE = 60.0
# Slack promises at least so many; who stays below is never refused.
TIERS = {1: 1, 2: 20, 3: 50, 4: 100}
METHODS = {
    "apps.connections.open": 1,
    "chat.update": 3,
    "chat.postEphemeral": 4,
    "chat.delete": 3,
    "assistant.threads.setStatus": 4,  # it has a limit of its own, above this
    "conversations.info": 3,
    "conversations.open": 3,
    "conversations.replies": 3,
    "conversations.history": 3,
    "users.info": 4,
    "users.lookupByEmail": 3,
    "users.conversations": 3,
    "bots.info": 3,
    "usergroups.list": 2,
    "usergroups.users.list": 2,
    "views.open": 4,
    "views.push": 4,
    "views.update": 4,
    "views.publish": 4,
    "files.getUploadURLExternal": 4,
    "files.completeUploadExternal": 4,
    "reactions.add": 3,
    "reactions.remove": 2,
}
# chat.postMessage has a limit of its own: about one a second and channel, with short bursts above it.
POST, BURST = "chat.postMessage", 5


class Rates:
    """Counts the calls of the last minute by method, and of the last seconds by channel. Off until told."""

    def __init__(self, clock: Callable[[], float], *, on: bool = False) -> None:
        self.on = on
        self._clock = clock
        self._calls: dict[str, deque[float]] = defaultdict(deque)

    def wait(self, method: str, channel: str) -> int:
        """Count this call; the seconds for `Retry-After` if it is one too many."""
        if not self.on:
            return 0
        key, most, seconds = f"{method} {channel}", BURST, float(BURST)
        if method != POST:
            key, most, seconds = method, TIERS.get(METHODS.get(method, 0), 0), MINUTE
        return self._count(self._calls[key], most, seconds) if most else 0

    def _count(self, calls: deque[float], most: int, seconds: float) -> int:
        now = self._clock()
        while calls and calls[0] <= now - seconds:
            calls.popleft()
        if len(calls) >= most:
            return max(1, math.ceil(calls[0] + seconds - now))
        calls.append(now)
        return 0
