"""The pace of several bots that speak to one Slack: rows hold its buckets, and the pauses after refusals."""

from dataclasses import dataclass, field

from bot.slack.pace import Pace, bucket_of
from storage.exchange.pacing import PAUSE
from storage.intention import Intention

TRIES = 3  # to take room while others take it, too; then the next round does
LONGEST_PAUSE = 300.0  # that Slack is asked to be left alone for
APART = 2.0  # seconds by which the clocks of two machines may differ


@dataclass(kw_only=True)
class SharedPace(Pace):
    """What this process remembers is never ahead of the rows: where it sees no room, there is none.

    Rows tell instants by the clock that all bots agree on. What lies further ahead than it can was written
    by a clock that has been put back, and counts for nothing.
    """

    store: Intention = field(repr=False)

    def look(self, now: float) -> None:
        """See what Slack refused to others."""
        ahead = self._ahead(now)
        for method, facts in self.store.pauses().items():
            for known, key in ((self._paused, "until"), (self._strict_until, "strict")):
                until = float(facts[key]) - ahead
                if until <= now + LONGEST_PAUSE:
                    known[method] = max(known.get(method, until), until)

    def take(self, method: str, channel: str, now: float, *, urged: bool = True) -> bool:
        bucket = bucket_of(method, channel)[0]
        if not bucket or not self.ready(method, channel, now, urged=urged):
            return not bucket and super().take(method, channel, now, urged=urged)
        for _ in range(TRIES):
            seen = self._recall(method, channel, now)
            if not super().take(method, channel, now, urged=urged):
                return False
            if self.store.note_pace(bucket, seen, self._facts(bucket, now)):
                return True
        return False

    def refused(self, method: str, now: float, wait: float) -> None:
        super().refused(method, now, wait)
        ahead = self._ahead(now)
        facts = {"until": self._paused[method] + ahead, "strict": self._strict_until[method] + ahead}
        self.store.note_pace(f"{PAUSE}{method}", None, facts)

    def _recall(self, method: str, channel: str, now: float) -> int:
        """What all bots have sent; the version of that."""
        bucket, every, most = bucket_of(method, channel)
        version, facts = self.store.paces([bucket]).get(bucket, (0, {"full": 0.0, "lately": []}))
        ahead = self._ahead(now)
        full, lately = float(facts["full"]) - ahead, [float(at) - ahead for at in facts["lately"]]
        known = full <= now + every * most + APART and max(lately, default=now) <= now + APART
        self._full_at[bucket], self._lately[bucket] = (full, lately) if known else (now, [])
        return version

    def _facts(self, bucket: str, now: float) -> dict[str, object]:
        ahead = self._ahead(now)
        lately = [at + ahead for at in self._lately.get(bucket, ())]
        return {"full": self._full_at[bucket] + ahead, "lately": lately}

    def _ahead(self, now: float) -> float:
        """How far the clock of all is ahead of ours, that nobody sets."""
        return self.store.clock().timestamp() - now
