"""How fast Slack may be spoken to. What is lost with the process costs at most one refusal."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

BURST = 8  # messages that a channel takes at once; then one a second, as Slack asks
UPDATES = 20  # changes of messages at once; then forty a minute, for all channels together
EVERY = timedelta(seconds=1.1)  # as Slack counts it, on the far side of a network that hurries and dawdles
SLOWLY = timedelta(seconds=1.5)
STRICT = timedelta(minutes=1)  # after a refusal there are no bursts for so long
POST, UPDATE = "chat.postMessage", "chat.update"


@dataclass
class Pace:
    """A bucket for the posts of each channel, one for all updates, and a pause per refused method."""

    _full_at: dict[str, datetime] = field(default_factory=dict)  # when each bucket is full again
    _paused: dict[str, datetime] = field(default_factory=dict)
    _strict_until: dict[str, datetime] = field(default_factory=dict)

    def ready(self, method: str, channel: str, now: datetime) -> bool:
        """Whether this may be sent now."""
        if self._paused.get(method, now) > now:
            return False
        bucket, every, most = _bucket(method, channel)
        room = 1 if self._strict_until.get(method, now) > now else most
        return not bucket or self._full_at.get(bucket, now) <= now + every * (room - 1)

    def sent(self, method: str, channel: str, now: datetime) -> None:
        bucket, every, _ = _bucket(method, channel)
        if bucket:
            self._full_at[bucket] = max(self._full_at.get(bucket, now), now) + every

    def refused(self, method: str, now: datetime, wait: timedelta) -> None:
        """Slack said 429: nobody calls this method before it may be called again."""
        self._paused[method] = now + wait
        self._strict_until[method] = now + max(STRICT, wait)


def _bucket(method: str, channel: str) -> tuple[str, timedelta, int]:
    known = {POST: (f"post:{channel}", EVERY, BURST), UPDATE: ("update", SLOWLY, UPDATES)}
    return known.get(method, ("", EVERY, 1))
