"""Every story of several processes, by every carrier, that many times: python -m tests.proof.cluster 3."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.support.cluster.story import cluster, killed, stood_still, two_bots
from tests.support.postgres import postgres_server

STORIES = (killed, stood_still, two_bots)
CARRIERS = ("local", "procrastinate")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.cluster", description=__doc__)
    parser.add_argument("times", type=int, nargs="?", default=1)
    times, told = parser.parse_args().times, 0
    with postgres_server() as server:
        for story, carrier, _ in ((s, c, n) for s in STORIES for c in CARRIERS for n in range(times)):
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as home, cluster(server, Path(home), carrier) as world:
                story(world)
            told += 1
            sys.stdout.write(f"{story.__name__} {carrier} ok in {time.monotonic() - began:.1f} s\n")
    sys.stdout.write(f"proof_cluster: {told} stories told, 0 effects lost or doubled\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
