"""Two bots over the same rows, as real processes: they share, one is kept away, or wakes up late."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlmodel import col

from bot.cli.supervise import Child
from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Member
from storage.clock import wall
from storage.database.engine import migrate, open_engine
from storage.database.tables import Message
from tests.proof.deliveries import CONFIG, WISH
from tests.support.fake_model import GOOD, KEY, FakeModel, Reply, says
from tests.support.fakes import real_contracts, verbs
from tests.support.postgres import fresh_database, postgres_server
from tests.support.store import Store
from tests.support.world import bot_process

pytestmark = pytest.mark.crash

PEOPLE = [Member("U0ANN", "ann", "Ann"), Member("U0BOB", "bob", "Bob")]
WISHES = [WISH.format(number) for number in range(5)]
STEAL = """INSERT INTO lease (name, owner, fence, until)
           VALUES ('hear: person U0ANN', 'test', 1, now() + interval '1 hour')"""
# What a bot says that hears in vain: it was refused, somebody was faster, or its connection is gone.
LATE = re.compile(
    r"Another bot does “(hear|think|speak): [^”]+” by now|was handled by another bot"
    r"|nothing is handled now: The database|(hear|delivery \S+) waits: The database"
)
BLOCKED = """SELECT count(*) FROM pg_stat_activity
             WHERE wait_event_type = 'Lock' AND query ILIKE 'insert into plan%'"""


@pytest.fixture
def slack() -> Iterator[LocalSlack]:
    with LocalSlack(members=PEOPLE, channels=[Channel("C0", "ops")]) as running:
        yield running


@contextmanager
def bot(
    home: Path, slack: LocalSlack, url: str, name: str, config: str = CONFIG, **env: str
) -> Iterator[Child]:
    """A bot that was started, and is gone afterwards, wherever it stands."""
    (home / "signoff.toml").write_text(config)
    one = bot_process(home, slack)
    one.env = {**one.env, "SIGNOFF_DATABASE_URL": url, "SIGNOFF_LOG_LEVEL": "INFO", **env}
    one.log = home / f"{name}.log"
    one.start()
    try:
        yield one
    finally:
        assert one.process
        one.process.kill()
        one.process.wait()


@contextmanager
def opened(url: str) -> Iterator[Store]:
    engine = open_engine(url)
    migrate(engine)
    store = Store(engine, wall)
    store.publish(real_contracts())
    try:
        yield store
    finally:
        engine.dispose()


def until(look: Callable[[], object], what: str, patience: float = 60.0) -> None:
    end = time.monotonic() + patience
    while not look():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.01)


def said(one: Child, words: str) -> int:
    return log(one).count(words)


def log(one: Child) -> str:
    assert one.log
    return one.log.read_text()


def ended(one: Child) -> bool:
    return one.process is not None and one.process.poll() is not None


def asked(store: Store) -> Counter[str]:
    return Counter(view.text for view in store.recent(50))


# one SQLite file


def test_a_second_bot_on_one_sqlite_file_is_kept_away_until_the_first_is_gone(
    tmp_path: Path, slack: LocalSlack
) -> None:
    state, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    state.mkdir()
    elsewhere.mkdir()
    (elsewhere / "other name.db").symlink_to(state / "signoff.db")
    theirs, same = f"sqlite:///{state / 'signoff.db'}", f"sqlite:///{elsewhere / 'other name.db'}"
    workspace = slack.client(patience=60.0)
    with bot(state, slack, theirs, "first") as first:
        workspace.wait_for_bot()
        with bot(elsewhere, slack, same, "second") as second:
            until(lambda: ended(second), "the second bot to give way")
            assert second.process
            assert second.process.returncode == 1
            assert said(second, f"Another bot process uses {state / 'signoff.db'} already. Stop it first")
            assert not said(second, "Traceback")

        looked = subprocess.run(
            [sys.executable, "-m", "bot", "plans"],
            env=dict(first.env),
            capture_output=True,
            check=False,
            cwd=state,
        )
        assert (looked.returncode, ended(first)) == (0, False)
        os.kill(first.process.pid if first.process else 0, signal.SIGKILL)
        until(lambda: ended(first), "the first to be gone")

    with opened(theirs) as store, bot(elsewhere, slack, same, "third"):
        workspace.wait_for_bot()
        assert workspace.person("U0ANN").says(f"/plan {WISHES[0]}", channel="C0").acked
        until(lambda: asked(store) == {WISHES[0]: 1}, "the third bot to take over")


# PostgreSQL: a bot stands still in the middle of handling, and loses its lock


def restart(server: str, database: str) -> None:
    """The whole server: it drops every connection and starts anew, as after a crash."""
    with psycopg.connect(server, autocommit=True) as killed, psycopg.connect(server) as bystander:
        os.kill(killed.info.backend_pid, signal.SIGKILL)
        until(lambda: dropped(bystander), "the database to drop its connections")
    until(lambda: answers(server), "the database to be back")


def dropped(connection: psycopg.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


def cut_off(server: str, database: str) -> None:
    """Only the connections to this database: as a firewall does to what says nothing for a while."""
    with psycopg.connect(server, autocommit=True) as connection:
        name = database.rpartition("/")[2]
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )


def answers(server: str) -> bool:
    try:
        psycopg.connect(server, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def stands_still(server: str, database: str) -> None:
    """Nothing else happens: the bot is stopped in the middle of a transaction, and its connections live."""


def freeze_inside(url: str, one: Child, ask: Callable[[], None]) -> None:
    """SIGSTOP where the bot has claimed what was asked first, and is about to write the first plan."""
    with psycopg.connect(url, autocommit=True) as hearing, psycopg.connect(url) as plans:
        hearing.execute(STEAL)  # nobody handles anything of hers meanwhile
        ask()
        plans.execute("LOCK TABLE plan IN SHARE MODE")
        hearing.execute("UPDATE lease SET until = now() WHERE owner = 'test'")
        until(lambda: hearing.execute(BLOCKED).fetchone() == (1,), "the bot to be inside")
        os.kill(one.process.pid if one.process else 0, signal.SIGSTOP)


@pytest.mark.postgres
@pytest.mark.parametrize("loses", [restart, cut_off, stands_still])
def test_a_bot_that_slept_while_another_took_over_handles_nothing_again(
    tmp_path: Path, slack: LocalSlack, loses: Callable[[str, str], None]
) -> None:
    workspace = slack.client(patience=60.0)
    ann = workspace.person("U0ANN")

    def ask() -> None:
        for wish in WISHES:
            assert ann.says(f"/plan {wish}", channel="C0").acked

    with ExitStack() as stack:
        server = stack.enter_context(postgres_server(tmp_path))
        url = fresh_database(server)
        store = stack.enter_context(opened(url))
        first = stack.enter_context(bot(tmp_path, slack, url, "first"))
        workspace.wait_for_bot()
        freeze_inside(url, first, ask)
        assert asked(store) == {}
        loses(server, url)
        store.engine.dispose()  # ours are lost, too
        stack.enter_context(bot(tmp_path, slack, url, "second"))
        until(lambda: asked(store).total() == len(WISHES), "the second bot to take over")
        until(lambda: not store.unhandled(), "everything to be handled")

        before = len(log(first))  # it has said that it is late before, when its lease was stolen
        os.kill(first.process.pid if first.process else 0, signal.SIGCONT)
        until(
            lambda: LATE.search(log(first)[before:]) or asked(store).total() > len(WISHES),
            "the first to find that it is late",
        )
        until(lambda: all(view.card for view in store.recent(50)), "the cards")

        assert not ended(first)
        assert asked(store) == Counter(WISHES)
        cards = Counter(one["metadata"]["event_payload"]["key"] for one in workspace.messages("C0"))
        assert [*cards.values()] == [1] * len(WISHES)


# PostgreSQL: both think


class Model:
    """Keeps whoever asks until it may answer; knows how many are with it at once."""

    def __init__(self) -> None:
        self.inside, self.may = 0, threading.Semaphore(0)
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Reply:
        with self._lock:
            self.inside += 1
        self.may.acquire(timeout=60)
        with self._lock:
            self.inside -= 1
        return says(GOOD)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def planner(model: Model) -> Iterator[FakeModel]:
    with FakeModel(model) as fake:
        yield fake


def thinks(home: Path, slack: LocalSlack, url: str, name: str, planner: FakeModel) -> Any:
    """A bot that a model plans for, two wishes at a time."""
    key = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": planner.url}
    return bot(home, slack, url, name, CONFIG + "[model]\nat_once = 2\n", **key)


@pytest.mark.postgres
def test_two_bots_think_at_once_and_of_each_wish_once(
    tmp_path: Path, slack: LocalSlack, model: Model, planner: FakeModel
) -> None:
    workspace = slack.client(patience=60.0)
    with ExitStack() as stack:
        url = fresh_database(stack.enter_context(postgres_server(tmp_path)))
        store = stack.enter_context(opened(url))
        for name in ("first", "second"):
            stack.enter_context(thinks(tmp_path, slack, url, name, planner))
        workspace.wait_for_bot()
        for wish in WISHES[:4]:
            assert workspace.person("U0ANN").says(f"/plan {wish}", channel="C0").acked
        until(lambda: model.inside == 4, "both to ask, two at a time each")
        model.may.release(4)
        until(lambda: [*states(store).values()] == ["proposed"] * 4, "all to be proposed")

        assert len(planner.requests) == 4
        assert all(verbs(store, plan_id).count("propose") == 1 for plan_id in states(store))


@pytest.mark.postgres
def test_a_bot_that_slept_over_a_thought_has_it_taken_over_and_writes_nothing_more_of_it(
    tmp_path: Path, slack: LocalSlack, model: Model, planner: FakeModel
) -> None:
    workspace = slack.client(patience=60.0)
    with ExitStack() as stack:
        url = fresh_database(stack.enter_context(postgres_server(tmp_path)))
        store = stack.enter_context(opened(url))
        first = stack.enter_context(thinks(tmp_path, slack, url, "first", planner))
        workspace.wait_for_bot()
        assert workspace.person("U0ANN").says(f"/plan {WISHES[0]}", channel="C0").acked
        until(lambda: model.inside == 1, "the first to ask")
        os.kill(first.process.pid if first.process else 0, signal.SIGSTOP)
        stack.enter_context(thinks(tmp_path, slack, url, "second", planner))
        until(lambda: model.inside == 2, "the second to take over")
        model.may.release(2)
        until(lambda: [*states(store).values()] == ["proposed"], "it to be proposed")
        (plan_id,) = states(store)
        told = verbs(store, plan_id)
        os.kill(first.process.pid if first.process else 0, signal.SIGCONT)
        late = f"plan={plan_id} was thought about for nothing: Another bot does “think: plan {plan_id}”"
        until(lambda: said(first, late), "the first to find that it is late")

        assert not ended(first)
        assert said(first, "verb=propose") == 0
        assert told.count("propose") == 1
        assert verbs(store, plan_id) == [*told, "book"], "but what was paid for is on record"


def states(store: Store) -> dict[int, str]:
    return {view.id: str(view.state) for view in store.recent(50)}


# PostgreSQL: a bot stands still in the middle of sending


def half_sent(store: Store) -> bool:
    """Whether somebody is about to say something, or has said it and not noted it yet."""
    with store.read() as t:
        return bool(t.rows(Message, col(Message.sending) > 0, col(Message.shown) == 0))


@pytest.mark.postgres
@pytest.mark.parametrize("ends", [signal.SIGSTOP, signal.SIGKILL])
def test_a_bot_that_is_stopped_in_the_middle_of_sending_leaves_its_lines_to_the_other(
    tmp_path: Path, slack: LocalSlack, ends: signal.Signals
) -> None:
    workspace = slack.client(patience=60.0)
    ann = workspace.person("U0ANN")
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server(tmp_path))
        url = fresh_database(server)
        store = stack.enter_context(opened(url))
        first = stack.enter_context(bot(tmp_path, slack, url, "first"))
        workspace.wait_for_bot()
        workspace.fault(slow_api=1, method="chat.postMessage", delay=3)
        for wish in WISHES:
            assert ann.says(f"/plan {wish}", channel="C0").acked
        until(lambda: half_sent(store), "the bot to be in the middle of a call")
        assert first.process
        os.kill(first.process.pid, ends)
        stack.enter_context(bot(tmp_path, slack, url, "second"))
        until(lambda: len(cards(store)) == len(WISHES), "the second bot to say the rest", 150.0)
        os.kill(first.process.pid, signal.SIGCONT if ends == signal.SIGSTOP else 0)
        until(lambda: ends == signal.SIGKILL or LATE.search(log(first)), "the first to find that it is late")

        assert Counter(asked(store)) == Counter(WISHES)
        said = [one for one in workspace.messages("C0") if "metadata" in one]
        keys = Counter(one["metadata"]["event_payload"]["key"] for one in said)
        assert [*keys.values()] == [1] * len(WISHES)
        assert {one["ts"] for one in said} == cards(store)


def cards(store: Store) -> set[str]:
    return {view.card for view in store.recent(50) if view.card}
