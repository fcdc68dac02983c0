"""The routes that are Slack's own (/api, /hook), and the files of the page."""

import json
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bot.local.faults import Faults
from bot.local.hooks import Hooks
from bot.local.shapes import Json, Refused
from bot.local.webapi import WebApi

PAGE = Path(__file__).parent / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Surface:
    """Reads requests as Slack does: JSON, form or query; a token in the header or in the body."""

    def __init__(self, api: WebApi, hooks: Hooks, faults: Faults, *, bot_token: str, app_token: str) -> None:
        self._api = api
        self._hooks = hooks
        self._faults = faults
        self._bot_token = bot_token
        self._app_token = app_token

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self._get_page),
            web.get("/page/{name}", self._get_page),
            web.route("*", "/api/{method}", self._call),
            web.post("/hook/{id}", self._post_hook),
        ]

    @property
    def refusals(self) -> Middleware:
        @web.middleware
        async def refusals(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                return await handler(request)
            except Refused as refused:
                body = {"ok": False, "error": refused.code, "messages": list(refused.messages)}
                return web.json_response(body, status=400)

        return refusals

    async def _get_page(self, request: web.Request) -> web.StreamResponse:
        file = PAGE / request.match_info.get("name", "index.html")
        if file.suffix not in KINDS or file.parent != PAGE or not file.is_file():
            raise web.HTTPNotFound
        return web.Response(text=file.read_text("utf-8"), content_type=KINDS[file.suffix], charset="utf-8")

    async def _call(self, request: web.Request) -> web.Response:
        if self._faults.strikes("api_down"):
            return web.Response(status=500, text="fault: api_down")
        if self._faults.strikes("rate_limit"):
            wait = {"Retry-After": str(self._faults.retry_after)}
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=wait)
        method, given = request.match_info["method"], await _arguments(request)
        error = self._refuse_token(method, _token(request, given))
        return web.json_response({"ok": False, "error": error} if error else self._api.call(method, given))

    def _refuse_token(self, method: str, token: str) -> str:
        if not token:
            return "not_authed"
        if token not in (self._bot_token, self._app_token):
            return "invalid_auth"
        needed = self._app_token if method == "apps.connections.open" else self._bot_token
        return "" if token == needed else "not_allowed_token_type"

    async def _post_hook(self, request: web.Request) -> web.Response:
        try:
            self._hooks.use(request.match_info["id"], await _arguments(request))
        except Refused as refused:
            return web.Response(status=404, text=refused.code)
        return web.Response(text="ok")


async def _arguments(request: web.Request) -> Json:
    """Arguments from the query and from a JSON or form body; an empty JSON body has none."""
    query: Json = dict(request.query)
    if request.content_type == "application/json":
        try:
            body: Json = json.loads(await request.text() or "{}")
        except ValueError:
            raise Refused("invalid_json") from None
        return query | body
    return query | dict(await request.post())


def _token(request: web.Request, given: Json) -> str:
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return bearer or str(given.get("token", ""))
