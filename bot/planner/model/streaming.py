"""A reply of the model as it comes in: told of meanwhile, and an answer only when it is whole."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.planner.model.prompt import plain
from bot.planner.model.usage import ModelInvalid, ModelRefused, ModelTruncated, Usage

if TYPE_CHECKING:  # its import takes seconds; only those who have a key need it
    from anthropic.types import RawMessageDeltaEvent, RawMessageStreamEvent
    from anthropic.types import Usage as Tokens

CALL = '"call"'  # stands once in each step of an answer


def silent(said: str) -> None:
    """Nobody listens to how far it is."""


@dataclass
class Incoming:
    """What has come in of one reply. `aloud` hears how far it is."""

    aloud: Callable[[str], None] = silent
    tokens: "Tokens | None" = None  # billed so far
    whole: bool = False
    _stop: str | None = None
    _why: str = ""  # it refuses
    _parts: list[str] = field(default_factory=list)
    _tail: str = ""
    _calls: int = 0

    def read(self, events: "Iterable[RawMessageStreamEvent]") -> None:
        for event in events:
            self._take(event)

    def _take(self, event: "RawMessageStreamEvent") -> None:
        if event.type == "message_start":
            self.tokens = event.message.usage
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            self._hear(event.delta.text)
        elif event.type == "message_delta":
            self._close(event)
        elif event.type == "message_stop":
            self.whole = self.tokens is not None

    def _hear(self, text: str) -> None:
        """Each step that begins is told of once, also where its name is cut in two."""
        begun = not self._parts
        self._parts.append(text)
        seen = self._tail + text
        found, self._tail = seen.count(CALL), seen[1 - len(CALL) :]
        self._calls += found
        if found:
            self.aloud(f"Writing it down … {self._calls} step{'s' if self._calls > 1 else ''} so far")
        elif begun:
            self.aloud("Writing it down …")

    def _close(self, event: "RawMessageDeltaEvent") -> None:
        """Why it ended, and what all of it costs: these figures are sums, not additions."""
        self._stop = event.delta.stop_reason
        details = event.delta.stop_details
        self._why = (details.category or "") if details else ""
        sums = {name: n for name, n in event.usage if n is not None and name.endswith("_tokens")}
        if self.tokens:
            self.tokens = self.tokens.model_copy(update=sums)

    def bill(self, body: object) -> None:
        """A reply in a form that we cannot use is billed all the same, by what it says of itself."""
        from anthropic.types import Usage as Tokens

        known = self.tokens.model_dump() if self.tokens else {}
        with suppress(TypeError, KeyError, ValueError):
            self.tokens = Tokens.model_validate(known | body["usage"], strict=True)  # type: ignore[index] # that is the try

    def answer(self) -> str:
        """What was said; why it stopped comes first."""
        if self._stop == "refusal":
            raise ModelRefused(
                f"The model refuses this request{f' ({plain(self._why)})' if self._why else ''}."
            )
        if self._stop == "max_tokens":
            raise ModelTruncated("The plan is too long for one answer; please ask for less at a time.")
        if self._stop != "end_turn":
            raise ModelInvalid(f"The model stopped without an answer ({self._stop}).")
        return "".join(self._parts)


@dataclass(frozen=True)
class Listener:
    """Who hears of a call: what it costs, and how far it is."""

    spend: Callable[[str, Usage], None]
    aloud: Callable[[str], None] = silent

    def __call__(self, model: str, usage: Usage) -> None:
        self.spend(model, usage)


def heard_by(spend: Callable[[str, Usage], None]) -> Callable[[str], None]:
    """Who hears how far a call is, if those who hear of its cost want to."""
    return spend.aloud if isinstance(spend, Listener) else silent
