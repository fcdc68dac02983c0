"""python -m tests.bench.language: one sentence with 50 runbooks and 1,000 names of the inventory.

Prints `sentences N p50 ms p95 ms worst ms`, and the worst of hostile sentences of 2,000 characters.
"""

import sys
import time
from statistics import quantiles

from bot.planner import evaluation
from bot.planner.evaluation import cases, config, contracts
from bot.planner.language.document import World, world
from bot.planner.language.reading import read

HOSTILE = (
    "restart " * 250, "and " * 500, "a-" * 1000, "2am " * 500, "between 2 and " * 140, "(" * 2000,
    "checkout and " * 150, "every mon, " * 180, ":" * 2000, "back up auth_prod and " * 90, "v1.1." * 400,
    "in the next maintenance " * 80, "<" * 2000, "`" * 2000, "if they pass " * 150, "put … back " * 180,
)  # fmt: skip


def crowded() -> World:
    """50 runbooks, with the shipped ones among them, and 1,000 names."""
    shipped = evaluation._books()
    more = [
        shipped[n % len(shipped)].model_copy(update={"id": f"more-{n}"}) for n in range(50 - len(shipped))
    ]
    services = {f"service-{n}-{n * 7919 % 997}": {"environment": "production"} for n in range(1000)}
    tables = {**config().inventory, "services": {**config().inventory["services"], **services}}
    return world(
        [*shipped, *more], config().model_copy(update={"inventory": tables}), contracts(), evaluation.NOW
    )


def spent(text: str, around: World) -> float:
    start = time.perf_counter()
    read(text, around)
    return (time.perf_counter() - start) * 1000


def main() -> int:
    around = crowded()
    taken = sorted(spent(case.say, around) for case in cases())
    cuts = quantiles(taken, n=20)
    print(f"sentences {len(taken)} p50 {cuts[9]:.1f} ms p95 {cuts[18]:.1f} ms worst {taken[-1]:.1f} ms")  # noqa: T201
    worst = max((spent(text[:2000], around), text[:20]) for text in HOSTILE)
    print(f"hostile {len(HOSTILE)} worst {worst[0]:.0f} ms ({worst[1]!r})")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
