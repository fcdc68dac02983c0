"""One call to a model: no tools, bounded both ways, every fault a sentence, never waited for in vain."""

import logging
import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from workers.base import Permanent, Redactor, Transient, known_values

if TYPE_CHECKING:  # its import takes seconds; only those who have a key need it
    from anthropic import Anthropic, APIStatusError

KEY = "ANTHROPIC_API_KEY"
DEADLINE = 90.0
MAX_TOKENS = 4000  # thinking counts too
LONGEST_WAIT = 3600.0
SLICE = 0.1
FAULTS = {
    400: "The model's API does not accept how it was asked; an administrator should check the model's name.",
    401: f"The model's API does not accept the key; an administrator should check {KEY} of the workers.",
    403: "The model's API does not let this key use the model; an administrator should check both.",
    404: "The model's API does not know this model; an administrator should check its name.",
    413: "The text is too large for the model; give it less.",
}
logger = logging.getLogger(__name__)


class ModelEntry(BaseModel):
    """`[inventory.models.*]`: which model a name stands for, and its price in USD per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = "claude-haiku-5-5"
    input: float = Field(default=0.1, ge=0)
    output: float = Field(default=0.5, ge=0)


@dataclass(frozen=True)
class Reply:
    """What was said and why it ended, and what that cost."""

    text: str
    stop: str
    input: int
    output: int
    usd: float

    def fault(self) -> str:
        """Why there is no whole answer; "" when there is one."""
        if self.stop == "refusal":
            return "The model refuses to read this."
        if self.stop == "max_tokens":
            return "The model's answer did not fit; ask for less."
        if self.stop != "end_turn":
            return f"The model stopped without an answer ({self.stop})."
        return "" if self.text.strip() else "The model said nothing."


def ask(entry: ModelEntry, system: str, user: str, cancelled: Callable[[], bool]) -> Reply:
    """One stateless question, without our secrets. The engine tries again, so nothing is retried here."""
    key = os.environ.get(KEY, "").strip()
    if not key:
        raise Permanent(f'{KEY} is not set where the workers run, so no model can be asked; use "plain".')
    import anthropic

    client = anthropic.Anthropic(
        api_key=key, max_retries=0, timeout=DEADLINE, open_telemetry=False, _strict_response_validation=True
    )
    shown = Redactor(known_values(os.environ)).text(user)
    pool = ThreadPoolExecutor(1, "model")
    try:
        return _in_time(pool.submit(_reply, client, entry, system, shown), cancelled)
    finally:
        pool.shutdown(wait=False)
        client.close()  # ends a reply that nobody waits for


def _in_time(said: "Future[Reply]", cancelled: Callable[[], bool]) -> Reply:
    """The reply, or none at the deadline: a reply that drips obeys no timeout."""
    for _ in range(int(DEADLINE / SLICE)):
        try:
            return said.result(timeout=SLICE)
        except TimeoutError:
            if cancelled():
                raise Transient("The model was not waited for: the step was stopped.") from None
    raise _late()


def _reply(client: "Anthropic", entry: ModelEntry, system: str, user: str) -> Reply:
    import anthropic

    try:
        message = client.messages.create(
            model=entry.name,
            max_tokens=MAX_TOKENS,
            system=system,
            messages=[{"role": "user", "content": user}],
        )
    except anthropic.APIStatusError as error:
        raise _fault(error) from None
    except anthropic.APITimeoutError:
        raise _late() from None
    except (anthropic.AnthropicError, ValueError, RecursionError) as error:  # the last two: not JSON
        raise _stranger(type(error).__name__) from None
    if not isinstance(message, anthropic.types.Message):  # a reply of `null` is not checked by the SDK
        raise _stranger("no message")
    tokens = message.usage
    usd = (tokens.input_tokens * entry.input + tokens.output_tokens * entry.output) / 1_000_000
    text = "".join(block.text for block in message.content if block.type == "text")
    return Reply(text, str(message.stop_reason), tokens.input_tokens, tokens.output_tokens, usd)


def _fault(error: "APIStatusError") -> Permanent | Transient:
    """Our own sentence: what the API says may hold anything, a key for one."""
    import anthropic

    number = error.request_id or ""
    known = number if re.fullmatch(r"req_\w{1,60}", number) else "unknown"
    logger.warning("status=%s request=%s", error.status_code, known)
    if isinstance(error, anthropic.EnforcedSpendLimitReachedError):
        return Permanent(
            "The spending limit of the model's account is reached; an administrator must raise it."
        )
    if sentence := FAULTS.get(error.status_code):
        return Permanent(sentence)
    return Transient(
        f"The model's API is busy or out of order (HTTP {error.status_code}).",
        after=_after(error.response.headers),
    )


def _after(headers: Mapping[str, str]) -> float | None:
    said = headers.get("retry-after", "")
    return min(float(said), LONGEST_WAIT) if said.isdecimal() else None


def _stranger(what: str) -> Transient:
    logger.warning("fault=%s", what)
    return Transient("The model cannot be reached, or what answers is not the model.")


def _late() -> Transient:
    return Transient(f"The model did not answer within {DEADLINE:g} s.")
