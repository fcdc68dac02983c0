"""What the commands read: the rows, and what the workers say that they can do."""

import json
import subprocess

from bot.cli.supervise import PYTHON
from bot.config import BotSettings
from bot.planner.validate import Catalogue
from storage.contract.capability import Contract
from storage.database.engine import migrate, open_engine
from storage.errors import BadConfig
from storage.intention import Intention


def open_store(settings: BotSettings) -> Intention:
    engine = open_engine(settings.database)
    migrate(engine)
    return Intention(engine, settings.now(), settings.redactor())


def ask_workers() -> Catalogue:
    """What the configured workers can do, as they say themselves: the bot holds none of their code."""
    asked = subprocess.run(  # noqa: S603 # our own module
        [*PYTHON, "-m", "workers", "capabilities"], capture_output=True, text=True, check=False
    )
    if asked.returncode:
        raise BadConfig(f"The workers cannot say what they do: {asked.stderr.strip()}")
    return Catalogue([Contract.model_validate(found) for found in json.loads(asked.stdout)])
