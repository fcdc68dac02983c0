"""Ask Claude for a plan: stateless, every outcome typed, every token booked, answered by the deadline."""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from bot.planner.decision import Decision, Progress, Verb
from bot.planner.model import advice, prompt, redraft, wire
from bot.planner.model.prompt import plain
from bot.planner.model.usage import (
    FAULTS,
    ModelInvalid,
    ModelRefused,
    ModelTruncated,
    ModelUnavailable,
    Price,
    Usage,
)
from bot.planner.model.wire import Asked, Declined
from bot.planner.runbooks.book import Planned, Runbook, outlines
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.contract.capability import Contract
from storage.contract.spec import PlanSpec
from storage.errors import BadConfig, InvalidPlan, Issue

if TYPE_CHECKING:  # its import takes seconds; only those who have a key need it
    from anthropic import Anthropic, APIResponse, APIStatusError
    from anthropic.types import Message
    from anthropic.types import Usage as Tokens

logger = logging.getLogger(__name__)

REPAIRS = 2
LONGEST_WAIT = 5.0  # seconds that a busy API may make us wait for another try
Answer = TypeVar("Answer")
Effort = Literal["low", "medium", "high", "xhigh", "max"]


@dataclass(frozen=True)
class Call:
    """One call, before it is made."""

    system: str
    user: str
    schema: dict[str, Any]
    max_tokens: int


def connect(key: str, *, url: str | None = None) -> "Anthropic":
    """A client for that key; without a URL the SDK reads ANTHROPIC_BASE_URL."""
    import anthropic

    if not key.strip():
        raise BadConfig("ANTHROPIC_API_KEY is not set.")
    return anthropic.Anthropic(
        api_key=key, base_url=url, open_telemetry=False, _strict_response_validation=True
    )


