"""The Bolt app: what Slack delivers is committed as a row, then acked. Handling happens from the row."""

import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from slack_bolt import Ack, App, BoltResponse
from slack_sdk import WebClient

from bot.hands import Bot
from bot.listeners.forms import on_form

logger = logging.getLogger(__name__)
ANYTHING = re.compile(r".*", re.S)


def build(client: WebClient, bot: Bot) -> App:
    """The only place where listeners are registered."""
    quiet = logging.getLogger("bot.slack")  # Bolt warns of the token in the environment, which is ours
    app = App(client=client, logger=quiet, listener_executor=ThreadPoolExecutor(50, "listener"))
    app.use(lambda body, next: commit(bot, body, next))
    for register in (app.command, app.action, app.shortcut, app.event):
        register(ANYTHING)(acknowledge)

    @app.view(ANYTHING)
    def submitted(ack: Ack, body: dict[str, Any]) -> None:
        errors = on_form(bot, body["user"]["id"], body["view"])
        ack(response_action="errors", errors=errors) if errors else ack()

    @app.error
    def broken(error: Exception) -> BoltResponse:
        # Nothing was committed, so nothing is acked: Slack shows the person that it did not work.
        logger.error("a delivery could not be taken", exc_info=error)
        return BoltResponse(status=500)

    return app


def acknowledge(ack: Ack) -> None:
    ack()


def commit(bot: Bot, body: dict[str, Any], proceed: Callable[[], Any]) -> Any:
    """Global middleware: the row first. If it cannot be written this raises, and nothing is acked."""
    found = delivery(body)
    if found and not bot.store.deliver(*found):
        logger.info("delivered again: %s", found[0])
    return proceed()


def delivery(body: dict[str, Any]) -> tuple[str, str, dict[str, Any]] | None:
    """(key, kind, what handling needs) of a payload; None for what is answered in its ack, or not at all."""
    if "command" in body:
        facts = {"user": body["user_id"], "channel": body["channel_id"], "text": body.get("text", "")}
        return f"command:{body['trigger_id']}", "command", facts
    if body.get("type") == "block_actions":
        return _click(body)
    if body.get("type") == "event_callback" and body["event"].get("type") == "app_mention":
        event = body["event"]
        facts = {"user": event["user"], "channel": event["channel"], "text": event["text"]}
        facts["thread"] = event.get("thread_ts") or event["ts"]
        return f"mention:{event['channel']}:{event['ts']}", "mention", facts
    return None


def _click(body: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    action, user = body["actions"][0], body["user"]["id"]
    message = body.get("message", {})
    facts = {
        "user": user, "channel": body.get("channel", {}).get("id", ""), "action": action["action_id"],
        "value": action.get("value", ""), "trigger": body.get("trigger_id", ""),
        "thread": message.get("thread_ts", "") if message.get("thread_ts") != message.get("ts") else "",
    }  # fmt: skip
    when = action.get("action_ts") or body.get("trigger_id", "")
    return f"click:{user}:{message.get('ts', '')}:{action['action_id']}:{when}", "click", facts
