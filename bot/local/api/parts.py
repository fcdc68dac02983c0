"""What the Web API's methods work with, and how their arguments are read."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.local.api.scopes import Scopes
from bot.local.shapes import Channel, Json, Refused
from bot.local.state.faults import Faults
from bot.local.state.files import Files
from bot.local.state.rates import Rates
from bot.local.state.triggers import Triggers
from bot.local.state.views import Views
from bot.local.state.workspace import Workspace

# Form bodies carry these as JSON text.
STRUCTURES = ("blocks", "metadata", "view", "files")


@dataclass(frozen=True)
class Parts:
    """The workspace's parts; `echo` tells the app of its own messages, `open_link` names a new socket."""

    workspace: Workspace
    views: Views
    files: Files
    triggers: Triggers
    faults: Faults
    scopes: Scopes
    rates: Rates
    echo: Callable[[Channel, Json], None]
    open_link: Callable[[], str]
    own_status: bool = True  # whether apps can say under a thread what they do
    clock: Callable[[], float] = time.time


Method = Callable[[Parts, Json], Json]


def decoded(arguments: Json) -> Json:
    return arguments | {
        name: _parsed(name, arguments[name]) for name in STRUCTURES if isinstance(arguments.get(name), str)
    }


def _parsed(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Refused("invalid_blocks_format" if name == "blocks" else "invalid_arguments") from None
