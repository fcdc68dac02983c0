"""Old plans are forgotten as `[audit] keep_days` says: their rows go, their journal stays."""

import logging
from datetime import timedelta

from storage.audit.retention import forget
from storage.memory import Memory

logger = logging.getLogger(__name__)


def forget_old(memory: Memory, days: int) -> None:
    """With 0 days nothing is ever forgotten."""
    if days and (gone := forget(memory, memory.clock() - timedelta(days=days), actor="bot")):
        logger.info("%s plans that ended more than %s days ago were forgotten", gone, days)
