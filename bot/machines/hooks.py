"""Hooks: a signed call is committed, then answered; what becomes of it is handled from its row."""

import time
from collections.abc import Callable, Mapping
from functools import partial

from aiohttp import web

from bot.context import Bot
from bot.given_once import json_of
from bot.machines.heard import READERS
from bot.machines.signatures import PROOFS
from storage.contract.capability import fingerprint
from storage.contract.doors import Hook
from storage.errors import BadConfig, Unavailable
from storage.http_server import Threads

PREFIX = "/hooks"
THREADS = 16
LARGEST = 512_000
BUCKET = 5  # seconds in which a source that names no id says the same once


def secrets_of(hooks: Mapping[str, Hook], environ: Mapping[str, str]) -> dict[str, list[str]]:
    """The secrets of every hook; one that is blank would let everybody in."""
    found = {name: [environ.get(one, "").strip() for one in hook.secret_env] for name, hook in hooks.items()}
    for name, values in found.items():
        if not all(len(value) >= 16 for value in values):
            missing = ", ".join(hooks[name].secret_env)
            raise BadConfig(f"[hooks.{name}] needs a secret of at least 16 characters in {missing}.")
    return found


def hook_routes(
    bot: Bot, environ: Mapping[str, str], clock: Callable[[], float] = time.time
) -> list[web.RouteDef]:
    """A route for each hook of signoff.toml."""
    hooks = bot.config.hooks
    if not hooks:
        return []
    secrets, threads = secrets_of(hooks, environ), Threads(THREADS, "hooks")

    def door(name: str, hook: Hook) -> web.RouteDef:
        async def answer(request: web.Request) -> web.Response:
            raw = await request.read()
            if not PROOFS[hook.kind](request.headers, raw, secrets[name], clock()):
                return web.Response(status=401)
            if len(raw) > LARGEST:
                return web.Response(status=413)
            return await threads.run(partial(take, bot, name, hook, dict(request.headers), raw, clock()))

        return web.post(f"{PREFIX}/{name}", answer)

    return [door(name, hook) for name, hook in hooks.items()]


def take(bot: Bot, name: str, hook: Hook, headers: dict[str, str], raw: bytes, now: float) -> web.Response:
    """Commit it, then answer. Under trouble it is 503: a source takes 429 for its own fault."""
    try:
        body = json_of(raw.decode())
    except (ValueError, RecursionError):
        return web.Response(status=400)
    if not isinstance(body, dict):
        return web.Response(status=400)
    # Hidden before it is cut short: half a secret looks like none. What is the same call, the whole says.
    said = (headers, body)
    heard, whole = (READERS[hook.kind](Folded(h), b, raw) for h, b in (bot.store.redact.data([*said]), said))
    if heard is None or whole is None:
        return web.Response(status=200)
    team = bot.people.home.team
    bucket = f":{int(now // BUCKET)}" if hook.kind == "alertmanager" else ""
    key = f"hook:{name}:{fingerprint([team, whole.id])[:32]}{bucket}"
    row = {
        "user": f"hook:{name}",
        "team": team,
        "hook": name,
        "key": key,
        "heard": heard.model_dump() | {"id": key},
    }
    try:
        bot.store.deliver(key, "hook", row)
    except Unavailable:
        return web.Response(status=503, headers={"Retry-After": "5"})
    return web.Response(status=202)


class Folded(dict[str, str]):
    """Headers by any spelling."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__({name.lower(): value for name, value in headers.items()})

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override] # headers are texts
        return super().get(name.lower(), default)
