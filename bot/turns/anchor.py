"""Anchors the journal: its newest hashes go into a file outside the database and, if wanted, a channel."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from storage.audit.export import checkpoint
from storage.contract.spec import utc
from storage.errors import Conflict
from storage.intention import Intention

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Anchor:
    """Where checkpoints go, and who hears when one cannot be made."""

    store: Intention
    file: Path
    channel: str = ""
    admins: Sequence[str] = ()

    def drop(self) -> None:
        """Anchor what has happened since the last time, if it follows from it; alarm otherwise."""
        now = self.store.clock()
        try:
            made = checkpoint(self.store.engine, self.file, now)
        except Conflict as error:
            self._alarm(f"Somebody may have changed the journal behind my back. {error}")
        except OSError as error:
            self._alarm(f"The journal cannot be anchored: {error}.")
        else:
            if self.channel and made.at == utc(now):
                self.store.say(f"anchor:{made.root}", channel=self.channel, text=f":anchor: {made}")

    def _alarm(self, why: str) -> None:
        """Once a day for the same reason: it stays wrong until somebody looks."""
        logger.error(why)
        first, day = why.partition("\n")[0], self.store.clock().date()
        text = (
            f":rotating_light: {first} Please compare an export with the checkpoints: `signoff audit verify`."
        )
        for admin in self.admins:
            self.store.tell(f"alarm:{day}:{admin}:{first}", user=admin, text=text)
