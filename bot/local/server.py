"""The local workspace as a web server: Slack's API, Socket Mode, page and control on one loopback port."""

import asyncio
import contextlib
import hashlib
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from aiohttp import web

from bot.local.api.parts import Parts
from bot.local.api.response_urls import ResponseUrls
from bot.local.api.scopes import EVERY, Scopes
from bot.local.client.person import WorkspaceClient
from bot.local.delivery.courier import Courier
from bot.local.delivery.payloads import event
from bot.local.people.acts import Acts
from bot.local.shapes import DEFAULT_BOT, DEFAULT_CHANNEL, Channel, Control, Group, Json, Member, Shortcut
from bot.local.state.caption import Caption
from bot.local.state.faults import Faults
from bot.local.state.files import Files
from bot.local.state.rates import Rates
from bot.local.state.triggers import Triggers
from bot.local.state.views import Views
from bot.local.state.workspace import Workspace
from bot.local.web.access import AccessCheck
from bot.local.web.admin import AdminApi
from bot.local.web.control import ControlApi
from bot.local.web.live import Live
from bot.local.web.routes import SlackRoutes
from bot.local.web.scene import Scene

LARGEST_UPLOAD = 64 * 1024 * 1024


class LocalSlack:
    """A Slack workspace in a thread of its own; `start` returns when it can be reached."""

    def __init__(
        self,
        *,
        members: Iterable[Member],
        bot: Member = DEFAULT_BOT,
        channels: Iterable[Channel] = (DEFAULT_CHANNEL,),
        groups: Iterable[Group] = (),
        path: Path | None = None,
        port: int = 0,
        token: str = "",
        title: str = "Signoff",
        guide: str = "",
        suggestions: Iterable[str] = (),
        controls: Iterable[Control] = (),
        commands: Iterable[str] = ("/plan",),
        shortcuts: Iterable[Shortcut] = (),
        ack_timeout: float = 3.0,
        event_spacing: Iterable[float] = (1.0, 5.0, 15.0),
        request_url: str = "",
        scopes: Iterable[str] = EVERY,
        rates: bool = False,
        own_status: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._members, self._bot = tuple(members), bot
        self._channels, self._groups = tuple(channels), tuple(groups)
        self._path, self._asked_port, self._clock = path, port, clock
        self._request_url = request_url
        self._scopes, self._rates, self._own_status = Scopes(scopes), rates, own_status
        self._scene = Scene(
            title, guide, tuple(suggestions), tuple(controls), tuple(commands), tuple(shortcuts)
        )
        self._ack_timeout, self._spacing = ack_timeout, tuple(event_spacing)
        self.token = token or secrets.token_urlsafe(16)
        # Made from the page's token, so that an app finds its way back after a restart with the same one.
        self.bot_token = f"xoxb-local-{_derived(self.token, 'bot')}"
        self.app_token = f"xapp-local-{_derived(self.token, 'app')}"
        self.signing_secret = _derived(self.token, "signing")
        self.port = 0
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    @property
    def page_url(self) -> str:
        return f"{self.url}/?token={self.token}"

    def client(self, *, patience: float = 10.0) -> WorkspaceClient:
        return WorkspaceClient(self.url, self.token, patience=patience)

    def start(self) -> "LocalSlack":
        """Listen on loopback; OSError when the port is taken."""
        with contextlib.ExitStack() as undo:
            listener = undo.enter_context(socket.create_server(("127.0.0.1", self._asked_port)))
            self.port = listener.getsockname()[1]
            live = Live()
            workspace = Workspace(
                members=self._members,
                bot=self._bot,
                channels=self._channels,
                groups=self._groups,
                path=self._path,
                changed=live.changed,
                clock=self._clock,
            )
            undo.pop_all()
        serving = (listener, workspace, live)
        self._thread = threading.Thread(target=self._run, args=serving, name="local-slack", daemon=True)
        self._thread.start()
        self._ready.wait()
        return self

    def stop(self) -> None:
        if self._thread and self._loop:
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join()
            self._thread = None

    def __enter__(self) -> "LocalSlack":
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _run(self, listener: socket.socket, workspace: Workspace, live: Live) -> None:
        try:
            asyncio.run(self._serve(listener, workspace, live))
        finally:
            self._ready.set()

    async def _serve(self, listener: socket.socket, workspace: Workspace, live: Live) -> None:
        self._loop = asyncio.get_running_loop()
        faults = Faults(live.changed)
        courier = self._courier(workspace, faults, live)
        app, control = self._app(workspace, courier, faults, live)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        await web.SockSite(runner, listener).start()
        courier.resume_events()
        watching = asyncio.create_task(control.watch())
        self._ready.set()
        await self._over.wait()
        watching.cancel()
        await courier.stop()
        await runner.cleanup()
        workspace.memory.close()

    def _courier(self, workspace: Workspace, faults: Faults, live: Live) -> Courier:
        courier = Courier(
            faults=faults,
            events=workspace.events,
            linked=lambda count: live.changed("link", "link", {"links": count}),
            secret=self.signing_secret,
            ack_timeout=self._ack_timeout,
            spacing=self._spacing,
        )
        courier.http.use(self._request_url)
        return courier

    def _app(
        self, workspace: Workspace, courier: Courier, faults: Faults, live: Live
    ) -> tuple[web.Application, ControlApi]:
        parts = self._parts(workspace, courier, faults)
        hooks = ResponseUrls(workspace, self.url)
        surface = SlackRoutes(parts, hooks, bot_token=self.bot_token, app_token=self.app_token)
        acts = Acts(parts, courier, hooks, commands=self._scene.commands, shortcuts=self._scene.shortcuts)
        caption = Caption(live.changed)
        control = ControlApi(parts, courier, acts, live, self._scene, caption)
        admin = AdminApi(parts, courier, surface.calls, caption)
        app = web.Application(
            middlewares=[AccessCheck(self.port, self.token).guard, surface.refusals],
            client_max_size=LARGEST_UPLOAD,
        )
        routes = [*control.routes(), *admin.routes(), *surface.routes()]
        app.add_routes([*routes, web.get("/link/", courier.socket.serve)])
        return app, control

    def _parts(self, workspace: Workspace, courier: Courier, faults: Faults) -> Parts:
        def echo(channel: Channel, inner: Json) -> None:
            if self._scopes.hear(inner):
                courier.echo(event(inner, workspace.bot, ext_shared=channel.is_ext_shared))

        return Parts(
            workspace=workspace,
            views=Views(workspace.memory, workspace.next_ts),
            files=Files(workspace.memory, self.url, workspace.bot.id),
            triggers=Triggers(faults),
            faults=faults,
            scopes=self._scopes,
            rates=Rates(self._clock, on=self._rates),
            echo=echo,
            open_link=lambda: f"ws://127.0.0.1:{self.port}/link/?ticket={courier.socket.ticket()}",
            own_status=self._own_status,
            clock=self._clock,
        )


def _derived(token: str, purpose: str) -> str:
    return hashlib.sha256(f"{purpose}:{token}".encode()).hexdigest()[:24]
