"""Speaks to one HTTP origin that the operator named: no request leaves it, none of its secrets is shown."""

import json
import os
import re
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, quote_plus, unquote, urljoin

import urllib3
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
)
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationParseError,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)

from workers.base import Permanent, Transient

CHUNK = 64 * 1024
HIDDEN = "[hidden]"
MOVED = (301, 302, 303, 307, 308)
REDIRECTS = 5
PORTS = {"http": 80, "https": 443}
BEFORE = (NameResolutionError, NewConnectionError, ConnectTimeoutError)  # nothing had been sent yet
SEGMENTS = re.compile(r"/?[A-Za-z0-9._~!$&'()*+,;=:@%-]+(?:/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)*/?")

E = TypeVar("E", bound="OriginEntry")


class Unsent(Transient):
    """There was no connection, so nothing can have arrived."""


def _address(url: str) -> str:
    """The messages do not repeat the address: it may hold a password."""
    parts = urllib3.util.parse_url(url)
    if parts.scheme not in PORTS or not parts.host:
        raise ValueError("must be an address such as https://host/path")
    if parts.auth:
        raise ValueError("must not hold a user or password; use headers_env")
    if parts.query or parts.fragment:
        raise ValueError("must end with its path")
    return url


def _descending(path: str) -> str:
    if path.startswith("//") or ".." in re.split(r"[/\\]", unquote(path.partition("?")[0])):
        raise ValueError("a path must stay below the address in signoff.toml: no '..', no '//' at its start")
    return path


UrlPath = Annotated[
    str,
    StringConstraints(pattern=r"^/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*$", max_length=2000),
    AfterValidator(_descending),
]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")]


class OriginEntry(BaseModel):
    """What the entries of an origin have in common. `…_env` names variables, never values.

    `path_env` is for addresses that are secrets themselves, such as those of webhooks.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Annotated[str, AfterValidator(_address)]
    environment: str = ""
    headers_env: dict[HeaderName, str] = {}
    path_env: str = ""
    timeout: float = Field(default=10.0, gt=0, le=300)


@dataclass(frozen=True)
class Answer:
    """`whole` is False when the body was longer than asked for; then this is its beginning."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool
    url: str


def read_origin(kind: type[E], place: str, raw: dict[str, Any]) -> E:
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        found = error.errors(include_input=False)
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in found)
    raise Permanent(f"[inventory.{place}] in signoff.toml cannot be used: {faults}.")


