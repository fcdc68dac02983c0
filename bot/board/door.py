"""Who comes in, and in what manner: names it is reached by, headers, forms from elsewhere, limits. Pure."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-cache",
    "Vary": "Cookie",
}
COOKIE = "__Host-board"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
FETCHES = (120, 10.0)  # so many in so many seconds, of one session: six live pages, and a person in a hurry
ENTRIES = (10, 60.0)  # of one address
STREAMS = 6  # at once, of one session
STREAMS_IN_ALL = 400
SESSION = 8 * 3600


def hosts(address: str, listens: str, named: Iterable[str]) -> frozenset[str]:
    """The names by which the board may be reached: any other may be a page that plays us (DNS rebinding)."""
    own = urlsplit(address).hostname or ""
    local = LOOPBACK if listens in LOOPBACK else (*LOOPBACK, listens)
    return frozenset(name.lower() for name in (*local, own, *named) if name)


def known_host(header: str, known: frozenset[str]) -> bool:
    try:
        name = urlsplit(f"//{header}").hostname
    except ValueError:
        return False
    return bool(name) and name in known


def ours(headers: Mapping[str, str]) -> bool:
    """Whether a form was sent from our own page: who says nothing at all did not."""
    site = headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("Origin", "")
    return bool(origin) and urlsplit(origin).netloc == headers.get("Host", "")


def cookie(session: str, *, lasts: int = SESSION) -> str:
    return f"{COOKIE}={session}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={lasts}"


@dataclass
class Limit:
    """At most so many in so many seconds, for each key."""

    most: int
    seconds: float
    clock: Callable[[], float] = time.monotonic
    _seen: dict[str, deque[float]] = field(default_factory=dict)

    def takes(self, key: str) -> bool:
        now = self.clock()
        if len(self._seen) > 10_000:
            self._seen = {k: v for k, v in self._seen.items() if v and now - v[-1] < self.seconds}
        times = self._seen.setdefault(key, deque())
        while times and now - times[0] >= self.seconds:
            times.popleft()
        if len(times) >= self.most:
            return False
        times.append(now)
        return True

    def forgives(self, key: str) -> None:
        """The latest one counts no more."""
        if times := self._seen.get(key):
            times.pop()
