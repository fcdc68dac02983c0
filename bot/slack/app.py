"""The Bolt app: what Slack delivers is committed as a row, then acked. Handling happens from the row."""

import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from slack_bolt import Ack, App, BoltResponse
from slack_bolt.authorization import AuthorizeResult
from slack_sdk import WebClient

from bot.cards.blocks import pressed
from bot.context import Bot
from bot.inbox.forms import next_form, on_submitted
from bot.slack.payloads import Malformed, demand_words

logger = logging.getLogger(__name__)
ANYTHING = re.compile(r".*", re.S)
PLAN_THIS = "plan_this"  # the message shortcut of manifest.yml


def build(client: WebClient, bot: Bot) -> App:
    """The only place where listeners are registered. What comes by HTTP was checked before it comes here."""
    quiet = logging.getLogger("slack_bolt")  # Bolt warns of the token in the environment, which is ours
    pool = ThreadPoolExecutor(50, "listener")

    def ours() -> AuthorizeResult:
        # Whose token it is was asked already, or cannot be asked now: Bolt would ask at the first delivery,
        # and where Slack says no to that, ack what nobody has kept.
        home = bot.people.home
        return AuthorizeResult(
            enterprise_id=home.enterprise or None, team_id=home.team or None,
            bot_user_id=home.user or None, bot_id=home.bot or None, bot_token=client.token,
        )  # fmt: skip

    app = App(client=client, logger=quiet, listener_executor=pool, authorize=ours)
    app.use(lambda body, next: commit(bot, body, next))
    for register in (app.command, app.action, app.shortcut, app.event):
        register(ANYTHING)(acknowledge)

    @app.view(ANYTHING)
    def submitted(ack: Ack, body: dict[str, Any]) -> None:
        errors = on_submitted(bot, body["user"]["id"], body["view"], origin(body))
        ack(response_action="errors", errors=errors) if errors else ack(
            **next_form(bot, body["view"], body["user"]["id"])
        )

    @app.error
    def broken(error: Exception) -> BoltResponse:
        # Nothing was committed, so nothing is acked: Slack shows the person that it did not work.
        if isinstance(error, Malformed):
            logger.warning("a delivery was refused: %s", error)
            return BoltResponse(status=400)
        logger.error("a delivery could not be taken", exc_info=error)
        return BoltResponse(status=500)

    return app


def acknowledge(ack: Ack) -> None:
    ack()


def commit(bot: Bot, body: dict[str, Any], proceed: Callable[[], Any]) -> Any:
    """Global middleware: the row first. If it cannot be written this raises, and nothing is acked."""
    found = delivery(body)
    if found and found[1] == "reply" and not bot.store.plan_at(found[2]["channel"], found[2]["thread"]):
        return proceed()  # talk elsewhere is none of our business, and not kept
    if found:
        demand_words(found[2])
    if found and not bot.store.deliver(*found):
        logger.info("delivered again: %s", found[0])
    return proceed()


def delivery(body: dict[str, Any]) -> tuple[str, str, dict[str, Any]] | None:
    """(key, kind, what handling needs) of a payload; None for what is answered in its ack, or not at all."""
    found = _read(body)
    return (found[0], found[1], found[2] | origin(body)) if found else None


def origin(body: dict[str, Any]) -> dict[str, Any]:
    """By which workspace and for which app it comes; "" for what the payload does not say."""
    # An event may come from a channel of several workspaces; this is the one through which it reaches us.
    install: dict[str, Any] = next(iter(body.get("authorizations") or ()), {})
    team = body.get("context_team_id") or install.get("team_id") or body.get("team_id") or _id(body, "team")
    grid = body.get("context_enterprise_id") or install.get("enterprise_id") or body.get("enterprise_id")
    marks = {"team": team, "enterprise": grid or _id(body, "enterprise"), "app": body.get("api_app_id")}
    return {name: value or "" for name, value in marks.items()}


def _id(body: dict[str, Any], name: str) -> Any:
    part = body.get(name) or ""
    return part if isinstance(part, str) else part.get("id", "")


