"""python -m tests.bench.product: the product in its processes, over Socket Mode: name value limit ok|short.

From the click on Approve until the first step starts, by the rows; and the memory of a bot and workers that
have nothing to do.
"""

import argparse
import re
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from statistics import median

from tests.bench.engine import say
from tests.bench.hot.journey import ROOMS, journey, product

SETTLED = 5.0  # seconds until a process that has started rests


def memory(pid: int) -> float:
    """Resident megabytes."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="signoff-bench-") as place, product(Path(place)) as world:
        time.sleep(SETTLED)
        say("idle_bot_mb", memory(world.pid("bot")), 150)
        say("idle_workers_mb", memory(world.pid("workers")), 120)
        rooms = cycle(room.id for room in ROOMS)
        journey(world, next(rooms))  # the first one imports and compiles
        took = sorted(journey(world, room).start for room in islice(rooms, given.clicks))
    say("click_to_start_p50_ms", median(took), 50)
    say("click_to_start_p99_ms", took[min(len(took) - 1, len(took) * 99 // 100)], 200)


if __name__ == "__main__":
    main()
