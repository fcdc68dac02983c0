"""The HTTP API: ask, look, cancel, list. JSON in, JSON out; every refusal is {code, path, message}."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ValidationError

from bot.given_once import GivenTwice, json_of
from bot.machines.desk import Desk
from bot.machines.limits import TooFast
from bot.machines.principal import Machine, OutOfScope, Unknown
from bot.machines.wire import Asked, Key, Problem
from bot.people import Unidentified
from storage.contract.capability import Document
from storage.errors import Conflict, InvalidPlan, NotAllowed, NotFound, SignoffError, Unavailable

PREFIX = "/api/v1"
KEYED = "Idempotency-Key"
LARGEST = 256_000  # bytes of an ask
Handle = Callable[[web.Request, Machine], Awaitable[web.Response]]
# The first that fits; what is not listed is 422.
STATUS: tuple[tuple[type[SignoffError], int, str], ...] = (
    (Unknown, 401, "unauthorized"), (OutOfScope, 403, "out_of_scope"), (TooFast, 429, "too_fast"),
    (NotFound, 404, "not_found"), (Conflict, 409, "conflict"), (NotAllowed, 403, "not_allowed"),
    (Unavailable, 503, "unavailable"), (Unidentified, 503, "unavailable"),
)  # fmt: skip


class Numbered(Document):
    """The key of an ask, alone: for its pattern."""

    key: Key


NO_KEY = Problem(
    code="no_key", path=KEYED,
    message=f"The header {KEYED} needs a word of at most 200 characters: the same one finds the same plan.",
)  # fmt: skip


class Reason(Document):
    """Why something is cancelled."""

    reason: str = ""


def routes(desk: Desk) -> list[web.RouteDef]:
    """Every way into the API. None approves, edits, answers or overrides: a test lists them."""

    async def ask(request: web.Request, machine: Machine) -> web.Response:
        key = key_of(request.headers.get(KEYED, ""))
        given = Asked.model_validate(parsed(await request.read()))
        return answer(202, await desk.propose(machine, given, key))

    async def look(request: web.Request, machine: Machine) -> web.Response:
        wait, seen = number(request.query.get("wait", "0")), request.query.get("seen", "")
        return answer(200, await desk.status(machine, plan_of(request), wait, seen))

    async def cancel(request: web.Request, machine: Machine) -> web.Response:
        raw = await request.read()
        reason = Reason.model_validate(parsed(raw) if raw else {}).reason
        return answer(200, await desk.cancel(machine, plan_of(request), reason, "api"))

    async def books(request: web.Request, machine: Machine) -> web.Response:
        found = [book.model_dump(mode="json") for book in await desk.runbooks(machine)]
        return web.json_response({"runbooks": found})

    return [
        web.post(f"{PREFIX}/plans", guarded(desk, ask)),
        web.get(f"{PREFIX}/plans/{{plan}}", guarded(desk, look), allow_head=False),
        web.delete(f"{PREFIX}/plans/{{plan}}", guarded(desk, cancel)),
        web.get(f"{PREFIX}/runbooks", guarded(desk, books), allow_head=False),
    ]


def guarded(desk: Desk, handle: Handle) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Who it is comes first; whatever is refused is said in one form."""

    async def guard(request: web.Request) -> web.Response:
        try:
            machine = await desk.admit(bearer(request.headers.get("Authorization", "")))
            if len(await request.read()) > LARGEST:
                return refused(413, [Problem(code="too_large", message="That is too much for one ask.")])
            return await handle(request, machine)
        except ValidationError as error:
            return refused(
                422, [problem(dict(one)) for one in error.errors(include_url=False, include_input=False)]
            )
        except SignoffError as error:
            return of_error(error)

    return guard


def bearer(header: str) -> str:
    kind, _, secret = header.partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def parsed(raw: bytes) -> Any:
    try:
        return json_of(raw.decode())
    except GivenTwice as error:
        raise InvalidBody(str(error)) from None
    except (ValueError, RecursionError):
        raise InvalidBody("This is not JSON.") from None


class InvalidBody(SignoffError):
    """Nobody can read it."""


class NoKey(SignoffError):
    """An ask that could not be found again."""


def key_of(said: str) -> str:
    try:
        return Numbered.model_validate({"key": said}).key
    except ValidationError:
        raise NoKey(NO_KEY.message) from None


def number(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0.0


def plan_of(request: web.Request) -> int:
    said = request.match_info["plan"]
    if not (said.isascii() and said.isdigit() and len(said) < 10):
        raise NotFound("A plan is named by its number.")
    return int(said)


def answer(status: int, said: BaseModel) -> web.Response:
    return web.json_response(said.model_dump(mode="json"), status=status)


def of_error(error: SignoffError) -> web.Response:
    """A refusal as its status and its problems."""
    status, code = next(((s, c) for kind, s, c in STATUS if isinstance(error, kind)), (422, "invalid"))
    if isinstance(error, NoKey):
        return refused(422, [NO_KEY])
    if isinstance(error, InvalidPlan):
        found = [Problem(code=issue.code, path=issue.path, message=issue.message) for issue in error.issues]
        return refused(422, found)
    response = refused(status, [Problem(code=code, message=str(error))])
    if isinstance(error, TooFast):
        response.headers["Retry-After"] = str(error.seconds)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def refused(status: int, problems: Sequence[Problem]) -> web.Response:
    found = [problem.model_dump() for problem in problems]
    return web.Response(
        status=status, body=json.dumps({"problems": found}).encode(), content_type="application/json"
    )


def problem(error: dict[str, Any]) -> Problem:
    """What pydantic found, without the value that it found."""
    path = ".".join(map(str, error["loc"]))
    return Problem(code=str(error["type"]), path=path, message=str(error["msg"]))
