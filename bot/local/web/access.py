"""Who may come in: this machine's own browser and scripts, with the token; nothing from other sites."""

import hmac

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# These carry a secret of their own: a Slack token, a ticket, an unguessable id.
OWN_SECRET = ("/api/", "/link/", "/hook/", "/upload/")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class AccessCheck:
    """Checks Host and Origin of every request, and the page's token."""

    def __init__(self, port: int, token: str) -> None:
        self._hosts = {f"{name}:{port}" for name in LOOPBACK}
        self._token = token
        # Cookies are shared by all ports of a host, so the port is in the name.
        self._cookie = f"local_slack_{port}"

    @property
    def guard(self) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            self._check_origin(request)
            if not request.path.startswith(OWN_SECRET):
                self._admit(request)
            response = await handler(request)
            if not response.prepared:
                response.headers.update(HEADERS)
            return response

        return guard

    def _check_origin(self, request: web.Request) -> None:
        origin = request.headers.get("Origin")
        # slack_sdk's own Socket Mode client leaves the port out of Host.
        bare = request.path.startswith("/link/") and request.host in LOOPBACK
        if request.host not in self._hosts and not bare:
            raise web.HTTPForbidden(text="This server answers on loopback only.")
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            raise web.HTTPForbidden(text="Requests from other sites are refused.")

    def _admit(self, request: web.Request) -> None:
        if self._matches(request.query.get("token", "")) and request.path == "/":
            welcome = web.HTTPFound("/")
            welcome.set_cookie(self._cookie, self._token, httponly=True, samesite="Strict")
            raise welcome
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not self._matches(bearer) and not self._matches(request.cookies.get(self._cookie, "")):
            raise web.HTTPForbidden(text="Open the address with the token that was printed at the start.")

    def _matches(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())
