"""How fast Slack may be spoken to. What is lost with the process costs at most one refusal.

Instants are seconds of a clock that nobody sets: a wall clock that is put back would silence the bot.
"""

from dataclasses import dataclass, field

BURST = 3  # messages that people wait for and a channel takes at once; then one a second, as Slack asks
ALONE = 1.5  # of what nobody waits for: looks come once a second, and not more often than that in the end
MOST, WITHIN = 5, 5.5  # messages that a channel takes in so many seconds, with the burst
UPDATES = 9  # changes of messages at once; then forty a minute, for all channels together
EVERY = 1.1  # seconds; as Slack counts it, on the far side of a network that hurries and dawdles
SLOWLY = 1.5
STRICT = 60.0  # after a refusal there are no bursts for so long
LONGEST = 30.0  # between two tries while Slack cannot be reached at all
POST, UPDATE = "chat.postMessage", "chat.update"


@dataclass
class Pace:
    """A bucket for the posts of each channel, one for all updates, and a pause per refused method."""

    _full_at: dict[str, float] = field(default_factory=dict)  # when each bucket is full again
    _lately: dict[str, list[float]] = field(default_factory=dict)  # when the last messages of each went
    _paused: dict[str, float] = field(default_factory=dict)
    _strict_until: dict[str, float] = field(default_factory=dict)
    served: dict[str, float] = field(default_factory=dict)  # when something of each requester was sent last
    _lost: int = 0  # calls in a row that did not reach Slack
    _silent_until: float = 0.0

    def ready(self, method: str, channel: str, now: float, *, urged: bool = True) -> bool:
        """Whether this may be sent now; what nobody waits for leaves a channel's burst to the others."""
        if self._paused.get(method, now) > now or self.silent(now):
            return False
        bucket, every, most = bucket_of(method, channel)
        strict = self._strict_until.get(method, now) > now
        room = 1 if strict else ALONE if method == POST and not urged else most
        full = self._counted(bucket, now) >= MOST or self._full_at.get(bucket, now) > now + every * (room - 1)
        return not (bucket and full)

    def tight(self, channel: str, now: float) -> bool:
        """Whether this channel takes no more than one message now: then the next waits for a second."""
        bucket, every, most = bucket_of(POST, channel)
        room = 1 if self._strict_until.get(POST, now) > now else most
        many = self._counted(bucket, now) >= MOST - 1
        return many or self._full_at.get(bucket, now) > now + every * (room - 2)

    def look(self, now: float) -> None:
        """See what others know of it; alone, nobody knows more."""

    def take(self, method: str, channel: str, now: float, *, urged: bool = True) -> bool:
        """Take the room for one message, if there is any."""
        free = self.ready(method, channel, now, urged=urged)
        if free:
            self.sent(method, channel, now)
        return free

    def sent(self, method: str, channel: str, now: float) -> None:
        bucket, every, _ = bucket_of(method, channel)
        if bucket:
            self._full_at[bucket] = max(self._full_at.get(bucket, now), now) + every
        if method == POST:
            self._lately[bucket] = [*self._lately.get(bucket, ()), now][-MOST:]

    def _counted(self, bucket: str, now: float) -> int:
        return sum(at > now - WITHIN for at in self._lately.get(bucket, ()))

    def refused(self, method: str, now: float, wait: float) -> None:
        """Slack said 429: nobody calls this method before it may be called again."""
        self._paused[method] = now + wait
        self._strict_until[method] = now + max(STRICT, wait)

    def silent(self, now: float) -> bool:
        """Whether Slack was not there, and is not tried again yet."""
        return self._silent_until > now

    def lost(self, now: float) -> None:
        """Slack is not there: nobody calls it for a while, a longer one each time."""
        self._silent_until = now + min(2.0**self._lost, LONGEST)
        self._lost = min(self._lost + 1, 10)

    def heard(self) -> None:
        """Slack has answered."""
        self._lost, self._silent_until = 0, 0.0


def bucket_of(method: str, channel: str) -> tuple[str, float, int]:
    known = {POST: (f"post:{channel}", EVERY, BURST), UPDATE: ("update", SLOWLY, UPDATES)}
    return known.get(method, ("", EVERY, 1))
