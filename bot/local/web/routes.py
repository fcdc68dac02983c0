"""The routes that are Slack's own (/api, /hook, /upload, /files), and the files of the page."""

import asyncio
import json
from collections import deque
from pathlib import Path
from urllib.parse import quote

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bot.local.api.methods import WebApi
from bot.local.api.parts import Parts
from bot.local.api.response_urls import ResponseUrls
from bot.local.shapes import Json, Refused

PAGE = Path(__file__).parent / "page"
REMEMBERED_CALLS = 50_000
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class SlackRoutes:
    """Reads requests as Slack does: JSON, form or query; a token in the header or in the body."""

    def __init__(self, parts: Parts, hooks: ResponseUrls, *, bot_token: str, app_token: str) -> None:
        self.calls: deque[Json] = deque(maxlen=REMEMBERED_CALLS)
        self._api = WebApi(parts)
        self._files = parts.files
        self._faults = parts.faults
        self._rates, self._clock = parts.rates, parts.clock
        self._hooks = hooks
        self._bot_token = bot_token
        self._app_token = app_token

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self._get_page),
            web.get("/page/{name}", self._get_page),
            web.route("*", "/api/{method}", self._call),
            web.post("/hook/{id}", self._post_hook),
            web.post("/upload/{ticket}", self._post_upload),
            web.get("/files/{id}/{name}", self._get_file),
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
        method, given = request.match_info["method"], await _arguments(request)
        if self._faults.strikes("slow_api", method):
            await asyncio.sleep(self._faults.delay)
        response = self._failed(method, given) or self._answered(request, method, given)
        self._note(method, given, response)
        # Whatever was asked is done by now.
        if response.status == 200 and self._faults.strikes("lost_reply", method) and request.transport:
            request.transport.close()
        return response

    def _failed(self, method: str, given: Json) -> web.Response | None:
        if self._faults.strikes("api_down", method):
            return web.Response(status=500, text="fault: api_down")
        if self._faults.strikes("rate_limit", method):
            return _too_fast(self._faults.retry_after)
        wait = self._rates.wait(method, str(given.get("channel") or ""))
        return _too_fast(wait) if wait else None

    def _answered(self, request: web.Request, method: str, given: Json) -> web.Response:
        error = self._refuse_token(method, _token(request, given))
        if error:
            return web.json_response({"ok": False, "error": error})
        granted = {"x-oauth-scopes": self._api.granted}
        return web.json_response(self._api.call(method, given), headers=granted)

    def _note(self, method: str, given: Json, response: web.Response) -> None:
        channel = given.get("channel") or given.get("channel_id") or ""
        answer = json.loads(response.text) if response.text and response.status == 200 else {}
        call = {"method": method, "at": self._clock(), "channel": channel, "status": response.status}
        self.calls.append(call | {"error": answer.get("error", ""), "ts": answer.get("ts", "")})

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

    async def _post_upload(self, request: web.Request) -> web.Response:
        data = await _uploaded(request)
        try:
            self._files.receive(request.match_info["ticket"], data)
        except Refused as refused:
            return web.Response(status=400, text=refused.code)
        return web.Response(text=f"OK - {len(data)}")

    async def _get_file(self, request: web.Request) -> web.Response:
        file, data = self._files.content(request.match_info["id"])
        shown = "inline" if file["mimetype"] == "image/png" else "attachment"
        disposition = {"Content-Disposition": f"{shown}; filename*=UTF-8''{quote(file['name'])}"}
        return web.Response(body=data, content_type=file["mimetype"], headers=disposition)


def _too_fast(seconds: int) -> web.Response:
    wait = {"Retry-After": str(seconds)}
    return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=wait)


async def _uploaded(request: web.Request) -> bytes:
    """The bytes themselves, or the first part of a form."""
    if not request.content_type.startswith("multipart/"):
        return await request.read()
    for part in (await request.post()).values():
        if isinstance(part, web.FileField):
            return part.file.read()
    return b""


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
