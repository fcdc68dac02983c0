"""Meeting Slack: whose token it is, and a line to hear on. A bot that starts while Slack is away tries on."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from itertools import count
from threading import Event, Thread

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.people import Home
from bot.slack.refusals import code_of
from storage.errors import BadConfig, SignoffError
from storage.monitoring.troubles import Troubles

PAUSES = (1.0, 2.0, 5.0, 10.0, 20.0)  # seconds between tries; then the last one
LINE = "line"  # what a trouble with it is about
logger = logging.getLogger(__name__)


class SlackAway(SignoffError):
    """Slack cannot be reached, or is ill; nothing is known about the token."""


def find_home(client: WebClient) -> Home:
    """Whose token this is. What comes from elsewhere is refused later."""
    try:
        known = client.auth_test()
        app = client.bots_info(bot=str(known.get("bot_id") or ""))["bot"]["app_id"]
    except SlackApiError as error:
        if error.response.status_code >= 500 or error.response.status_code == 429:
            raise SlackAway(f"Slack does not answer properly ({code_of(error)})") from None
        raise BadConfig(f"Slack does not accept the bot token: {code_of(error)}.") from None
    except (OSError, HTTPException) as error:
        raise SlackAway(f"Slack cannot be reached ({type(error).__name__})") from None
    except KeyError as error:
        raise BadConfig(f"Slack does not say which app the bot token is of ({error}).") from None
    if known.get("is_enterprise_install"):
        raise BadConfig(
            "The app is installed for a whole organisation. Please install it in one workspace instead: who "
            "may approve is said for the people of one."
        )
    us = {"user": str(known.get("user_id") or ""), "bot": str(known.get("bot_id") or "")}
    return Home(
        str(known["team_id"]), str(known.get("enterprise_id") or ""), str(app), str(known["url"]), **us
    )


@contextmanager
def meeting(connect: Callable[[], Callable[[], None]], troubles: Troubles) -> Iterator[None]:
    """Connect now, or as soon as Slack is there. `connect` gives what ends the line."""
    over, lines = Event(), list[Callable[[], None]]()

    def on() -> None:
        for number in count():
            if over.wait(PAUSES[min(number, len(PAUSES) - 1)]) or _met_later(connect, lines, troubles):
                return

    if not _met(connect, lines, troubles):
        Thread(target=on, name="meeting", daemon=True).start()
    try:
        yield
    finally:
        over.set()
        for end in lines:
            end()


def _met(connect: Callable[[], Callable[[], None]], lines: list[Callable[[], None]], said: Troubles) -> bool:
    try:
        lines.append(connect())
    except (SlackAway, SlackClientError, OSError, HTTPException) as error:
        why = str(error) if isinstance(error, SlackAway) else f"Slack cannot be reached ({_named(error)})"
        logger.warning("%s; trying again", why)
        said.say(LINE, f"{why}; nothing is heard from there.")
        return False
    said.mend(LINE)
    return True


def _met_later(
    connect: Callable[[], Callable[[], None]], lines: list[Callable[[], None]], said: Troubles
) -> bool:
    try:
        return _met(connect, lines, said)
    except BadConfig as error:  # it is there now, and does not want us: an operator must mend that
        said.say(LINE, str(error))
        return False


def _named(error: Exception) -> str:
    return code_of(error) if isinstance(error, SlackApiError) else type(error).__name__