def _read(body: dict[str, Any]) -> tuple[str, str, dict[str, Any]] | None:
    if "command" in body:
        facts = {"user": body["user_id"], "channel": body["channel_id"], "text": body.get("text", "")}
        facts["trigger"] = body["trigger_id"]
        return f"command:{body['trigger_id']}", "command", facts
    if body.get("type") == "block_actions":
        return _click(body)
    if body.get("type") == "message_action":
        return _shortcut(body)
    if body.get("type") == "event_callback":
        return _event(body["event"], {who.get("user_id") for who in body.get("authorizations", ())})
    return None


def _event(event: dict[str, Any], us: set[str | None]) -> tuple[str, str, dict[str, Any]] | None:
    if event.get("type") == "app_home_opened" and event.get("tab") == "home":
        facts = {"user": event["user"], "channel": event["channel"]}
        return f"home:{event['user']}:{event['event_ts']}", "home", facts
    if event.get("type") == "app_mention" or _is_letter(event):
        facts = {"user": event["user"], "channel": event["channel"], "text": event["text"]}
        facts |= {"thread": event.get("thread_ts") or event["ts"], "ts": event["ts"]}
        return f"mention:{event['channel']}:{event['ts']}", "mention", facts
    if _is_reply(event) and not any(f"<@{user}>" in event["text"] for user in us):
        facts = {name: event[name] for name in ("user", "channel", "text", "ts")}
        facts["thread"] = event["thread_ts"]
        return f"reply:{event['channel']}:{event['ts']}", "reply", facts
    return None


def _is_letter(event: dict[str, Any]) -> bool:
    """A person's direct message."""
    return _is_said(event) and event.get("channel_type") == "im"


def _is_reply(event: dict[str, Any]) -> bool:
    """A person's words in a thread; one that mentions us comes as a mention, too."""
    return _is_said(event) and event.get("thread_ts", event["ts"]) != event["ts"]


def _is_said(event: dict[str, Any]) -> bool:
    """Somebody's new message: not an edit, not a deletion, and not our own."""
    said = event.get("type") == "message" and "user" in event and "text" in event
    return said and "subtype" not in event and "bot_id" not in event


def _shortcut(body: dict[str, Any]) -> tuple[str, str, dict[str, Any]] | None:
    """ "Plan this": somebody's words, asked for by whoever chose the shortcut."""
    if body.get("callback_id") != PLAN_THIS:
        return None
    message, channel = body["message"], body["channel"]["id"]
    facts = {"user": body["user"]["id"], "channel": channel, "text": message.get("text", "")}
    facts["thread"] = message.get("thread_ts") or message["ts"]
    return f"shortcut:{channel}:{message['ts']}:{body['action_ts']}", "mention", facts


def _click(body: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    action, user = body["actions"][0], body["user"]["id"]
    name, value = pressed(action)
    message, view, place = body.get("message", {}), body.get("view", {}), body.get("container") or {}
    facts = {
        "user": user, "action": name,
        "channel": body.get("channel", {}).get("id", "") or view.get("private_metadata", ""),
        "home": view.get("type") == "home", "alone": bool(place.get("is_ephemeral")),
        "place": message.get("ts", "") if _agrees(body, place, message) else "",
        "value": value, "trigger": body.get("trigger_id", ""),
        "thread": message.get("thread_ts", "") if message.get("thread_ts") != message.get("ts") else "",
    }  # fmt: skip
    when = action.get("action_ts") or body.get("trigger_id", "")
    surface = message.get("ts") or view.get("id", "")
    return f"click:{user}:{surface}:{name}:{when}", "click", facts


def _agrees(body: dict[str, Any], place: dict[str, Any], message: dict[str, Any]) -> bool:
    """Whether a click's container is the message that the click says it was made at."""
    said = (place.get("type"), place.get("channel_id"), place.get("message_ts"))
    return said == ("message", _id(body, "channel"), message.get("ts"))
