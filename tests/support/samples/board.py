"""A board over given rows, with people who need no Slack: its addresses, and who comes to them."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bot.board import door, static_files
from bot.board.answers import Answers
from bot.board.desk import Desk
from bot.board.evidence import Evidence
from bot.board.scope import Scopes
from bot.board.serve import Server
from bot.board.sessions import Sessions
from bot.board.streams import Hub, Watch, spread
from bot.tickets import Tickets
from storage.config import SignoffConfig
from storage.database.narrow import open_for_visits, open_to_watch
from storage.http_server import Bounds, serving
from storage.looking import Looking, Visits
from tests.support.fakes import TEAM, Everybody
from tests.support.store import Store

KEY = "a-key-of-the-tests"


class Plainly:
    """Everybody is called by their id."""

    def who(self, id_: str) -> str:
        return id_

    def where(self, id_: str) -> str:
        return f"#{id_}"


@dataclass
class Board:
    """Where it is, and what a test may turn."""

    store: Store
    server: Server
    people: Everybody
    tickets: Tickets
    port: int = 0
    cookies: dict[str, str] = field(default_factory=dict)
    open: list[Any] = field(default_factory=list)

    def link(self, user: str, **more: Any) -> str:
        visit = self.store.find_visit(self.store.invite_visit(team=TEAM, user=user, **more))
        assert visit
        return self.tickets.ticket(visit)

    def enters(self, user: str) -> "Board":
        """From now on this person is there; who was there before still is."""
        status, headers, _ = self.posts("/enter", {"t": self.link(user)})
        assert status == 303, status
        self.cookies[user] = headers["Set-Cookie"].partition(";")[0]
        return self

    def gets(self, path: str, user: str = "", **headers: str) -> tuple[int, dict[str, str], str]:
        cookie = {"Cookie": self.cookies[user]} if user else {}
        return self.asks("GET", path, None, cookie | headers)

    def posts(
        self, path: str, form: dict[str, str], user: str = "", **headers: str
    ) -> tuple[int, dict[str, str], str]:
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        cookie = {"Cookie": self.cookies[user]} if user else {}
        given = kind | cookie | {key.replace("_", "-"): value for key, value in headers.items()}
        return self.asks("POST", path, urlencode(form).encode(), given)

    def asks(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, dict(answer.getheaders()), text

    def document(self, path: str, user: str) -> Any:
        status, _, text = self.gets(path, user)
        assert status == 200, (status, text)
        return json.loads(text)

    def streams(self, user: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/stream", headers={"Cookie": self.cookies[user]})
        response = connection.getresponse()
        self.open += [connection, response]
        return response

    def closes(self) -> None:
        while self.open:
            self.open.pop().close()

    def moved(self, watch: Watch) -> None:
        """What the listening thread of the process does after a commit."""
        spread(self.server.hub, watch.moved(), self.picks, watch.store.lines_of)

    def picks(self, user: str, lines: Any) -> list[int]:
        scope = self.server.scopes.of(self.people.actor(user))
        return [line.id for line in scope.pick(lines, lambda line: line.id)]


def url_of(store: Store) -> str:
    return store.engine.url.render_as_string(hide_password=False)


@contextmanager
def board(
    store: Store, state: Path, config: SignoffConfig, *, url: str = "", clock: Any = None
) -> Iterator[Board]:
    """A whole one, on a port of its own; over the same file, or as another role."""
    place = url or url_of(store)
    now: Any = clock or store.clock
    visits, looking = Visits(open_for_visits(place), now), Looking(open_to_watch(place), now)
    people, files, hub = Everybody(), static_files.load(), Hub()
    tickets = Tickets("http://127.0.0.1", KEY)
    desk = Desk(looking, Plainly(), config, state, "https://acme.slack.com/")  # type: ignore[arg-type] # as Names
    addresses = {name: file.address for name, file in files.items()}
    answers = Answers(desk, Evidence(desk), addresses, visits.opened)
    hosts = door.hosts(tickets.address, "127.0.0.1", ())
    sessions = Sessions(visits, people, tickets)
    server = Server(answers, Scopes(looking, people, config), sessions, hub, files, hosts)
    bounds = Bounds(connections=600, size=20_000, parting=2.0)
    made = Board(store, server, people, tickets)
    try:
        with serving("port", "127.0.0.1", 0, server.routes(), bounds) as port:
            made.port = port
            yield made
            hub.end()
    finally:
        server.threads.shutdown()
        made.closes()
        for memory in (visits, looking):
            memory.engine.dispose()


def said(response: http.client.HTTPResponse, count: int) -> list[str]:
    """So many things that a stream says, without its comments."""
    found: list[str] = []
    while len(found) < count:
        line = response.readline().decode().strip()
        if line.startswith("event:"):
            name = line.removeprefix("event: ")
            found.append(f"{name} {response.readline().decode().strip().removeprefix('data: ')}")
        elif not line and response.isclosed():
            break
    return found