class Origin:
    """One origin for one attempt. Every request takes a new connection: an old one may hold an old server."""

    def __init__(self, name: str, entry: OriginEntry, cancelled: Callable[[], bool]) -> None:
        self.name, self.entry, self.cancelled = name, entry, cancelled
        headers = entry.headers_env.items()
        self._headers = {key: _secret(env, f"the header {key} of {name}") for key, env in headers}
        self._path = _secret_path(entry.path_env, name) if entry.path_env else ""
        self._forms = _forms([*self._headers.values(), self._path, *self._path.split("/")])

    def url(self, path: str) -> str:
        base = f"{self.entry.url.rstrip('/')}/{self._path}" if self._path else self.entry.url
        return base if path == "/" else base.rstrip("/") + path

    def get(self, url: str, *, limit: int, timeout: float = 0.0, expect: int = 200) -> Answer:
        """The answer, at most `limit` bytes of it; redirects are followed inside the origin only."""
        until = time.monotonic() + (timeout or self.entry.timeout)
        for _ in range(REDIRECTS + 1):
            answer = self._ask(url, limit, until)
            location = answer.headers.get("Location")
            if answer.status not in MOVED or answer.status == expect or not location:
                return answer
            url = self.inside(url, location)
        raise Permanent(f"{self.name} redirects more than {REDIRECTS} times.")

    def post(self, url: str, body: JsonValue, *, limit: int, **headers: str) -> Answer:
        """The answer to a document. A redirect is an answer like any other: nothing is sent twice."""
        until = time.monotonic() + self.entry.timeout
        return self._ask(url, limit, until, json.dumps(body).encode(), headers)

    def inside(self, base: str, link: str) -> str:
        """The address that a link means; one outside the origin is refused."""
        try:
            url = urljoin(base, link)
            found = urllib3.util.parse_url(url)  # what sends the request must also be what judges it
        except (LocationParseError, ValueError):
            raise Permanent(f"{self.name} points to an address that cannot be read.") from None
        if found.auth or _key(found) != _key(urllib3.util.parse_url(self.entry.url)):
            where = self.hide(f"{found.scheme}://{found.netloc}" if not found.auth else str(found.host))
            raise Permanent(
                f"{self.name} points to {where[:200]}, outside its origin; that was not followed."
            )
        return url

    def hide(self, text: str) -> str:
        """The text without the values of `headers_env`, however the server repeats them."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text

    def _ask(
        self, url: str, limit: int, until: float, sent: bytes | None = None, more: Mapping[str, str] = {}
    ) -> Answer:
        left = max(0.05, until - time.monotonic())
        kind = {"Content-Type": "application/json"} if sent is not None else {}
        headers = {"Accept-Encoding": "identity", "User-Agent": "signoff", **kind, **more, **self._headers}
        how: dict[str, Any] = {"headers": headers, "preload_content": False, "redirect": False}
        try:
            with urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=left)) as pool:
                response = pool.request("GET" if sent is None else "POST", url, body=sent, **how)
                try:
                    body = self._body(response, limit, until)
                finally:
                    response.close()
        except HTTPError as error:
            fault = Unsent if isinstance(error, BEFORE) else Transient
            raise fault(f"{self.name} did not answer: {reason(error)}.") from error
        return Answer(response.status, response.headers, body[:limit], len(body) <= limit, url)

    def _body(self, response: urllib3.BaseHTTPResponse, limit: int, until: float) -> bytes:
        body = bytearray()
        while len(body) <= limit and (chunk := response.read1(CHUNK)):
            body += chunk
            if time.monotonic() > until or self.cancelled():
                raise Transient(f"{self.name} was still answering when the time was up.")
        return bytes(body)


def reason(error: HTTPError) -> str:
    """What went wrong below HTTP, in words."""
    cause = error.__cause__ or (error.args[0] if error.args else None)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({cause.verify_message})"
    words: dict[type[HTTPError], str] = {
        NameResolutionError: "its name cannot be resolved",
        NewConnectionError: str(getattr(cause, "strerror", None) or "no connection").lower(),
        ConnectTimeoutError: "no connection in time",
        ReadTimeoutError: "no answer in time",
        SSLError: f"TLS failed ({getattr(cause, 'reason', None) or 'no reason given'})",
    }
    return next((text for kind, text in words.items() if isinstance(error, kind)), "the connection broke")


def _key(url: urllib3.util.Url) -> tuple[str | None, str | None, int | None]:
    return url.scheme, url.host, url.port or PORTS.get(url.scheme or "")


def _secret(variable: str, what: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise Permanent(f"{variable} is not set where the workers run; it must hold {what}.")
    if not (value.isascii() and value.isprintable()):  # the HTTP client would quote it in its error
        raise Permanent(f"{variable} cannot be sent as {what}: it must be one line of ASCII.")
    return value


def _secret_path(variable: str, name: str) -> str:
    value = _secret(variable, f"the secret part of the address of {name}")
    if not SEGMENTS.fullmatch(value) or ".." in value.split("/"):
        raise Permanent(f"{variable} does not hold a path such as part/part.")
    return value.strip("/")


def _forms(values: Iterable[str]) -> list[str]:
    """Each secret and its long words ("Bearer …" may come back without "Bearer"), as formats write them."""
    secrets = {part for value in values for part in (value, *(w for w in value.split() if len(w) >= 8))}
    forms = {
        form
        for text in secrets
        if len(text) >= 4  # a version number is no secret, and hiding it would spoil every answer
        for form in (
            text,
            json.dumps(text)[1:-1],
            text.replace('"', '""'),
            quote(text, safe=""),
            quote_plus(text),
        )
    }
    return sorted(forms, key=len, reverse=True)