@dataclass(frozen=True)
class Claude:
    """The planner that asks a model. `spend` hears of every billed call; it may raise to stop the next."""

    client: "Anthropic"
    model: str
    effort: Effort
    prices: Mapping[str, Price]
    spend: Callable[[str, Usage], None]
    redact: Callable[[str], str] = str  # hides what no third party may read, before the model reads it
    clean: Callable[[str], str] = str  # and what it says back, before anything of it is cut or changed
    deadline: float = 20.0
    retries: int = 2
    max_tokens: int = 8_000
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if self.model not in self.prices:
            known = ", ".join(sorted(self.prices)) or "none"
            raise BadConfig(f"There is no price for the model “{self.model}”; prices are known for: {known}.")

    def plan(
        self,
        text: str,
        contracts: Sequence[Contract],
        config: SignoffConfig,
        now: datetime,
        books: Sequence[Runbook] = (),
    ) -> Planned | Asked | Declined:
        """A plan that validates, questions, or a refusal; ModelFailed says why there is none of them."""
        catalogue, user = Catalogue(contracts), prompt.request(text, config, now, outlines(text, books))
        asked = Call(prompt.system(contracts, config), user, wire.schema(contracts), self.max_tokens)
        return self._signed(self._ask(asked, lambda said: wire.understood(said, catalogue, config, now)))

    def revise(
        self, spec: PlanSpec, text: str, contracts: Sequence[Contract], config: SignoffConfig, now: datetime
    ) -> Planned | Asked | Declined:
        """The proposal as somebody wants it changed, questions, or a refusal; ModelFailed as above."""
        catalogue, user = Catalogue(contracts), prompt.change(redraft.shown(spec), text, config, now)
        asked = Call(prompt.system(contracts, config), user, wire.schema(contracts), self.max_tokens)
        merge = partial(redraft.merged, spec)
        return self._ask(asked, lambda said: wire.understood(said, catalogue, config, now, merge))

    def advise(
        self,
        state: Progress,
        history: Sequence[Decision],
        rungs: Sequence[Verb],
        contracts: Sequence[Contract],
        config: SignoffConfig,
        now: datetime,
    ) -> Decision:
        """How a plan that needs thought could go on; ModelFailed says why there is no advice."""
        catalogue, user = Catalogue(contracts), prompt.state(advice.shown(state, history, rungs), config, now)
        form = wire.schema(contracts, advice.Next)
        asked = Call(prompt.system(contracts, config, "review"), user, form, self.max_tokens)
        read = partial(advice.understood, now=state, rungs=rungs, catalogue=catalogue, config=config, at=now)
        return self._ask(asked, read)

    def _ask(self, asked: Call, read: Callable[[str], Answer]) -> Answer:
        """An answer that can be read, after two repairs at most."""
        until, first, before = self.clock() + self.deadline, asked.user, None
        issues: tuple[Issue, ...] = ()
        for _ in range(1 + REPAIRS):
            said = self._answer(asked, until)
            try:
                return read(said)
            except InvalidPlan as error:
                issues = error.issues
            if said == before:
                break  # it knows no better
            before = said
            asked = replace(asked, user=prompt.repair(first, said, issues))
        raise ModelInvalid("The model made no plan that holds. What was wrong with its last one:", issues)

    def _signed(self, answer: Planned | Asked | Declined) -> Planned | Asked | Declined:
        if not isinstance(answer, Planned):
            return answer
        assuming = f"; assuming: {answer.note}" if answer.note else ""
        return Planned(answer.spec, f"planned by {self.model}{assuming}")

    def _answer(self, asked: Call, until: float) -> str:
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
        import anthropic

        try:
            message = self._patient(until).messages.create(
                model=self.model, max_tokens=asked.max_tokens,
                system=[{"type": "text", "text": asked.system, "cache_control": {"type": "ephemeral"}}],
                messages=[{"role": "user", "content": self.redact(asked.user)}],
                output_config={
                    "effort": self.effort, "format": {"type": "json_schema", "schema": asked.schema},
                },
                timeout=max(until - self.clock(), 0.01),
            )  # fmt: skip
        except anthropic.APIStatusError as error:
            raise self._fault(error) from None
        except anthropic.APITimeoutError:
            raise self._late() from None
        except (anthropic.AnthropicError, ValueError, RecursionError) as error:  # the last two: not JSON
            self._book_unread(getattr(error, "body", None))
            raise self._stranger(type(error).__name__) from None
        if not isinstance(message, anthropic.types.Message):  # a reply of `null` is not checked by the SDK
            raise self._stranger("no message")
        self._book(message.usage)
        return self.clean(_text(message))

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

    def _book(self, tokens: "Tokens") -> None:
        price, million = self.prices[self.model], 1_000_000
        written, read = tokens.cache_creation_input_tokens or 0, tokens.cache_read_input_tokens or 0
        fresh = tokens.input_tokens + written * price.write + read * price.read
        usd = (fresh * price.input + tokens.output_tokens * price.output) / million
        self.spend(self.model, Usage(tokens.input_tokens, tokens.output_tokens, written, read, usd))

    def _book_unread(self, body: object) -> None:
        """A reply in a form we cannot use was billed all the same."""
        from anthropic.types import Usage as Tokens

        try:
            tokens = Tokens.model_validate(body["usage"], strict=True)  # type: ignore[index] # that is the try
        except (TypeError, KeyError, ValueError):
            return
        self._book(tokens)

    def _fault(self, error: "APIStatusError") -> ModelUnavailable:
        """Our own sentence: what the API says may hold anything, a key for one."""
        number = error.request_id or ""
        known = number if re.fullmatch(r"req_\w{1,60}", number) else "unknown"
        logger.warning("model=%s status=%s request=%s", self.model, error.status_code, known)
        broken = (
            f"The model's API is out of order just now (HTTP {error.status_code}); please try again later."
        )
        return ModelUnavailable(FAULTS.get(error.status_code, broken))

    def _stranger(self, what: str) -> ModelUnavailable:
        logger.warning("model=%s fault=%s", self.model, what)
        return ModelUnavailable("The model cannot be reached, or what answers is not the model.")

    def _late(self) -> ModelUnavailable:
        return ModelUnavailable(f"The model did not answer within {self.deadline:g} s; please try again.")


def _text(message: "Message") -> str:
    """What was said; why it stopped comes first."""
    if message.stop_reason == "refusal":
        why = message.stop_details.category if message.stop_details else None
        raise ModelRefused(f"The model refuses this request{f' ({plain(why)})' if why else ''}.")
    if message.stop_reason == "max_tokens":
        raise ModelTruncated("The plan is too long for one answer; please ask for less at a time.")
    if message.stop_reason != "end_turn":
        raise ModelInvalid(f"The model stopped without an answer ({message.stop_reason}).")
    return "".join(block.text for block in message.content if block.type == "text")


def _wait(headers: Mapping[str, str]) -> float:
    """The longest wait that a reply asks for; one that is no number is too long."""
    asked = {"retry-after-ms": 1000.0, "retry-after": 1.0}
    try:
        return max(
            (float(headers[name]) / unit for name, unit in asked.items() if name in headers), default=0.0
        )
    except ValueError:
        return float("inf")
