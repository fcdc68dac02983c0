"""Socket Mode: what Slack sends is looked at before Bolt's client reads it."""

import logging
from typing import Any

from bot.given_once import GivenTwice, json_of

logger = logging.getLogger(__name__)


def refuse_said_twice(client: Any) -> None:
    """Have the client drop an envelope in which a name is given twice: it is neither read nor acked."""
    take = client.enqueue_message

    def look(raw: str) -> None:
        if said_once(raw):
            take(raw)

    client.enqueue_message = look


def said_once(raw: str) -> bool:
    try:
        json_of(raw)
    except GivenTwice as error:
        logger.warning("a delivery was refused: %s", error)
        return False
    except (ValueError, RecursionError):
        pass  # a ping, or what the client itself cannot read
    return True
