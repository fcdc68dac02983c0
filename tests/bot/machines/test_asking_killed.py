"""A bot that dies between a commit and its answer: whoever says the same again finds the same plan."""

import os
import signal
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import pytest
import urllib3

from bot.machines.api import PREFIX
from tests.support.doors.asking import CHANGE
from tests.support.doors.served import new_token, open_doors
from tests.support.fakes import real_contracts
from tests.support.room import Room
from tests.support.store import Store

pytestmark = [pytest.mark.machines, pytest.mark.crash]


class Doomed:
    """A store whose process is gone as soon as this verb has done something."""

    def __init__(self, store: Store, verb: str) -> None:
        self._store, self._verb = store, verb

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return self._last(found) if name == self._verb else found

    def _last(self, act: Any) -> Any:
        def once(*given: Any, **named: Any) -> Any:
            if (done := act(*given, **named)) is not None:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return once


def dying(room: Room, token: str, verb: str, tell: Connection) -> None:
    room.store.engine.dispose(close=False)
    doomed: Any = Doomed(room.store, verb)
    with open_doors(replace(room.bot, store=doomed), token) as doors:
        tell.send(doors.url)
        signal.pause()


# After the ask lies in its row; after a plan was made of it, before anybody was told.
@pytest.mark.parametrize("verb", ["deliver", "ask_of"])
def test_an_ask_whose_answer_died_is_found_again_by_its_key(on_disk: Store, verb: str) -> None:
    on_disk.publish(real_contracts())
    room, processes = Room(on_disk), get_context("fork")
    token, (here, there) = new_token(on_disk), processes.Pipe()
    bot = processes.Process(target=dying, args=(room, token, verb, there))
    bot.start()
    url = f"{here.recv()}{PREFIX}/plans"
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "k1"}
    with pytest.raises(urllib3.exceptions.HTTPError):
        urllib3.request("POST", url, json={"plan": CHANGE}, headers=headers, retries=False, timeout=60)
    bot.join()

    assert bot.exitcode == -signal.SIGKILL
    with open_doors(room.bot, token) as doors:
        status, found = doors.call("POST", f"{PREFIX}/plans", {"plan": CHANGE}, Idempotency_Key="k1")
    assert (status, found["plan"], found["state"]) == (202, 1, "proposed")
    assert len(on_disk.recent(9)) == 1
