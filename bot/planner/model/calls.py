"""One call of the Messages API: stateless, booked before its answer is used, and over by its deadline."""

import logging
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal

from bot.planner.model.streaming import Incoming, silent
from bot.planner.model.usage import (
    FAULTS,
    BrokenOff,
    ModelOverloaded,
    ModelTruncated,
    ModelUnavailable,
    Price,
    Usage,
    cost,
)
from storage.config import Effort
from storage.errors import BadConfig

if TYPE_CHECKING:  # its import takes seconds; only those who have a key need it
    from anthropic import Anthropic, APIResponse, APIStatusError, Stream
    from anthropic.types import CacheControlEphemeralParam, RawMessageStreamEvent, TextBlockParam
    from anthropic.types import Usage as Tokens

logger = logging.getLogger(__name__)

COUNTED = 60_000  # characters from which a message is counted before it is sent
MOST_TOKENS = 120_000  # of one message
OVERLOADED = 529
LONGEST_WAIT = 5.0  # seconds that a busy API may make us wait for another try


@dataclass(frozen=True)
class Call:
    """One call, before it is made."""

    system: tuple[str, str]  # what all calls share, and the task
    user: str
    schema: dict[str, Any]
    max_tokens: int
    prompt: str = ""  # the version of what is told
    repair: bool = False  # of an answer that could not be used


def connect(key: str, *, url: str | None = None) -> "Anthropic":
    """A client for that key; without a URL the SDK reads ANTHROPIC_BASE_URL."""
    import anthropic

    if not key.strip():
        raise BadConfig("ANTHROPIC_API_KEY is not set.")
    return anthropic.Anthropic(
        api_key=key, base_url=url, open_telemetry=False, _strict_response_validation=True
    )


