"""The JSON endpoints below /control for whoever runs the workspace: faults, changes, the log of calls."""

from collections import deque

from aiohttp import web

from bot.local.api.parts import Parts
from bot.local.delivery.courier import Courier
from bot.local.shapes import Json, Refused
from bot.local.state.caption import Caption


class AdminApi:
    """What no member does, but a story needs."""

    def __init__(self, parts: Parts, courier: Courier, calls: deque[Json], caption: Caption) -> None:
        self._parts = parts
        self._courier = courier
        self._faults = parts.faults
        self._calls = calls
        self._caption = caption
        self._change = {
            "member": parts.workspace.change_member,
            "channel": parts.workspace.change_channel,
            "group": parts.workspace.change_group,
        }

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/control/calls", self._get_calls),
            web.post("/control/fault", self._post_fault),
            web.post("/control/disconnect", self._post_disconnect),
            web.post("/control/delete", self._post_delete),
            web.post("/control/{kind:member|channel|group}", self._post_change),
            web.post("/control/caption", self._post_caption),
            web.post("/control/clear", self._post_clear),
            web.post("/control/request_url", self._post_request_url),
        ]

    async def _get_calls(self, request: web.Request) -> web.Response:
        method = request.query.get("method") or None
        return web.json_response([call for call in self._calls if method in (None, call["method"])])

    async def _post_fault(self, request: web.Request) -> web.Response:
        given = await request.json()
        self._faults.retry_after = given.pop("retry_after", self._faults.retry_after)
        self._faults.delay = given.pop("delay", self._faults.delay)
        where = {name: given.pop(name) for name in ("seconds", "method") if name in given}
        try:
            for name, times in given.items():
                self._faults.set(name, int(times), **where)
        except ValueError as error:
            raise Refused("invalid_arguments", str(error)) from None
        return web.json_response(self._faults.bodies())

    async def _post_disconnect(self, request: web.Request) -> web.Response:
        await self._courier.socket.disconnect(politely=(await request.json()).get("politely", True))
        return web.json_response({"ok": True})

    async def _post_delete(self, request: web.Request) -> web.Response:
        given = await request.json()
        self._parts.workspace.remove(self._parts.workspace.channel(given["channel"]), given["ts"])
        return web.json_response({"ok": True})

    async def _post_change(self, request: web.Request) -> web.Response:
        given = await request.json()
        try:
            self._change[request.match_info["kind"]](given.pop("id"), given)
        except TypeError as error:
            raise Refused("invalid_arguments", str(error)) from None
        return web.json_response({"ok": True})

    async def _post_caption(self, request: web.Request) -> web.Response:
        try:
            self._caption.show(**await request.json())
        except (TypeError, ValueError) as error:
            raise Refused("invalid_arguments", str(error)) from None
        return web.json_response({"ok": True})

    async def _post_clear(self, request: web.Request) -> web.Response:
        parts = self._parts
        for part in (parts.workspace, parts.views, parts.files, parts.faults, self._calls, self._caption):
            part.clear()
        return web.json_response({"ok": True})

    async def _post_request_url(self, request: web.Request) -> web.Response:
        await self._courier.http.verify((await request.json()).get("url", ""))
        return web.json_response({"ok": True})
