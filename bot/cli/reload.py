"""A changed signoff.toml: `signoff up` reads it again; one that cannot be used is said, no more."""

import hashlib
import logging
import time
from pathlib import Path

from bot.cli.sources import ask_workers
from bot.cli.supervise import Supervisor
from bot.config import BotSettings
from bot.process import load_config
from storage.errors import SignoffError

EVERY = 2.0  # seconds between two looks
logger = logging.getLogger(__name__)


class Reload:
    """Looks at the file, and has the processes started anew with it: the bot at once, workers when idle."""

    def __init__(self, settings: BotSettings, supervisor: Supervisor) -> None:
        self.settings, self.supervisor = settings, supervisor
        self.seen, self.looked_at = fingerprint(settings.config), time.monotonic()

    def look(self) -> None:
        """Cheap, and often: between the supervisor's looks at its children."""
        if time.monotonic() - self.looked_at >= EVERY:
            self.looked_at = time.monotonic()
            self.compare()

    def compare(self) -> None:
        found = fingerprint(self.settings.config)
        if found == self.seen:
            return
        self.seen, file = found, self.settings.config
        try:
            load_config(self.settings)
            ask_workers()
        except SignoffError as error:
            logger.warning(
                "%s has changed and cannot be used; what was read before stays in force: %s", file, error
            )
            return
        logger.info("%s has changed: it is read again; steps that run go on to their end first", file)
        self.supervisor.renew()


def fingerprint(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
