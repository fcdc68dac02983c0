"""python -m tests.bench.board: pages over 100,000 plans: server time, a first load, open pages, indexes."""

import argparse
import gzip
import http.client
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from threading import Event, Thread

from sqlalchemy import text

from bot.board.pace import Pace
from bot.board.streams import Watch
from storage.clock import wall
from storage.config import SignoffConfig
from storage.database.commit_notices import CommitListener
from storage.database.statements import table
from storage.database.tables import Story
from tests.bench.engine import Engine, say
from tests.bench.growth import grow
from tests.support.fakes import lasting
from tests.support.postgres import fresh_database, postgres_server
from tests.support.samples.board import Board, board, url_of
from tests.support.store import Store

PAGES = {
    "now": "/",
    "tonight": "/tonight",
    "plans": "/plans",
    "plans_deep": "/plans?before={half}",
    "plans_searched": "/plans?q=nobody+said+so",
    "plan": "/plans/{half}",
    "fleet": "/fleet",
    "figures": "/figures",
    "journal": "/journal",
    "journal_of_a_verb": "/journal?verb=finish",
    "report": "/report",
}
LIMIT = 100.0  # milliseconds, p95 of the server at 100,000 plans
FIRST = 50_000  # bytes
OPEN = 30  # plans that wait for somebody
CORE = 0.10  # of one, that 50 open pages may take
BESIDE = 1.03  # a chain of steps with the board's indexes, beside one without them
INDEXES = ("ix_event_of_verb", "ix_step_of_action")
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
def grown(home: Path, plans: int) -> Iterator[Engine]:
    engine = Engine(f"sqlite:///{home / 'signoff.db'}", home)
    with engine.running():
        grow(engine, plans)
    with engine.store.write() as t:  # the viewers of the tests are of this workspace
        t.execute(text("UPDATE plan SET team = 'T1'"))
    tell_all(engine)
    for _ in range(OPEN):
        engine.store.propose(
            engine.store.request("an open one", team="T1", user="ANN", channel="C1"),
            engine.steps(3, "nothing", chained=True), lasting(), author="bench",
        )  # fmt: skip
    yield engine


def server_times(site: Board, page: str, rounds: int) -> list[float]:
    """Milliseconds of a whole page, made anew each time: nothing is shared between them."""
    scope = site.server.scopes.of(site.people.actor("ANN"))
    path, _, query = page.partition("?")
    given = dict(part.split("=") for part in query.replace("+", " ").split("&") if part)
    spent = []
    for n in range(rounds):
        began = time.perf_counter()
        site.server.answers.page(scope, path, given, part=False, seq=n + 1)
        spent.append(1000 * (time.perf_counter() - began))
    return sorted(spent)


