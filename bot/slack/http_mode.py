"""HTTP mode: signed requests instead of Socket Mode. Nothing is parsed before its signature holds."""

import logging
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from slack_bolt import App, BoltRequest, BoltResponse
from slack_sdk.signature import SignatureVerifier

from bot.given_once import json_of, once
from bot.slack.payloads import Malformed, demand_shape
from storage.errors import BadConfig
from storage.http_server import Threads

PATH = "/slack/events"
THREADS = 64  # requests of Slack at once; one more is told to come again
logger = logging.getLogger(__name__)


def slack_door(app: App, secret: str) -> web.RouteDef:
    """Where Slack's requests come in."""
    if not secret.strip():
        raise BadConfig("SLACK_SIGNING_SECRET is not set, so nobody could tell Slack's requests from others.")
    verifier, threads = SignatureVerifier(secret), Threads(THREADS, "slack")

    async def answer(request: web.Request) -> web.Response:
        raw = await request.read()
        if not is_slack(verifier, request, raw):
            return web.Response(status=401)
        try:
            heard = BoltRequest(body=parsed(raw, request.content_type), mode="socket_mode")
        except Malformed as error:
            logger.warning("a signed request was refused: %s", error)
            return web.Response(status=400)
        return await threads.run(partial(dispatch, app, heard))

    return web.post(PATH, answer)


def is_slack(verifier: SignatureVerifier, request: web.Request, raw: bytes) -> bool:
    """Signed with our secret, within the last five minutes."""
    try:
        return verifier.is_valid_request(raw, dict(request.headers))
    except (ValueError, TypeError):  # a time that is no number, a signature that is no ASCII
        return False


def parsed(raw: bytes, kind: str) -> dict[str, Any]:
    """A payload of Slack: JSON, a form, or JSON in a form. Bolt is handed what was read here.

    (Bolt itself takes every form in which the word "payload" occurs for the last of them.)
    """
    try:
        text = raw.decode()
        if kind == "application/json":
            return demand_shape(json_of(text))
        fields = once(parse_qsl(text, keep_blank_values=True, strict_parsing=True))
        return demand_shape(json_of(fields["payload"]) if "payload" in fields else fields)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None


def dispatch(app: App, heard: BoltRequest) -> web.Response:
    answer: BoltResponse = app.dispatch(heard)
    response = web.Response(status=answer.status, body=answer.body.encode())
    for name, values in answer.headers.items():
        for value in values:
            response.headers.add(name, value)
    return response
