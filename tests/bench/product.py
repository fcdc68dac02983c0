"""python -m tests.bench.product: the product in its processes, over Socket Mode: name value limit ok|short.

From the click on Approve until the first step starts, by the rows; and the memory of a bot and workers that
have nothing to do.
"""

import argparse
import re
import tempfile
import time
from pathlib import Path
from statistics import median

from storage.clock import wall
from tests.bench.engine import say
from tests.support.world import WITNESS, World, witnessed

UNLIMITED = "\n[policy.limits]\nplans_per_hour = 0\n"
SETTLED = 5.0  # seconds until a process that has started rests


def memory(pid: int) -> float:
    """Resident megabytes."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def click_to_start(world: World) -> float:
    """Milliseconds from a click until the first step of its plan has started."""
    world.asks("/plan write notes")
    plan = world.until(lambda found: found.state == "proposed" and found.card, "a proposal")
    button = world.bob.button("approve", message=plan.card)
    clicked = wall()
    world.bob.clicks(button)
    done = world.ends()
    started = [step.started_at for step in done.steps if step.started_at]
    return (min(started) - clicked).total_seconds() * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="signoff-bench-") as place:
        world = World(Path(place), config=lambda text: witnessed(text) + UNLIMITED)
        world.use({"PYTHONPATH": str(WITNESS), "WITNESS_PLACE": place})
        with world:
            time.sleep(SETTLED)
            say("idle_bot_mb", memory(world.pid("bot")), 150)
            say("idle_workers_mb", memory(world.pid("workers")), 120)
            click_to_start(world)  # the first one imports and compiles
            took = sorted(click_to_start(world) for _ in range(given.clicks))
    say("click_to_start_p50_ms", median(took), 50)
    say("click_to_start_p99_ms", took[min(len(took) - 1, len(took) * 99 // 100)], 200)


if __name__ == "__main__":
    main()