def pages(engine: Engine, home: Path, plans: int, rounds: int) -> None:
    with board(engine.store, home, CONFIG, clock=engine.store.clock) as site:
        site.enters("ANN")
        limit = LIMIT if plans <= 100_000 else float("inf")
        for name, page in PAGES.items():
            found = server_times(site, page.format(half=plans // 2), rounds)
            say(f"board_{name}_p95_ms_{plans}", found[max(0, int(len(found) * 0.95) - 1)], limit)
        say("board_first_load_bytes", first_load(site), FIRST)


def first_load(site: Board) -> int:
    """Everything that a browser fetches at first, heads and all, packed as it is sent."""
    addresses = ("/", *(file.address for file in site.server.files.values()))
    return sum(transferred(site, address) for address in addresses)


def transferred(site: Board, address: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    connection.request("GET", address, headers={"Accept-Encoding": "gzip", "Cookie": site.cookies["ANN"]})
    answer = connection.getresponse()
    body, head = answer.read(), sum(len(name) + len(value) + 4 for name, value in answer.getheaders())
    assert answer.status == 200
    assert gzip.decompress(body) if answer.getheader("Content-Encoding") == "gzip" else len(body) < 1000
    connection.close()
    return len(body) + head


def serve(url: str, home: Path, talk: "Connection[object, object]") -> None:
    """A board as a process of its own, with the thread that tells open pages what moved."""
    from storage.database.engine import open_engine

    with board(Store(open_engine(url), wall), home, CONFIG, clock=wall) as site:
        site.server.fetches.most = site.server.entries.most = 1_000_000
        watch, pace, over = Watch(site.server.answers.desk.store), Pace(), Event()

        def listen() -> None:
            watch.begin()
            commits = CommitListener(watch.store.engine)
            while not over.is_set():
                commits.wait(1.0, over.is_set)
                pace.wait(over.wait)
                site.moved(watch)

        thread = Thread(target=listen)
        thread.start()
        talk.send(site.port)
        while talk.recv() != "end":
            talk.send(busy())
        over.set()
        thread.join()


class Page:
    """An open page: its stream, and one fetch of itself in 300 ms at most, as board.js does it."""

    def __init__(self, site: Board, user: str, path: str, over: Event) -> None:
        self.site, self.user, self.path, self.over = site, user, path, over
        self.moved, self.fetches, self.tag = Event(), 0, ""
        self.connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)

    def hears(self) -> None:
        """Its stream, opened anew when it ends."""
        with suppress(OSError, http.client.HTTPException):
            while not self.over.is_set():
                stream = self.site.streams(self.user)
                while line := stream.readline():
                    if line.startswith((b"event: moved", b"event: hello")):
                        self.moved.set()
                    if line.startswith(b"event: bye"):
                        break

    def fetches_itself(self) -> None:
        while not self.over.is_set():
            if not self.moved.wait(0.2):
                continue
            self.moved.clear()
            cookie = {"Cookie": self.site.cookies[self.user], "X-Part": "main", "Accept-Encoding": "gzip"}
            with suppress(OSError, http.client.HTTPException):
                self.connection.request("GET", self.path, headers=cookie | {"If-None-Match": self.tag})
                answer = self.connection.getresponse()
                answer.read()
                self.tag = answer.getheader("ETag") or ""
                self.fetches += answer.status in {200, 304}
            time.sleep(0.35)


def live(engine: Engine, home: Path, count: int, seconds: float) -> tuple[float, float]:
    """What one core of the board's process is busy while so many pages are open and five commits come a
    second; and fetches a second. Every page is another person's."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(url_of(engine.store), home, theirs))
    process.start()
    with board(engine.store, home, CONFIG, clock=wall) as site:
        site.port = int(str(ours.recv()))  # only to come in: the other process answers
        addresses = [page.format(half=7) for page in ("/", "/plans", "/tonight", "/plans/{half}", "/journal")]
        over = Event()
        opened = []
        for n in range(count):
            site.enters(f"U{n}")
            opened.append(Page(site, f"U{n}", addresses[n % len(addresses)], over))
        with ThreadPoolExecutor(2 * count) as pool:
            for page in opened:
                pool.submit(page.hears)
                pool.submit(page.fetches_itself)
            time.sleep(2.0)
            began, before, fetched = time.monotonic(), asked(ours), sum(page.fetches for page in opened)
            while time.monotonic() - began < seconds:
                plan_id = engine.store.request("one more", team="T1", user="ANN", channel="C1")
                time.sleep(0.2)
                engine.store.cancel(plan_id, user="ANN", reason="not needed")
                time.sleep(0.2)
            span = time.monotonic() - began
            share = (asked(ours) - before) / span
            rate = (sum(page.fetches for page in opened) - fetched) / span
            over.set()
            ours.send("end")
            site.closes()
        process.join()
    return share, rate


def busy() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def asked(process: "Connection[object, object]") -> float:
    process.send("busy")
    return float(str(process.recv()))


def beside(place: Callable[[], str], home: Path, rounds: int) -> float:
    """A chain of a hundred steps with the board's indexes, beside one without; turn about."""
    engines = [Engine(place(), home) for _ in range(2)]
    with engines[0].store.write() as t:
        for index in INDEXES:
            t.execute(text(f"DROP INDEX {index}"))
    ratios = []
    with engines[0].running(), engines[1].running():
        for n in range(rounds):
            spans = {}
            for which in (0, 1) if n % 2 else (1, 0):
                plan_id = engines[which].plan(engines[which].steps(100, "nothing", chained=True))
                engines[which].done(plan_id)
                spans[which] = engines[which].span(plan_id)
            ratios.append(spans[1] / spans[0])
    return median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--live", type=int, default=50, help="open pages; 0 leaves them out")
    parser.add_argument("--chains", type=int, default=25, help="rounds beside the engine; 0 leaves them out")
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="signoff-bench-"))
    with grown(home, given.plans) as engine:
        pages(engine, home, given.plans, given.rounds)
        if given.live:
            share, rate = live(engine, home, given.live, 20.0)
            say(f"board_{given.live}_live_pages_fetches_per_second", rate, float("inf"))
            say(f"board_{given.live}_live_pages_core_share", share, CORE)
    if given.chains:
        with postgres_server(durable=True) as postgres:
            lite = lambda: f"sqlite:///{home / f'{time.monotonic_ns()}.db'}"  # noqa: E731
            places = {"sqlite": lite, "postgres": lambda: fresh_database(postgres)}
            for name, place in places.items():
                say(f"board_indexes_{name}_ratio", beside(place, home, given.chains), BESIDE)
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
