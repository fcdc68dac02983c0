"""The board's addresses. This is an edge: on the loop nothing is read or drawn, threads do that."""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from aiohttp import web

from bot.board import door
from bot.board.answers import Answer, Answers
from bot.board.api.documents import BadQuery
from bot.board.api.openapi import document
from bot.board.evidence import TooMuch
from bot.board.pages.enter import entry, refused
from bot.board.scope import Scope, Scopes
from bot.board.sessions import LEFT, Barred, Sessions, Stranger
from bot.board.static_files import File
from bot.board.streams import BYE, COMMENT, LASTS, Hub, event
from bot.people import Unidentified
from bot.untrusted import clip
from storage.board.visits import USED, Guest
from storage.errors import NotFound, SignoffError, Unavailable

logger = logging.getLogger(__name__)
T = TypeVar("T")


class TooOften(SignoffError):
    """Somebody asks more than a person would."""


STATUS: dict[type[Exception], int] = {
    Stranger: 401,
    Barred: 403,
    NotFound: 404,
    BadQuery: 400,
    TooMuch: 413,
    Unidentified: 503,
    Unavailable: 503,
    TooOften: 429,
}
TITLES = {
    400: "That cannot be read",
    401: "Please come by Slack",
    403: "Not any more",
    404: "Not here",
    413: "Too much for one file",
    429: "Too often",
    503: "Not now",
    405: "Not that way",
    421: "Not by that name",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Server:
    """What answers a browser."""

    answers: Answers
    scopes: Scopes
    sessions: Sessions
    hub: Hub
    files: dict[str, File]
    hosts: frozenset[str]
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4, "board"))
    fetches: door.Limit = field(default_factory=lambda: door.Limit(*door.FETCHES))
    entries: door.Limit = field(default_factory=lambda: door.Limit(*door.ENTRIES))

    def routes(self) -> list[web.RouteDef]:
        """Everything else is not here, and says so with the same headers."""
        return [
            web.get("/static/{name}", self.guarded(self.static)),
            web.get("/favicon.ico", self.guarded(self.icon)),
            web.get("/enter", self.guarded(self.show_entry)),
            web.post("/enter", self.guarded(self.enter)),
            web.post("/leave", self.guarded(self.leave)),
            web.get("/stream", self.guarded(self.stream)),
            web.get("/healthz", self.guarded(self.lives)),
            web.get("/api/openapi.json", self.guarded(self.described)),
            web.route("*", "/{path:.*}", self.guarded(self.anything)),
        ]

    @property
    def addresses(self) -> dict[str, str]:
        return {name: file.address for name, file in self.files.items()}

    def guarded(self, handler: Handler) -> Handler:
        """The door: the name we are called by, where a form comes from, and what every answer carries."""

        async def handle(request: web.Request) -> web.StreamResponse:
            if not door.known_host(request.headers.get("Host", ""), self.hosts):
                return self.refusal(request, 421, "The board is not reached by this name.")
            if request.method not in {"GET", "HEAD"} and not door.ours(request.headers):
                return self.refusal(request, 403, "This form does not come from the board.")
            try:
                return await handler(request)
            except tuple(STATUS) as error:
                return self.refusal(request, STATUS[type(error)], str(error))

        return handle

    def refusal(self, request: web.Request, status: int, sentence: str) -> web.Response:
        headers = dict(door.HEADERS)
        if request.path.startswith("/api/"):
            told = {
                "type": "about:blank",
                "title": TITLES.get(status, "No"),
                "status": status,
                "detail": sentence,
            }
            body, kind = json.dumps(told).encode(), "application/problem+json"
        else:
            body, kind = (
                refused(TITLES.get(status, "No"), sentence, self.addresses),
                "text/html; charset=utf-8",
            )
        return web.Response(status=status, body=body, headers=headers | {"Content-Type": kind})

    async def static(self, request: web.Request) -> web.StreamResponse:
        file = next((one for one in self.files.values() if one.address == request.path), None)
        if file is None:
            raise NotFound("There is no such file.")
        kept = {
            "Cache-Control": "public, max-age=31536000, immutable",
            "Content-Type": f"{file.kind}; charset=utf-8",
        }
        return packed(web.Response(body=file.body, headers=door.HEADERS | kept))

    async def icon(self, request: web.Request) -> web.StreamResponse:
        """Browsers ask for it by themselves."""
        file = self.files["icon.svg"]
        return web.Response(body=file.body, headers=door.HEADERS | {"Content-Type": file.kind})

    async def lives(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text="ok\n", headers=door.HEADERS)

    async def described(self, request: web.Request) -> web.StreamResponse:
        return packed(web.json_response(document(), headers=door.HEADERS))

    async def show_entry(self, request: web.Request) -> web.StreamResponse:
        """Shows whom a link lets in, and uses nothing: previews and scanners fetch links, too."""
        ticket = request.query.get("t", "")
        self.take(self.entries, request.remote or "")
        user = await self.aside(lambda: self.sessions.expected(ticket))
        if not user:
            return self.refusal(request, 403, USED)
        self.entries.forgives(request.remote or "")  # behind a proxy, all have one address
        name = await self.aside(lambda: self.answers.desk.names.who(user))
        headers = door.HEADERS | {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
        return web.Response(
            body=entry(name, ticket, self.addresses),
            content_type="text/html",
            charset="utf-8",
            headers=headers,
        )

    async def enter(self, request: web.Request) -> web.StreamResponse:
        self.take(self.entries, request.remote or "")
        ticket = str((await request.post()).get("t", ""))
        session, plan = await self.aside(lambda: self.sessions.enter(ticket))
        if not session:
            return self.refusal(request, 403, USED)
        self.entries.forgives(request.remote or "")
        to = f"/plans/{plan}" if plan else "/"
        return web.Response(
            status=303, headers=door.HEADERS | {"Location": to, "Set-Cookie": door.cookie(session)}
        )

    async def leave(self, request: web.Request) -> web.StreamResponse:
        guest = await self.aside(lambda: self.guest(request))
        await self.aside(lambda: self.sessions.visits.leave(guest.visit, LEFT))
        answer = self.refusal(request, 200, "You have left the board. /plan board lets you in again.")
        answer.headers["Set-Cookie"] = door.cookie("", lasts=0)
        return answer

    async def anything(self, request: web.Request) -> web.StreamResponse:
        """A page, a file or a document; for whoever is let in."""
        if request.method not in {"GET", "HEAD"}:
            return self.refusal(request, 405, "The board only shows; what acts is in Slack.")
        guest, scope = await self.aside(lambda: self.known(request))
        self.take(self.fetches, guest.visit)
        path, part = request.path, request.headers.get("X-Part") == "main"
        query = {key: clip(value, 300) for key, value in request.query.items()}
        if path.startswith("/api/"):
            answer = await self.aside(lambda: self.answers.api(scope, path, query))
        elif "/log/" in path or path == "/journal/export" or query.get("form"):
            answer = await self.aside(lambda: self.answers.file(scope, path, query))
        else:
            seq = self.hub.seq
            answer = await self.aside(lambda: self.answers.page(scope, path, query, part=part, seq=seq))
        return self.answered(request, answer)

    def answered(self, request: web.Request, answer: Answer) -> web.Response:
        headers = door.HEADERS | {"Content-Type": answer.kind}
        if answer.tag:
            headers["ETag"] = f'"{answer.tag}"'
            if request.headers.get("If-None-Match") == headers["ETag"]:
                return web.Response(status=304, headers=headers)
        if answer.name:
            headers["Content-Disposition"] = f'attachment; filename="{answer.name}"'
        return packed(web.Response(status=answer.status, body=answer.body, headers=headers))

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Numbers of plans, as they move; ends by itself, and who comes again is looked at again."""
        guest, scope = await self.aside(lambda: self.known(request))
        self.take(self.fetches, guest.visit)
        full = self.hub.count(guest.visit) >= door.STREAMS or len(self.hub.streams) >= door.STREAMS_IN_ALL
        if full or self.hub.over:
            return self.refusal(request, 429, "Too many pages of yours are open.")
        kinds = {
            "Content-Type": "text/event-stream; charset=utf-8",
            "X-Accel-Buffering": "no",
            "Cache-Control": "no-store",
        }
        response = web.StreamResponse(headers=door.HEADERS | kinds)
        await response.prepare(request)
        one = self.hub.open(scope.actor.user, guest.visit, lambda: left(request))
        try:
            await response.write(f"retry: 3000\n\n{event('hello')}".encode())
            until = time.monotonic() + LASTS
            while (rest := until - time.monotonic()) > 0 and not self.hub.over and not left(request):
                try:
                    said = await asyncio.wait_for(one.queue.get(), min(rest, COMMENT))
                except TimeoutError:
                    said = event("tick")
                if said == BYE:
                    break
                await response.write(said.encode())
            await response.write(event("bye").encode())
        except ConnectionError:
            pass  # the page is gone
        finally:
            self.hub.close(one)
        return response

    def guest(self, request: web.Request) -> Guest:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" and request.path.startswith("/api/") else ""
        return self.sessions.guest(request.cookies.get(door.COOKIE, ""), bearer)

    def known(self, request: web.Request) -> tuple[Guest, Scope]:
        guest = self.guest(request)
        return guest, self.scopes.of(self.sessions.actor(guest))

    def take(self, limit: door.Limit, key: str) -> None:
        if not limit.takes(key):
            raise TooOften("That was asked for too often. Please wait a moment.")

    async def aside(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.threads, work)


def left(request: web.Request) -> bool:
    """Whether the page is gone: nobody is told of that but by its connection."""
    return request.transport is None or request.transport.is_closing()


def packed(response: web.Response) -> web.Response:
    """Smaller on its way, for who can unpack it."""
    response.enable_compression()
    return response
