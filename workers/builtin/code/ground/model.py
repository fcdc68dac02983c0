"""The Messages API as the code workers call it: one client for the process, every fault a sentence."""

import functools
import os
import re
from typing import TYPE_CHECKING, Any

from workers.base import Permanent, Transient
from workers.builtin.code.ground.repository import Entry

if TYPE_CHECKING:  # its import takes seconds
    from anthropic import Anthropic, APIStatusError
    from anthropic.types import Message


def ask(entry: Entry, **wanted: Any) -> "Message":
    """One reply; Transient where another try may help, and then it is nobody's fault."""
    import anthropic

    try:
        message = client(entry.api, entry.key_env, entry.call_seconds).messages.create(**wanted)
    except anthropic.APIStatusError as error:
        raise _fault(error) from None
    except anthropic.APIConnectionError:
        raise Transient("The model cannot be reached, or did not answer in time.", after=5.0) from None
    except (anthropic.AnthropicError, ValueError) as error:
        raise Transient(f"What answers is not the model ({type(error).__name__}).", after=5.0) from None
    if not isinstance(message, anthropic.types.Message):
        raise Transient("What answers is not the model.", after=5.0)
    return message


def has_key(entry: Entry) -> bool:
    return bool(os.environ.get(entry.key_env, "").strip()) if entry.key_env else bool(entry.api)


@functools.cache
def client(address: str, key_env: str, seconds: float) -> "Anthropic":
    """One for the process: its pool serves a hundred threads."""
    import anthropic

    key = os.environ.get(key_env, "").strip() if key_env else "none"
    if not key:
        raise Permanent(f"{key_env} is not set where the workers run, so no agent can work.")
    return anthropic.Anthropic(api_key=key, base_url=address or None, max_retries=2, timeout=seconds)


def _fault(error: "APIStatusError") -> Permanent | Transient:
    """Our own sentence: what the API says may hold anything, a key for one."""
    said = error.response.headers.get("retry-after", "")
    after = min(float(said), 600.0) if re.fullmatch(r"\d{1,5}(\.\d+)?", said) else 5.0
    if error.status_code in {400, 401, 403, 404, 413}:
        what = f"The model's API does not accept the call (HTTP {error.status_code})"
        return Permanent(f"{what}; an administrator should check key and model.")
    return Transient(f"The model's API is busy or out of order (HTTP {error.status_code}).", after=after)
