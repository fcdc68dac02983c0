"""A room whose doors are open, with a bot that turns beside them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import urllib3

from bot.context import Bot
from bot.machines.opening import machine_doors
from storage.exchange.tokens import Grant, new_secret
from storage.http_server import serving
from tests.support.fakes import NOW, TEAM
from tests.support.room import handle_all, think
from tests.support.store import Store


@dataclass
class Doors:
    """Where they are, and a token that opens them."""

    url: str
    token: str

    def call(
        self, method: str, path: str, body: Any = None, token: str = "", **headers: str
    ) -> tuple[int, Any]:
        """Status and JSON."""
        own = {"Authorization": f"Bearer {token or self.token}"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        kind = {"body": body} if isinstance(body, bytes) else {"json": body} if body is not None else {}
        answer = urllib3.request(
            method, self.url + path, headers=own, timeout=60, retries=False, redirect=False, **kind
        )
        return answer.status, answer.json() if answer.data[:1] in (b"{", b"[") else answer.data


def new_token(store: Store, name: str = "ci", owner: str = "ANN", **more: Any) -> str:
    secret = new_secret()
    grant = Grant(TEAM, name, owner, more.pop("channels", ("C1",)), **more)
    store.add_token(grant, secret, expires_at=NOW + timedelta(days=9), actor="terminal:op")
    return secret


@contextmanager
def turning(bot: Bot) -> Iterator[None]:
    """A bot that hears and thinks, as its loops would."""
    over = threading.Event()

    def turn() -> None:
        while not over.wait(0.02):
            handle_all(bot)
            think(bot)

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def open_doors(bot: Bot, token: str) -> Iterator[Doors]:
    with (
        machine_doors(bot) as (routes, beside),
        serving("test", "127.0.0.1", 0, routes, beside=beside) as port,
        turning(bot),
    ):
        yield Doors(f"http://127.0.0.1:{port}", token)
