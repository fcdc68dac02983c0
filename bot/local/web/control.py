"""The JSON endpoints below /control for people: the page and the tests act and look through the same ones."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from aiohttp import web

from bot.local.api.parts import Parts
from bot.local.delivery.courier import Courier
from bot.local.people.acts import Acts
from bot.local.shapes import Control, Delivery, Json, Refused
from bot.local.state.caption import Caption
from bot.local.web.live import Live
from bot.local.web.scene import Scene

LONGEST_WAIT = 25.0

logger = logging.getLogger(__name__)


class ControlApi:
    """Acts of people, demo controls, and the state to look at."""

    def __init__(
        self, parts: Parts, courier: Courier, acts: Acts, live: Live, scene: Scene, caption: Caption
    ) -> None:
        self._workspace = parts.workspace
        self._views = parts.views
        self._faults = parts.faults
        self._courier = courier
        self._acts = acts
        self._live = live
        self._scene = scene
        self._caption = caption
        self._controls = {control.id: control for control in scene.controls}
        self._states: dict[str, Json] = {}

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/control/state", self._get_state),
            web.get("/control/messages", self._get_messages),
            web.get("/control/ephemerals", self._get_ephemerals),
            web.get("/control/views", self._get_views),
            web.get("/control/live", self._get_live),
            web.post("/control/run", self._post_run),
            web.get("/control/open", self._get_open),
            web.post("/control/{act:say|click|suggest|submit|close|shortcut|home}", self._post_act),
        ]

    def snapshot(self) -> Json:
        """Everything a watcher can see."""
        return self._scene.to_json() | {
            "version": self._live.version,
            "links": self._courier.links,
            "members": [vars(member) for member in self._workspace.members.values()],
            "channels": [vars(channel) for channel in self._workspace.channels.values()],
            "groups": [vars(group) for group in self._workspace.groups.values()],
            "bot": self._workspace.bot.id,
            "messages": list(self._workspace.messages),
            "ephemerals": list(self._workspace.ephemerals),
            "views": list(self._views.modals),
            "homes": list(self._views.homes),
            "notices": list(self._workspace.notices),
            "faults": self._faults.bodies(),
            "controls": list(self._states.values()),
            "caption": self._caption.body,
        }

    async def _get_state(self, request: web.Request) -> web.Response:
        after, seconds = int(request.query.get("after", -1)), float(request.query.get("wait", 10))
        await self._live.after(after, min(seconds, LONGEST_WAIT))
        return web.json_response(self.snapshot())

    async def _get_messages(self, request: web.Request) -> web.Response:
        channel = self._workspace.channel(
            request.query.get("channel") or next(iter(self._workspace.channels))
        )
        thread = request.query.get("thread_ts")
        oldest_first = self._workspace.history(channel)[::-1]
        return web.json_response(self._workspace.replies(channel, thread) if thread else oldest_first)

    async def _get_ephemerals(self, request: web.Request) -> web.Response:
        user = request.query.get("user")
        return web.json_response([body for body in self._workspace.ephemerals if user in (None, body["to"])])

    async def _get_views(self, request: web.Request) -> web.Response:
        user = request.query.get("user")
        return web.json_response([view for view in self._views.modals if user in (None, view["user"])])

    async def _get_live(self, request: web.Request) -> web.StreamResponse:
        page = web.WebSocketResponse(heartbeat=20)
        await page.prepare(request)
        await self.look()
        await self._live.feed(page, self.snapshot())
        return page

    async def _post_act(self, request: web.Request) -> web.Response:
        delivery = await self._bound(self._acts.by_name[request.match_info["act"]], await request.json())
        return web.json_response(delivery.to_json())

    async def _bound(self, act: Callable[..., Any], given: Json) -> Delivery:
        try:
            inspect.signature(act).bind(**given)
        except TypeError as error:
            raise Refused("invalid_arguments", str(error)) from None
        try:
            delivery: Delivery = await act(**given)
        except ValueError as error:
            raise Refused("invalid_arguments", str(error)) from None
        return delivery

    async def _post_run(self, request: web.Request) -> web.Response:
        given = await request.json()
        control = self._controls.get(given.get("id"))
        if control is None:
            raise Refused("no_such_control")
        said = await _tried(control.run, bool(given.get("on")))
        await self.look()
        return web.json_response({"ok": not isinstance(said, Exception), "text": str(said)})

    async def _get_open(self, request: web.Request) -> web.Response:
        """Go where a control leads, as the member who acts."""
        control, user = self._controls.get(request.query.get("id", "")), request.query.get("user", "")
        if control is None or control.kind != "opens" or user not in self._workspace.members:
            raise Refused("no_such_control")
        where = await _tried(control.opens, user)
        if isinstance(where, Exception):
            raise Refused("no_such_control", str(where))
        return web.Response(status=303, headers={"Location": str(where), "Referrer-Policy": "no-referrer"})

    async def watch(self) -> None:
        """Keep the demo controls true while somebody looks."""
        while True:
            if self._live.watched:
                await self.look()
            await asyncio.sleep(1)

    async def look(self) -> None:
        for control in self._controls.values():
            state = await _tried(control.state)
            body = describe(control, _broken(state) if isinstance(state, Exception) else state)
            if self._states.get(control.id) != body:
                self._states[control.id] = body
                self._live.changed("control", control.id, body)


async def _tried(call: Callable[..., Any], *given: Any) -> Any:
    """What the demo's own code answers, or the error it raises: a broken control must not break the page."""

    async def attempt() -> Any:
        said = await asyncio.to_thread(call, *given)
        return await said if inspect.isawaitable(said) else said

    answer = (await asyncio.gather(attempt(), return_exceptions=True))[0]
    if isinstance(answer, Exception):
        logger.error("a demo control failed", exc_info=answer)
    return answer


def _broken(error: Exception) -> Json:
    return {"disabled": True, "help": str(error)}


def describe(control: Control, state: Json) -> Json:
    base = {
        "id": control.id,
        "label": control.label,
        "kind": control.kind,
        "help": control.help,
        "lead": control.lead,
    }
    return base | {"on": False, "url": "", "disabled": False} | state
