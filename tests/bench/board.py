"""python -m tests.bench.board: pages over 100,000 plans: server time, bytes of a first load, open pages."""

import argparse
import gzip
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text

from bot.board.streams import Watch
from storage.config import SignoffConfig
from storage.database.statements import table
from storage.database.tables import Story
from tests.bench.engine import Engine, say
from tests.bench.growth import grow
from tests.support.samples.board import Board, board, said

PAGES = (
    "/",
    "/tonight",
    "/plans",
    "/plans?before={half}",
    "/plans/{half}",
    "/fleet",
    "/figures",
    "/journal",
    "/report",
)
LIMIT = 0.1  # seconds, server p95 at 100,000 plans
FIRST = 50_000  # bytes
CONFIG = SignoffConfig.model_validate({"people": {"approvers": ["BOB"], "admins": ["CAROL"]}})


def tell_all(engine: Engine) -> None:
    """The stories of the copies: what the bot would tell by and by."""
    engine.store.tell_stories()
    columns = [column.name for column in table(Story).c if column.name != "plan_id"]
    names = ", ".join(f'm."{name}"' for name in columns)
    listed = ", ".join(f'"{name}"' for name in columns)
    first = "(SELECT * FROM story ORDER BY plan_id LIMIT 1)"
    others = f"SELECT p.id, {names} FROM plan p, {first} m WHERE p.state = 'done'"  # noqa: S608 # our own names
    untold = "AND p.id NOT IN (SELECT plan_id FROM story)"
    with engine.store.write() as t:
        t.execute(text(f"INSERT INTO story (plan_id, {listed}) {others} {untold}"))  # as above


@contextmanager
def opened(home: Path, plans: int) -> Iterator[tuple[Board, Engine]]:
    engine = Engine(f"sqlite:///{home / 'signoff.db'}", home)
    with engine.running():
        grow(engine, plans)
    with engine.store.write() as t:  # the viewers of the tests are of this workspace
        t.execute(text("UPDATE plan SET team = 'T1'"))
    tell_all(engine)
    with board(engine.store, home, CONFIG, clock=engine.store.clock) as site:  # type: ignore[arg-type] # as Store
        site.server.fetches.most = 1_000_000
        yield site, engine


def server_times(site: Board, page: str, rounds: int) -> list[float]:
    """Of each answer anew: nothing is shared between them."""
    scope = site.server.scopes.of(site.people.actor("ANN"))
    path, _, query = page.partition("?")
    given = dict(part.split("=") for part in query.split("&") if part)
    spent = []
    for _ in range(rounds):
        began = time.perf_counter()
        site.server.answers.page(scope, path, given, part=False)
        spent.append(time.perf_counter() - began)
    return sorted(spent)


def first_load(site: Board) -> int:
    """Everything that a browser fetches at first, packed."""
    page = site.gets("/", "ANN")[2]
    files = [file.body for file in site.server.files.values()]
    return sum(len(gzip.compress(body)) for body in (page.encode(), *files))


def live(site: Board, engine: Engine, pages: int, seconds: float) -> float:
    """The share of a core that open pages take while five commits come a second, each of them told to all."""
    for n in range(pages):
        site.server.entries.most = 1_000_000
        site.enters(f"U{n}")
    streams = [site.streams(f"U{n}") for n in range(pages)]
    for one in streams:
        said(one, 1)
    watch = Watch(site.server.answers.desk.store)
    watch.begin()
    spent, began = _cpu(), time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        while time.monotonic() - began < seconds:
            engine.store.request("one more", team="T1", user="ANN", channel="C1")
            site.moved(watch)
            [*pool.map(lambda n: site.gets("/plans", f"U{n}", X_Part="main"), range(pages))]
            time.sleep(0.2)
    return (_cpu() - spent) / (time.monotonic() - began)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--live", type=int, default=50, help="open pages; 0 leaves them out")
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="signoff-bench-"))
    with opened(home, given.plans) as (site, engine):
        site.enters("ANN")
        limit = LIMIT if given.plans <= 100_000 else 1e9
        for page in PAGES:
            found = server_times(site, page.format(half=given.plans // 2), given.rounds)
            name = page.partition("?")[0].strip("/").partition("/")[0] or "now"
            name += "_one" if "{half}" in page and "?" not in page else "_deep" if "?" in page else ""
            say(f"board_{name}_p95_seconds_{given.plans}", found[int(len(found) * 0.95) - 1], limit)
        say("board_first_load_bytes", first_load(site), FIRST)
        if given.live:
            say(f"board_{given.live}_live_pages_core_share", live(site, engine, given.live, 10.0), 1.0)
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
