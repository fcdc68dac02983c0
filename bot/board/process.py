"""The board process: two narrow connections, a token that reads, a web server, a thread that listens."""

import logging
import signal
import time
from collections.abc import Sequence
from contextlib import closing

from slack_sdk import WebClient

from bot.board import door, static_files
from bot.board.answers import Answers
from bot.board.desk import Desk
from bot.board.evidence import Evidence
from bot.board.names import Names
from bot.board.pace import Pace
from bot.board.scope import Scopes
from bot.board.serve import Server
from bot.board.sessions import Sessions
from bot.board.streams import Hub, Watch, spread
from bot.config import BOARD_UNKNOWING, BotSettings
from bot.people import Home, People
from bot.slack.meeting import SlackAway, find_home
from storage.board.lines import PlanLine
from storage.config import SignoffConfig, read_config
from storage.database.commit_notices import CommitListener
from storage.database.engine import await_database
from storage.database.narrow import open_for_visits, open_to_watch
from storage.database.schema import demand_this_release
from storage.errors import BadConfig, SignoffError, Unavailable
from storage.http_server import Bounds, serving
from storage.looking import Looking, Visits
from storage.signal_flag import Flag

TICK = 1.0
KNOWN = 40.0  # seconds for which it stands who somebody is: with the next look of an open page, a minute
PATIENCE = 60.0  # seconds for the bot to make the database ready
BOUNDS = Bounds(connections=600, size=20_000, life=60.0, parting=3.0)
logger = logging.getLogger(__name__)


def run(settings: BotSettings) -> int:
    """Until SIGTERM."""
    config, stop = read_config(settings.config), Flag()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    store, visits = connected(settings)
    hub = Hub()
    server = made(settings, config, store, visits, hub)
    with serving(
        "SIGNOFF_BOARD_PORT", settings.board_host, settings.board_port, server.routes(), BOUNDS
    ) as port:
        logger.info("the board listens at %s:%s", settings.board_host, port)
        listen(settings, store, server, stop)
        hub.end()
        time.sleep(0.1)  # the last words of open streams
    server.threads.shutdown(wait=False, cancel_futures=True)
    return 0


def connected(settings: BotSettings) -> tuple[Looking, Visits]:
    """One connection that cannot write, and one that writes visits; the bot makes the rows ready."""
    url, until = settings.board_database_url or settings.database, time.monotonic() + PATIENCE
    while True:
        try:
            visits = open_for_visits(url)
            await_database(visits, PATIENCE)
            engine = open_to_watch(url)
            demand_this_release(engine)
            break
        except (BadConfig, Unavailable):
            if time.monotonic() > until:
                raise
            time.sleep(0.5)
    now, redactor = settings.now(), settings.redactor()
    return Looking(engine, now, redactor), Visits(visits, now, redactor)


def made(settings: BotSettings, config: SignoffConfig, store: Looking, visits: Visits, hub: Hub) -> Server:
    token = settings.board_token.get_secret_value().strip()
    if not token:
        raise BadConfig(BOARD_UNKNOWING)
    client = WebClient(token=token, base_url=settings.slack_api_url, timeout=10, retry_handlers=[])
    people = People(client, home(client), groups=config.groups(), lasts=KNOWN)
    tickets, files = settings.tickets(), static_files.load()
    desk = Desk(store, Names(client), config, settings.state, people.home.url)
    sessions = Sessions(visits, people, tickets)
    addresses = {name: file.address for name, file in files.items()}
    answers = Answers(desk, Evidence(desk), addresses, visits.opened)
    known = door.hosts(tickets.address, settings.board_host, config.board.hosts)
    return Server(answers, Scopes(store, people, config), sessions, hub, files, known)


def home(client: WebClient) -> Home:
    """Which workspace it looks at; Slack may be away for a while."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return find_home(client)
        except SlackAway:
            if time.monotonic() > until:
                raise
            time.sleep(1.0)


def listen(settings: BotSettings, store: Looking, server: Server, stop: Flag) -> None:
    """Tell open pages what moved, until the process stops."""
    watch, pace = Watch(store), Pace()
    watch.begin()

    def picks(user: str, lines: Sequence[PlanLine]) -> list[int]:
        try:
            scope = server.scopes.of(server.sessions.people.actor(user))
        except SignoffError:
            return []
        return [line.id for line in scope.pick(lines, lambda line: line.id)]

    with closing(CommitListener(store.engine)) as commits:
        while not stop.is_set() and not settings.orphaned():
            commits.wait(TICK, stop.is_set)
            pace.wait(stop.wait)
            try:
                spread(server.hub, watch.moved(), picks, store.lines_of)
            except Unavailable as error:
                logger.warning("the board waits: %s", error)
                time.sleep(TICK)
