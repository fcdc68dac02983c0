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

from bot.local.acts import Acts
from bot.local.control import ControlApi
from bot.local.door import Door
from bot.local.faults import Faults
from bot.local.hooks import Hooks
from bot.local.live import Live
from bot.local.payloads import event
from bot.local.person import WorkspaceClient
from bot.local.scene import Scene
from bot.local.shapes import DEFAULT_BOT, DEFAULT_CHANNEL, Channel, Control, Json, Member, Shortcut
from bot.local.socketmode import SocketMode
from bot.local.surface import Surface
from bot.local.triggers import Triggers
from bot.local.webapi import WebApi
from bot.local.workspace import Workspace


class LocalSlack:
    """A Slack workspace in a thread of its own; `start` returns when it can be reached."""

    def __init__(
        self,
        *,
        members: Iterable[Member],
        bot: Member = DEFAULT_BOT,
        channels: Iterable[Channel] = (DEFAULT_CHANNEL,),
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
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._members, self._bot, self._channels = tuple(members), bot, tuple(channels)
        self._path, self._asked_port, self._clock = path, port, clock
        self._scene = Scene(
            title, guide, tuple(suggestions), tuple(controls), tuple(commands), tuple(shortcuts)
        )
        self._ack_timeout, self._spacing = ack_timeout, tuple(event_spacing)
        self.token = token or secrets.token_urlsafe(16)
        # Made from the page's token, so that an app finds its way back after a restart with the same one.
        self.bot_token = f"xoxb-local-{_derived(self.token, 'bot')}"
        self.app_token = f"xapp-local-{_derived(self.token, 'app')}"
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
        mode = SocketMode(
            faults=faults,
            events=workspace.events,
            linked=lambda count: live.changed("link", "link", {"links": count}),
            ack_timeout=self._ack_timeout,
            spacing=self._spacing,
        )
        app, control = self._app(workspace, mode, faults, live)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        await web.SockSite(runner, listener).start()
        mode.resume_events()
        watching = asyncio.create_task(control.watch())
        self._ready.set()
        await self._over.wait()
        watching.cancel()
        await mode.stop()
        await runner.cleanup()
        workspace.memory.close()

    def _app(
        self, workspace: Workspace, mode: SocketMode, faults: Faults, live: Live
    ) -> tuple[web.Application, ControlApi]:
        triggers, hooks = Triggers(faults), Hooks(workspace, self.url)
        echoes: set[asyncio.Task[None]] = set()

        def echo(inner: Json) -> None:
            task = asyncio.create_task(mode.echo(event(inner, workspace.bot)))
            echoes.add(task)
            task.add_done_callback(echoes.discard)

        api = WebApi(
            workspace,
            triggers,
            faults,
            echo=echo,
            open_link=lambda: f"ws://127.0.0.1:{self.port}/link/?ticket={mode.ticket()}",
        )
        acts = Acts(
            workspace, mode, triggers, hooks, commands=self._scene.commands, shortcuts=self._scene.shortcuts
        )
        control = ControlApi(workspace, acts, mode, faults, live, self._scene)
        door = Door(self.port, self.token)
        surface = Surface(api, hooks, faults, bot_token=self.bot_token, app_token=self.app_token)
        app = web.Application(middlewares=[door.guard, surface.refusals])
        app.add_routes([*control.routes(), *surface.routes(), web.get("/link/", mode.serve)])
        return app, control


def _derived(token: str, purpose: str) -> str:
    return hashlib.sha256(f"{purpose}:{token}".encode()).hexdigest()[:24]
