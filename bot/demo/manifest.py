"""What manifest.yml asks for, as the demo's workspace grants it: scopes, commands, shortcuts."""

from pathlib import Path
from typing import Any

import yaml

from bot.local.shapes import Shortcut

HERE = Path(__file__).parent
# In an installed package it lies beside this file, in a checkout at the top.
PLACES = (HERE / "manifest.yml", HERE.parents[1] / "manifest.yml")


def installed() -> dict[str, Any]:
    """The app as `LocalSlack` takes it."""
    manifest = yaml.safe_load(next(path for path in PLACES if path.exists()).read_text(encoding="utf-8"))
    features = manifest["features"]
    return {
        "scopes": manifest["oauth_config"]["scopes"]["bot"],
        "commands": [one["command"] for one in features["slash_commands"]],
        "shortcuts": [Shortcut(one["callback_id"], one["name"]) for one in features["shortcuts"]],
    }
