"""Who is on call, as a provider says it, and how it is asked: one try, bounded, by plain HTTP."""

import json
from dataclasses import dataclass
from typing import Any

import urllib3

from storage.errors import SignoffError

PATIENCE = 3.0
LARGEST = 256 * 1024


class NoAnswer(SignoffError):
    """The provider does not say who is on call."""


@dataclass(frozen=True)
class Shift:
    """One person's, as far as the provider tells."""

    user: str  # their id there
    email: str
    level: int = 1
    start: str = ""
    end: str = ""


def get(url: str, headers: dict[str, str], provider: str) -> Any:
    """JSON from an address of the configuration; NoAnswer for everything else."""
    try:
        answer = urllib3.request(
            "GET",
            url,
            headers=headers,
            timeout=PATIENCE,
            retries=False,
            redirect=False,
            preload_content=False,
        )
        raw = answer.read(LARGEST + 1)
        answer.close()
    except urllib3.exceptions.HTTPError as error:
        raise NoAnswer(f"{provider} does not answer ({type(error).__name__})") from None
    if answer.status != 200 or len(raw) > LARGEST:
        raise NoAnswer(f"{provider} answered {answer.status}")
    try:
        return json.loads(raw)
    except ValueError:
        raise NoAnswer(f"{provider} answered no JSON") from None
