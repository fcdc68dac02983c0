"""Does the new version answer? Asked over HTTP before it gets all traffic."""

from collections.abc import Callable

from pydantic import ValidationError

from workers.base import Permanent, Transient
from workers.builtin.kubernetes.manifests import ServiceEntry
from workers.builtin.shared.http_origin import Origin, OriginEntry
from workers.commands.output import plain

LIMIT, SHOWN = 64 * 1024, 200


def smoke(
    service: str,
    entry: ServiceEntry,
    namespace: str,
    pause: Callable[[float], None],
    cancelled: Callable[[], bool],
) -> str:
    """What is wrong with the answers, or nothing. A bad answer is forgiven; `smoke_tries` of them are not."""
    url = entry.smoke_url.replace("{service}", service).replace("{namespace}", namespace)
    origin = Origin("the smoke check", opened(service, url), cancelled)
    fault = ""
    for turn in range(entry.smoke_tries):
        if turn:
            pause(1.0)
        fault = look(origin, url)
        if not fault:
            return ""
    return f"{fault} ({entry.smoke_tries} tries)"


def opened(service: str, url: str) -> OriginEntry:
    try:
        return OriginEntry(url=url, timeout=5.0)
    except ValidationError as error:
        fault = error.errors(include_input=False)[0]["msg"]
        raise Permanent(f"[inventory.services.{service}] smoke_url cannot be used: {fault}.") from None


def look(origin: Origin, url: str) -> str:
    try:
        answer = origin.get(url, limit=LIMIT)
    except Transient as error:
        return str(error).rstrip(".")
    if 200 <= answer.status < 300:
        return ""
    said = " ".join(plain(answer.body).split())[:SHOWN] or "the answer is empty"
    return f"it answered {answer.status}: {said}"
