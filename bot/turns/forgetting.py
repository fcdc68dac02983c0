"""What has ended is put away after a day; as `[audit] keep_days` says its rows go, its journal stays."""

import logging
from datetime import timedelta

from storage.audit.putting_away import put_away
from storage.audit.retention import forget
from storage.memory import Memory

SETTLED = timedelta(days=1)  # until then people still look, ask and press
logger = logging.getLogger(__name__)


def forget_old(memory: Memory, days: int) -> None:
    """With 0 days nothing is ever forgotten."""
    if days and (gone := forget(memory, memory.clock() - timedelta(days=days), actor="bot")):
        logger.info("%s plans that ended more than %s days ago were forgotten", gone, days)


def tidy(memory: Memory) -> None:
    """What has ended takes less room from now on, and reads the same."""
    if away := put_away(memory, memory.clock() - SETTLED):
        logger.info("%s plans that have ended were put away", away)
