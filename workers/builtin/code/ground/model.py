"""The Messages API as the code workers call it: one client for the process, every fault a sentence."""

import functools
import os
import re
from typing import TYPE_CHECKING, Any

from workers.base import Permanent, Transient
from workers.builtin.code.ground.repository import TRIES, Entry

if TYPE_CHECKING:  # its import takes seconds
    from anthropic import Anthropic
    from anthropic.types import Message


def ask(entry: Entry, **wanted: Any) -> "Message":
    """One reply; Transient where another try may help, and then it is nobody's fault."""
    import anthropic

    try:
        message = client(entry.api, entry.key_env, entry.reply_seconds()).messages.create(**wanted)
    except anthropic.APIStatusError as error:
        raise fault(error.status_code, error.response.headers.get("retry-after", "")) from None
    except anthropic.APIConnectionError:
        raise fault(0) from None
    except (anthropic.AnthropicError, ValueError) as error:
        raise Transient(f"What answers is not the model ({type(error).__name__}).", after=5.0) from None
    if not isinstance(message, anthropic.types.Message):
        raise Transient("What answers is not the model.", after=5.0)
    return message


def has_key(entry: Entry) -> bool:
    return bool(os.environ.get(entry.key_env, "").strip()) if entry.key_env else bool(entry.api)


def key_of(entry: Entry) -> str:
    return _key(entry.key_env)


def _key(name: str) -> str:
    key = os.environ.get(name, "").strip() if name else "none"
    if not key:
        raise Permanent(f"{name} is not set where the workers run, so no agent can work.")
    return key


@functools.cache
def client(address: str, key_env: str, seconds: float) -> "Anthropic":
    """One for the process: its pool serves a hundred threads."""
    import anthropic

    return anthropic.Anthropic(
        api_key=_key(key_env), base_url=address or None, max_retries=TRIES - 1, timeout=seconds
    )


def fault(status: int, said: str = "") -> Permanent | Transient:
    """Our own sentence: what the API says may hold anything, a key for one. 0: there was no answer."""
    after = min(float(said), 600.0) if re.fullmatch(r"\d{1,5}(\.\d+)?", said) else 5.0
    if not status:
        return Transient("The model cannot be reached, or did not answer in time.", after=after)
    if status in {400, 401, 403, 404, 413}:
        what = f"The model's API does not accept the call (HTTP {status})"
        return Permanent(f"{what}; an administrator should check key and model.")
    return Transient(f"The model's API is busy or out of order (HTTP {status}).", after=after)
