"""What happens to plans, told to listeners: CloudEvents from the journal, signed, at least once."""

import json
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import urllib3

from bot.context import Bot
from bot.machines.signatures import signed
from storage.contract.doors import Sink
from storage.database.tables import Event, Telling
from storage.errors import BadConfig

# What is told, and how it is called; nothing of what workers reported.
TOLD = {
    "request": "requested", "propose": "proposed", "amend": "amended", "approve": "approved",
    "reject": "rejected", "expire": "expired", "cancel": "cancelled", "stall": "stalled",
    "answer": "answered", "succeed": "step_succeeded", "fail": "step_failed", "lose": "step_unknown",
    "rollback": "rolling_back", "finish": "finished",
}  # fmt: skip
KEPT = ("step", "outcome", "revision", "digest", "risk", "given", "needed", "machine")
PATIENCE = 5.0
LONGEST = timedelta(hours=24)  # then it is given up, and the next one told
logger = logging.getLogger(__name__)
Post = Callable[[str, bytes, dict[str, str]], int]


def secrets_of(sinks: Mapping[str, Sink], environ: Mapping[str, str]) -> dict[str, str]:
    found = {name: environ.get(sink.secret_env, "").strip() for name, sink in sinks.items()}
    for name, value in found.items():
        if len(value) < 16:
            raise BadConfig(
                f"[events.{name}] needs a secret of at least 16 characters in {sinks[name].secret_env}."
            )
    return found


def post(url: str, body: bytes, headers: dict[str, str]) -> int:
    """The status; 0 where there was no answer. No redirect is followed."""
    try:
        answer = urllib3.request(
            "POST", url, body=body, headers=headers, timeout=PATIENCE, retries=False, redirect=False
        )
    except urllib3.exceptions.HTTPError:
        return 0
    return answer.status


def tell(bot: Bot, secrets: Mapping[str, str], send: Post = post) -> None:
    """Every listener, as far as it listens."""
    for name, sink in bot.config.events.items():
        one = bot.store.how_far(name, bot.people.home.team)
        if one.not_before <= bot.store.clock():
            _tell(bot, name, sink, one, secrets[name], send)


def _tell(bot: Bot, name: str, sink: Sink, one: Telling, secret: str, send: Post) -> None:
    for event in bot.store.untold(one.event_id, sink.types or tuple(TOLD)):
        view = bot.store.view(event.plan_id)
        if sink.channels and view.channel not in sink.channels:
            bot.store.heard(one, event.id)
        elif not _sent(bot, name, sink, one, secret, send, event, view.channel):
            return
        one = bot.store.how_far(name, one.team)


def _sent(
    bot: Bot, name: str, sink: Sink, one: Telling, secret: str, send: Post, event: Event, channel: str
) -> bool:
    now = bot.store.clock()
    body = json.dumps(cloud_event(event, one.team, channel), ensure_ascii=False).encode()
    id_, at = f"plan-{event.plan_id}-{event.seq}", str(int(now.timestamp()))
    headers = {
        "Content-Type": "application/cloudevents+json; charset=utf-8", "webhook-id": id_,
        "webhook-timestamp": at, "webhook-signature": f"v1,{signed(secret, id_, at, body)}",
    }  # fmt: skip
    status = send(sink.url, body, headers)
    if 200 <= status < 300:
        bot.store.heard(one, event.id)
        return True
    why = f"answered {status}" if status else "did not answer"
    if one.since and now - one.since >= LONGEST:
        logger.warning("the listener %s was not told of %s: for a day it %s", name, id_, why)
        bot.store.heard(one, event.id, problem=f"{id_} was given up after a day: it {why}")
        return True
    wait = timedelta(seconds=min(3600, 2 ** min(one.tries + 1, 12)))
    bot.store.unheard(one, problem=f"{id_}: it {why}", again_at=now + wait)
    return False


def cloud_event(event: Event, team: str, channel: str) -> dict[str, Any]:
    """CloudEvents 1.0, structured. Its id is the journal's own: who hears it twice can tell."""
    data = {"plan": event.plan_id, "channel": channel, "actor": event.actor}
    data |= {name: event.data[name] for name in KEPT if name in event.data}
    return {
        "specversion": "1.0", "id": f"plan-{event.plan_id}-{event.seq}", "source": f"signoff:{team}",
        "type": f"signoff.plan.{TOLD[event.verb]}", "subject": f"plan/{event.plan_id}",
        "time": event.at.isoformat().replace("+00:00", "Z"), "datacontenttype": "application/json",
        "data": data,
    }  # fmt: skip
