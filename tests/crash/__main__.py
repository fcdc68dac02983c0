"""python -m tests.crash: kill the bot and the workers at every point there is, and then at random.

Prints `crash points P kills N lost 0 twice 0 stuck 0 broken 0`, and exits with 1 if a figure is not 0.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.crash.bugs import BUGS
from tests.crash.search import Search
from tests.crash.stage import Stage
from tests.support.postgres import fresh_database, postgres_server


def main() -> int:
    given = arguments()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="signoff-crash-") as home, database(given, Path(home)) as url:
        stage = Stage(Path(home), url)
        searches = [bugged(stage, name, given) for name in given.bug] or [searched(stage, given)]
    for line in (line for search in searches for line in search.problems):
        print(line, file=sys.stderr)
    whole = not given.bug and not given.match and given.share == 1  # then each rare state must have come
    never = whole and any(search.rare.never() for search in searches)
    return 1 if never or any(search.problems for search in searches) else 0


def searched(stage: Stage, given: argparse.Namespace) -> Search:
    search = Search(stage, given.match, say=print if given.verbose else lambda line: None)
    search.every_point(given.share)
    search.freezes(given.share)
    search.at_random(given.kills, given.seed)
    print(search)
    print(search.rare)
    return search


def bugged(stage: Stage, name: str, given: argparse.Namespace) -> Search:
    """Search where the bug shows, until it does."""
    stage.plant, stage.patience = BUGS[name].plant, BUGS[name].patience
    search = Search(stage, given.match or BUGS[name].shows, first=True)
    search.every_point()
    search.freezes()
    print(f"{name}: {search}")
    return search


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    add = parser.add_argument
    add("--kills", type=int, default=0, help="how many at least; beyond those at each point, at random")
    add("--seed", type=int, default=1)
    add("--database", choices=("sqlite", "postgres"), default="sqlite")
    add("--url", default="", help="a PostgreSQL server that runs already, instead of a new one")
    add("--bug", choices=BUGS, action="append", default=[], help="plant this bug, and stop when it shows")
    add("--match", default="", help="die only at points whose name holds this")
    add("--share", type=int, default=1, help="die at every n-th point only")
    add("--verbose", action="store_true", help="say each run")
    return parser.parse_args()


@contextmanager
def database(given: argparse.Namespace, home: Path) -> Iterator[str]:
    if given.database == "sqlite":
        yield f"sqlite:///{home / 'signoff.db'}"
    elif given.url:
        yield fresh_database(given.url)
    else:
        with postgres_server(home) as server:
            yield fresh_database(server)


if __name__ == "__main__":
    sys.exit(main())