@dataclass(frozen=True)
class Caller:
    """Who calls, and who hears of it. `spend` hears of every billed call; it may raise to stop the next."""

    client: "Anthropic"
    model: str
    effort: Effort
    prices: Mapping[str, Price]
    spend: Callable[[str, Usage], None]
    redact: Callable[[str], str] = str  # hides what no third party may read, before the model reads it
    clean: Callable[[str], str] = str  # and what it says back, before anything of it is cut or changed
    deadline: float = 20.0
    fallback: str = ""  # asked once where the model is overloaded or refuses
    cache: Literal["1h", "5m", "off"] = "1h"
    retries: int = 2
    aloud: Callable[[str], None] = silent  # hears how far a reply is
    max_tokens: int = 8_000
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        for model in filter(None, (self.model, self.fallback)):
            if model not in self.prices:
                known = ", ".join(sorted(self.prices)) or "none"
                raise BadConfig(f"There is no price for the model “{model}”; prices are known for: {known}.")

    def fits(self, asked: Call) -> bool:
        """Whether the model can read it: what may be large is counted by the API before it is sent."""
        if len(asked.user) < COUNTED:
            return True
        import anthropic

        try:
            counted = self.client.with_options(max_retries=0).messages.count_tokens(
                model=self.model, system=self._system(asked), timeout=5.0,
                messages=[{"role": "user", "content": self.redact(asked.user)}],
            )  # fmt: skip
        except (anthropic.AnthropicError, ValueError):
            return len(asked.user) / 3 <= MOST_TOKENS
        return counted.input_tokens <= MOST_TOKENS

    def _system(self, asked: Call) -> "list[TextBlockParam]":
        """What all calls share comes first, and is kept longest; then the task."""
        kept: dict[str, CacheControlEphemeralParam] = {
            "1h": {"type": "ephemeral", "ttl": "1h"}, "5m": {"type": "ephemeral"},
        }  # fmt: skip
        blocks: list[TextBlockParam] = [{"type": "text", "text": text} for text in asked.system]
        for block in blocks if self.cache in kept else ():
            block["cache_control"] = kept[self.cache]
        return blocks

    def answer(self, asked: Call, until: float) -> str:
        """The text of one good reply; a reply that was cut off is asked for once more with twice the room."""
        try:
            return self._in_time(asked, until)
        except ModelTruncated:
            return self._in_time(replace(asked, max_tokens=2 * asked.max_tokens), until)

    def _in_time(self, asked: Call, until: float) -> str:
        """The reply, or none at the deadline: a name lookup and a dripping reply obey no timeout."""
        said: Future[str] = Future()

        def call() -> None:
            try:
                said.set_result(self._reply(asked, until))
            except BaseException as error:  # noqa: BLE001 # it is raised below, in the caller's thread
                said.set_exception(error)

        Thread(target=call, name="claude", daemon=True).start()
        try:
            return said.result(timeout=max(until - self.clock(), 0))
        except TimeoutError:
            raise self._late() from None

    def _reply(self, asked: Call, until: float) -> str:
        """One reply; where it breaks off on its way, as many tries more as a lost connection has."""
        for _ in range(self.retries):
            with suppress(BrokenOff):
                return self._streamed(asked, until)
        try:
            return self._streamed(asked, until)
        except BrokenOff as error:
            raise self._stranger(str(error)) from None

    def _streamed(self, asked: Call, until: float) -> str:
        import anthropic
        import httpx2  # by which the SDK speaks, and whose faults it lets through while a reply comes in

        said = Incoming(self.aloud)
        try:
            said.read(self._sent(asked, until))
        except anthropic.APIStatusError as error:
            raise self._fault(error) from None
        except anthropic.APITimeoutError:
            raise self._late() from None
        except httpx2.DecodingError as error:
            raise self._stranger(type(error).__name__) from None
        except httpx2.HTTPError as error:
            raise BrokenOff(type(error).__name__) from None
        except (
            anthropic.AnthropicError,
            ValueError,
            AttributeError,
            RecursionError,
        ) as error:  # not its form
            said.bill(getattr(error, "body", None))
            raise self._stranger(type(error).__name__) from None
        finally:
            if said.tokens:
                self._book(said.tokens, asked)
        if not said.whole:
            raise BrokenOff("no end") if said.tokens else self._stranger("no message")
        return self.clean(said.answer())

    def _sent(self, asked: Call, until: float) -> "Stream[RawMessageStreamEvent]":
        return self._patient(until).messages.create(
            model=self.model, max_tokens=asked.max_tokens, stream=True,
            system=self._system(asked),
            messages=[{"role": "user", "content": self.redact(asked.user)}],
            output_config={
                "effort": self.effort, "format": {"type": "json_schema", "schema": asked.schema},
            },
            timeout=max(until - self.clock(), 0.01),
        )  # fmt: skip

    def _patient(self, until: float) -> "Anthropic":
        """The client for one call. Its copy forgets strictness unless told again."""

        def handle(request: Any, call_next: "Callable[[Any], APIResponse[Any]]") -> "APIResponse[Any]":
            left = until - self.clock()
            if left <= 0:
                raise self._late()  # nobody waits any more; a late try would only cost
            response = call_next(request)
            if response.status_code >= 400 and not _wait(response.headers) <= min(left, LONGEST_WAIT):
                response.http_response.headers["x-should-retry"] = "false"
            return response

        strict = {"_strict_response_validation": True}
        return self.client.copy(max_retries=self.retries, middleware=[handle], _extra_kwargs=strict)

    def _book(self, tokens: "Tokens", asked: Call) -> None:
        self.spend(self.model, cost(self.prices[self.model], tokens, asked.prompt, repair=asked.repair))

    def _fault(self, error: "APIStatusError") -> ModelUnavailable:
        """Our own sentence: what the API says may hold anything, a key for one."""
        number = error.request_id or ""
        known = number if re.fullmatch(r"req_\w{1,60}", number) else "unknown"
        status = OVERLOADED if error.status_code == 200 else error.status_code  # 200: while it came in
        logger.warning("model=%s status=%s request=%s", self.model, status, known)
        broken = f"The model's API is out of order just now (HTTP {status}); please try again later."
        kind = ModelOverloaded if status == 429 or status >= 500 else ModelUnavailable
        return kind(FAULTS.get(status, broken))

    def _stranger(self, what: str) -> ModelUnavailable:
        logger.warning("model=%s fault=%s", self.model, what)
        return ModelUnavailable("The model cannot be reached, or what answers is not the model.")

    def _late(self) -> ModelUnavailable:
        return ModelUnavailable(f"The model did not answer within {self.deadline:g} s; please try again.")


def _wait(headers: Mapping[str, str]) -> float:
    """The longest wait that a reply asks for; one that is no number is too long."""
    asked = {"retry-after-ms": 1000.0, "retry-after": 1.0}
    try:
        return max(
            (float(headers[name]) / unit for name, unit in asked.items() if name in headers), default=0.0
        )
    except ValueError:
        return float("inf")
