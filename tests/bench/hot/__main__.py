"""python -m tests.bench.hot: what people wait for, beside load, and the engine: name value limit ok|short.

From the wish to the card in its channel, and from the click on Approve to the start of the first step, in the
product's processes beside a thousand steps that run; the calls of Slack that a plan of three steps takes, and
how many plans one channel takes in a minute within Slack's tiers, by a clock moved by hand; a chain of steps,
and a hundred plans of ten, beside the raw database.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from statistics import median

from tests.bench.engine import chain, many, say
from tests.bench.hot.channel import within_tiers
from tests.bench.hot.journey import ROOMS, Journey, journey, product, run_beside
from tests.support.postgres import fresh_database, postgres_server

LIMITS = {"sqlite": (1.5, 1.2), "postgres": (1.7, 1.0)}  # of a chain; of a hundred plans, at least
SETTLED = 5.0  # seconds until what was just started rests


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def journeys(place: Path, url: str, count: int, beside: int) -> list[Journey]:
    rooms = cycle(room.id for room in ROOMS)
    with product(place, url) as world:
        time.sleep(SETTLED)
        journey(world, next(rooms))  # the first one imports and compiles
        run_beside(world, beside)
        time.sleep(SETTLED)
        return [journey(world, room) for room in islice(rooms, count)]


def waits(name: str, found: list[Journey], beside: int) -> None:
    cards, starts = [one.card for one in found], [one.start for one in found]
    say(f"request_to_card_{name}_beside_{beside}_p50_ms", median(cards), 250)
    say(f"request_to_card_{name}_beside_{beside}_p99_ms", percentile(cards, 0.99), 1000)
    say(f"click_to_start_{name}_beside_{beside}_p50_ms", median(starts), 50)
    say(f"click_to_start_{name}_beside_{beside}_p99_ms", percentile(starts, 0.99), 200)


def slack(plans: int) -> None:
    with tempfile.TemporaryDirectory(prefix="signoff-bench-") as place:
        one, all_ = within_tiers(Path(place), 1, plans)
    say("slack_posts_and_changes_of_one_plan", one.messages, 7)
    say("slack_calls_of_one_plan_all_methods", sum(one.calls.values()), float("inf"))
    say(f"slack_posts_and_changes_each_of_{plans}_plans", all_.messages / plans, 7)
    say(f"slack_calls_each_of_{plans}_plans_all_methods", sum(all_.calls.values()) / plans, float("inf"))
    say(f"slack_refused_calls_of_{plans}_plans", all_.refused, 0)
    say("plans_a_minute_in_one_channel", all_.a_minute, 12, least=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--journeys", type=int, default=100)
    parser.add_argument("--beside", type=int, default=1000, help="steps that run; 0 leaves them out")
    parser.add_argument("--plans", type=int, default=24, help="in one channel; 0 leaves them out")
    parser.add_argument("--rounds", type=int, default=5, help="of the engine; 0 leaves it out")
    given = parser.parse_args()
    with (
        postgres_server(durable=True) as server,
        tempfile.TemporaryDirectory(prefix="signoff-bench-") as place,
    ):
        lite: Callable[[], str] = lambda: f"sqlite:///{place}/{time.monotonic_ns()}.db"  # noqa: E731
        urls = {"sqlite": lite, "postgres": lambda: fresh_database(server)}
        for name, url in urls.items():
            if given.journeys:
                home = Path(place) / name
                found = journeys(home, url(), given.journeys, given.beside)
                waits(name, found, given.beside)
            if given.rounds:
                most, least = LIMITS[name]
                say(f"chain_{name}_per_raw", chain(url(), Path(place), given.rounds), most)
                say(f"plans_{name}_per_raw", many(url(), Path(place), given.rounds), least, least=True)
    if given.plans:
        slack(given.plans)


if __name__ == "__main__":
    main()
