"""`signoff hooks`: what hooks said, and what came of it; said again where an operator wants it."""

import json
from typing import Any

from bot.cli.sources import open_store, open_to_read
from bot.config import BotSettings
from storage.config import login
from storage.database.tables import Call
from storage.errors import SignoffError


def hooks(settings: BotSettings, act: str, key: str) -> int:
    """list, show, replay."""
    if act == "list":
        return list_calls(settings)
    if not key:
        raise SignoffError(f"Please say which: signoff hooks {act} KEY. `signoff hooks list` has them.")
    return show(settings, key) if act == "show" else replay(settings, key)


def list_calls(settings: BotSettings) -> int:
    found = open_to_read(settings).calls()
    for call in found:
        when = f"{call.at:%Y-%m-%d %H:%M:%S}"
        print(f"{when}  {call.hook:<16} {call.key}  {_became(call)}")
    if not found:
        print("No hook has called in the last 30 days.")
    return 0


def show(settings: BotSettings, key: str) -> int:
    """As it was kept: redacted and bounded."""
    call = open_to_read(settings).call_of(key)
    print(f"{call.key}\n{_became(call)}")
    print(json.dumps(call.body, indent=2, ensure_ascii=False))
    return 0


def _became(call: Call) -> str:
    return f"{call.answer} (plan {call.plan_id})" if call.plan_id else call.answer


def replay(settings: BotSettings, key: str) -> int:
    """The same once more, as if it came now; routes are read anew. The journal keeps who said so."""
    store = open_store(settings)
    call = store.call_of(key)
    again = f"{call.key}:again-{store.clock():%Y%m%dT%H%M%S%f}"
    with store.coming("terminal"):
        store.replay(again, said_again(call, again), actor=login())
    print(f"{again} lies in line; the bot takes it as soon as it runs.")
    return 0


def said_again(call: Call, key: str) -> dict[str, Any]:
    """The row for the bot."""
    who = {"user": f"hook:{call.hook}", "team": call.team, "hook": call.hook}
    return who | {"key": key, "heard": call.body, "again": True}
