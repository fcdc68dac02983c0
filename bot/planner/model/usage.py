"""What a model costs, and the ways in which it can fail, each with a sentence for the person."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.planner.model.prompt import plain
from storage.config import ModelConfig
from storage.config import Price as Price  # whoever knows what models cost
from storage.errors import BadConfig, Issue, SignoffError

if TYPE_CHECKING:  # its import takes seconds; only those who have a key need it
    from anthropic.types import Usage as Tokens

FAULTS = {
    400: "The model's API does not accept how I ask; an administrator should look at the model's settings.",
    401: "The model's API does not accept my key; an administrator should check ANTHROPIC_API_KEY.",
    403: "The model's API does not let my key use this model; an administrator should check both.",
    404: "The model's API does not know the configured model; an administrator should check its name.",
    413: "The request is too large for the model; please say it more briefly.",
    429: "The model's API has too much to do for us just now; please try again in a few minutes.",
}


class ModelFailed(SignoffError):
    """No answer of use; the sentence says why. The runbooks may still serve."""


class ModelRefused(ModelFailed):
    """The model will not answer; the same request would get the same answer."""


class ModelTruncated(ModelFailed):
    """The answer did not fit."""


class ModelUnavailable(ModelFailed):
    """The model could not be asked, or did not answer in time."""


class ModelOverloaded(ModelUnavailable):
    """The model has too much to do; another one may not."""


class BrokenOff(ModelUnavailable):
    """A reply broke off on its way; the next try may come whole."""


class ModelInvalid(ModelFailed):
    """The model never gave an answer that holds."""

    def __init__(self, why: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__("\n".join([why, *(f"• {plain(str(issue))}" for issue in issues[:5])]))
        self.issues = tuple(issues)


PRICES = {
    "claude-fable-5-2": Price(input=8, output=40),
    "claude-opus-5-5": Price(input=4, output=20, read=0.05),
    "claude-sonnet-5-5": Price(input=2, output=10, read=0.05),
    "claude-haiku-5-5": Price(input=0.1, output=0.5),  # our prompts stay below its dearer tier
}


def prices(config: ModelConfig) -> dict[str, Price]:
    """What each model costs; a model without a price is not asked."""
    known = PRICES | config.prices
    for setting in ("name", "reviewer", "fallback"):
        if (name := getattr(config, setting)) and name not in known:
            raise BadConfig(
                f"No price is known for [model] {setting} = '{name}'. Known: {', '.join(sorted(known))}; "
                f'others stand under [model.prices."{name}"] with input and output.'
            )
    return known


@dataclass(frozen=True)
class Usage:
    """What one call cost, in tokens and in USD."""

    input: int
    output: int
    written: int
    read: int
    usd: float
    prompt: str = ""  # the version of what it was told
    repair: bool = False  # it was asked once more, since an answer could not be used


def cost(price: Price, tokens: "Tokens", prompt: str, *, repair: bool = False) -> Usage:
    """What these tokens cost: those that are kept for an hour more, those that were kept less."""
    written, read = tokens.cache_creation_input_tokens or 0, tokens.cache_read_input_tokens or 0
    kept = tokens.cache_creation
    hour = min(kept.ephemeral_1h_input_tokens or 0, written) if kept else 0
    fresh = tokens.input_tokens + (written - hour) * price.write + hour * price.hour + read * price.read
    usd = (fresh * price.input + tokens.output_tokens * price.output) / 1_000_000
    return Usage(tokens.input_tokens, tokens.output_tokens, written, read, usd, prompt, repair)
