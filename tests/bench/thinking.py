"""python -m tests.bench.thinking: wishes at once, a slow model, over Socket Mode: name value limit ok|short.

Five wishes for a model that takes three seconds for each: seconds from the first wish until the last of them
is proposed, by the rows; and how many calls were under way at once.
"""

import argparse
import tempfile
import time
from pathlib import Path
from threading import Lock
from typing import Any

from tests.bench.engine import say
from tests.support.fake_model import GOOD, KEY, FakeModel, Reply, says
from tests.support.world import World

WISH = "/plan get the new auth build number {} out to customers tonight"
LIMIT = 5.0


class Slow:
    """A model that takes its time, and counts who is with it."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.now, self.most = seconds, 0, 0
        self._lock = Lock()

    def __call__(self, body: dict[str, Any]) -> Reply:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self.seconds)
        with self._lock:
            self.now -= 1
        return says(GOOD)


def until_last(world: World, wishes: int) -> float:
    """Seconds from the first wish until the last of them is proposed."""
    known = len(world.store.recent(100))
    began = time.monotonic()
    for number in range(wishes):
        world.asks(WISH.format(number), (world.ann, world.bob, world.carol)[number % 3])
    while True:
        new = world.store.recent(100)[: len(world.store.recent(100)) - known]
        if len(new) == wishes and all(plan.state == "proposed" for plan in new):
            return time.monotonic() - began
        if time.monotonic() - began > 60:
            raise SystemExit(f"not all of them were proposed: {[str(plan.state) for plan in new]}")
        time.sleep(0.01)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wishes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    slow = Slow(0.0)
    with tempfile.TemporaryDirectory(prefix="signoff-bench-") as place, FakeModel(slow) as fake:
        world = World(Path(place))
        world.use({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": fake.url}, only="bot")
        with world:
            until_last(world, 1)  # the first one imports the SDK, which takes seconds
            slow.seconds, slow.most = given.seconds, 0
            took = until_last(world, given.wishes)
    say("last_proposed_s", took, LIMIT)
    say("calls_at_once", slow.most, given.wishes, least=True)


if __name__ == "__main__":
    main()
