"""What the commands read: the rows, and what the workers say that they can do."""

import json
import subprocess
from pathlib import Path
from typing import Any

from bot.cli.supervise import PYTHON
from bot.config import BotSettings
from bot.planner.validate import Catalogue
from storage.contract.capability import Contract
from storage.contract.survey import Survey
from storage.database.engine import migrate, open_engine
from storage.database.schema import open_to_look
from storage.errors import BadConfig
from storage.intention import Intention


def open_to_read(settings: BotSettings) -> Intention:
    """For commands that only look: nothing is made, and nothing is brought up to date."""
    return Intention(open_to_look(settings.database), settings.now(), settings.redactor())


def open_store(settings: BotSettings) -> Intention:
    """For commands that act."""
    engine = open_engine(settings.database)
    migrate(engine)
    return Intention(engine, settings.now(), settings.redactor())


def ask_workers() -> Catalogue:
    """What the configured workers can do, as they say themselves: the bot holds none of their code."""
    return Catalogue([Contract.model_validate(found) for found in _said("capabilities")])


def ask_workers_doctor() -> list[tuple[str, str]]:
    """What the configured workers need outside, and what is wrong with it; nothing when it can be used."""
    return [*_said("doctor").items()]


def look_around(context: str, project: Path) -> Survey:
    """What there is to work on, as the workers see it: the bot has no client of a cluster."""
    return Survey.model_validate(_said("survey", "--context", context, "--project", str(project)))


def _said(*words: str) -> Any:
    asked = subprocess.run(  # noqa: S603 # our own module
        [*PYTHON, "-m", "workers", *words], capture_output=True, text=True, check=False
    )
    if asked.returncode:
        raise BadConfig(f"The workers cannot say what they do: {asked.stderr.strip()}")
    return json.loads(asked.stdout)
