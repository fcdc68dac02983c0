"""What lies outside is away for a while: Slack, the model, the database. The bot stays, and says so."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert

from bot.cli.supervise import Child
from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Member
from storage.clock import wall
from storage.database.engine import migrate, open_engine
from storage.database.tables import Delivery
from tests.proof.deliveries import CONFIG, WISH
from tests.support.doors.monitor import get
from tests.support.fakes import real_contracts
from tests.support.ports import ports
from tests.support.postgres import fresh_database, postgres_server
from tests.support.store import Store
from tests.support.world import bot_process

pytestmark = pytest.mark.crash

PEOPLE = [Member("U0ANN", "ann", "Ann"), Member("U0BOB", "bob", "Bob")]
NOBODY = "http://127.0.0.1:1"  # nothing listens there


def workspace(port: int = 0) -> LocalSlack:
    return LocalSlack(members=PEOPLE, channels=[Channel("C0", "ops")], port=port)


def until(look: Callable[[], object], what: str, patience: float = 60.0) -> None:
    end = time.monotonic() + patience
    while not look():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.05)


@contextmanager
def bot(home: Path, slack: LocalSlack, name: str = "bot", **env: str) -> Iterator[tuple[Child, str]]:
    """A bot, and where it says how it is."""
    (home / "signoff.toml").write_text(CONFIG)
    one, port = bot_process(home, slack), ports()
    one.env = {**one.env, "SIGNOFF_HEALTH_PORT": str(port), "SIGNOFF_LOG_LEVEL": "INFO", **env}
    one.log = home / f"{name}.log"
    one.start()
    try:
        yield one, f"http://127.0.0.1:{port}"
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


def answers(url: str) -> tuple[int, str]:
    try:
        return get(f"{url}/readyz")
    except OSError:
        return 0, ""


def test_a_bot_starts_while_slack_is_away_says_so_and_meets_it_later(tmp_path: Path) -> None:
    port = ports()
    slack, there = workspace(port), f"http://127.0.0.1:{port}/api/"
    with (
        opened(f"sqlite:///{tmp_path / 'signoff.db'}") as store,
        bot(tmp_path, slack, SLACK_API_URL=there) as (one, url),
    ):
        until(lambda: answers(url)[0], "the bot to be up")
        status, said = answers(url)
        with slack:
            client = slack.client(patience=60.0)
            client.wait_for_bot()
            assert client.person("U0ANN").says(f"/plan {WISH.format(1)}", channel="C0").acked
            until(
                lambda: Counter(v.text for v in store.recent(9))[WISH.format(1)] == 1, "the wish to be heard"
            )
            until(lambda: answers(url) == (200, "ok\n"), "the bot to be ready")
        alive = one.process is not None and one.process.poll() is None

    assert status == 503
    assert "Slack cannot be reached" in said
    assert alive


def test_while_the_model_is_away_runbooks_plan_and_the_monitor_hears_of_it(tmp_path: Path) -> None:
    model = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": NOBODY}
    with (
        workspace() as slack,
        opened(f"sqlite:///{tmp_path / 'signoff.db'}") as store,
        bot(tmp_path, slack, **model) as (_, url),
    ):
        client = slack.client(patience=60.0)
        client.wait_for_bot()
        before = answers(url)
        assert client.person("U0ANN").says(f"/plan {WISH.format(1)}", channel="C0").acked
        until(lambda: [v.state for v in store.recent(1)] == ["proposed"], "a plan")
        status, said = answers(url)

    assert before == (200, "ok\n")
    assert status == 200
    assert "The model does not answer, so runbooks and people plan" in said


@pytest.mark.postgres
def test_two_bots_outlive_restarts_of_the_database(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("one", "two")]
    with ExitStack() as stack:
        slack = stack.enter_context(workspace())
        server = stack.enter_context(postgres_server(tmp_path))
        url = fresh_database(server)
        store = stack.enter_context(opened(url))
        bots = []
        for home in homes:
            home.mkdir()
            bots.append(stack.enter_context(bot(home, slack, SIGNOFF_DATABASE_URL=url)))
        client = slack.client(patience=60.0)
        until(lambda: all(answers(address)[0] == 200 for _, address in bots), "both to be ready")
        pids = [one.process.pid for one, _ in bots if one.process]
        for number in range(3):
            restart(server)
            store.engine.dispose()
            wish = WISH.format(number)
            until(
                lambda wish=wish: client.person("U0ANN").says(f"/plan {wish}", channel="C0").acked, "an ack"
            )
            until(lambda wish=wish: wish in {v.text for v in recent(store)}, "the wish to be heard")
        until(lambda: all(v.card for v in recent(store)), "the cards")

        assert [one.process.pid for one, _ in bots if one.process and one.process.poll() is None] == pids
        assert Counter(v.text for v in recent(store)) == Counter(WISH.format(n) for n in range(3))


def restart(server: str) -> None:
    """As after a crash: it drops every connection and starts anew."""
    with psycopg.connect(server, autocommit=True) as connection:
        os.kill(connection.info.backend_pid, signal.SIGKILL)

    def back() -> bool:
        try:
            psycopg.connect(server, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    until(back, "the database to be back")


def recent(store: Store) -> list[object]:
    return [*store.recent(9)]


FLOOD = 3000


def test_a_flood_of_refused_clicks_holds_up_neither_others_nor_the_end(tmp_path: Path) -> None:
    """They were acked before, and all of them wait when somebody else asks."""
    press = {"user": "U0EVE", "channel": "C0", "action": "approve", "value": "{}", "trigger": "t"}
    with workspace() as slack, opened(f"sqlite:///{tmp_path / 'signoff.db'}") as store:
        with store.write() as t:
            rows = [{"key": f"click:{n}", "kind": "click", "body": press} for n in range(FLOOD)]
            t.execute(
                insert(Delivery), [row | {"id": n, "received_at": wall()} for n, row in enumerate(rows, 1)]
            )
        with bot(tmp_path, slack) as (one, _):
            client = slack.client(patience=60.0)
            client.wait_for_bot()
            assert client.person("U0ANN").says(f"/plan {WISH.format(1)}", channel="C0").acked
            until(lambda: [v.state for v in store.recent(1)] == ["proposed"], "a plan")
            left = len(store.unhandled())
            assert one.process
            one.process.terminate()
            code = one.process.wait(30)
        kept = len(store.unhandled())
        refused = sum(event.verb == "refuse" for event in store.events(0))

    assert code == 0
    assert left > FLOOD / 3, "the flood was over before anybody else was served"
    assert kept > 0, "it was ended only when all was handled"
    assert kept + refused == FLOOD


def test_a_bot_that_is_told_to_end_does_so_at_once_though_slack_is_away(tmp_path: Path) -> None:
    with bot(tmp_path, workspace(ports())) as (one, url):
        until(lambda: answers(url)[0], "the bot to be up")
        assert one.process
        began = time.monotonic()
        one.process.terminate()
        try:
            code = one.process.wait(20)
        except subprocess.TimeoutExpired:
            code = -1

    assert code == 0
    assert time.monotonic() - began < 15
