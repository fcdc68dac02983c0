"""`signoff propose` from afar, for pipelines: SIGNOFF_URL and SIGNOFF_TOKEN; its exit code says the end."""

import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from bot.cli.propose import asked_for
from bot.machines.client import Client
from bot.machines.wire import Asked, Status
from storage.errors import SignoffError

SUCCEEDED, FAILED, REFUSED, TURNED_DOWN, WAITING = 0, 1, 2, 3, 4
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
ROUND = 45.0  # seconds of one long poll


def seconds(text: str) -> float:
    """30m, 90s, 2h; "" for none."""
    found = re.fullmatch(r"(\d{1,5})([smhd])", text)
    if text and not found:
        raise SignoffError(f"“{text}” is no duration: say 90s, 30m or 2h.")
    return int(found[1]) * UNITS[found[2]] if found else 0.0


def pairs(given: list[str], option: str) -> dict[str, str]:
    """NAME=VALUE, as often as it is said."""
    if wrong := [one for one in given if not re.match(r"[\w.]+=", one)]:
        raise SignoffError(f"{option} {wrong[0]} is not NAME=VALUE.")
    return dict(one.split("=", 1) for one in given)


def propose_remotely(
    url: str, token: str, given: Namespace, clock: Callable[[], float] = time.monotonic
) -> int:
    """Ask, say what came of it, and with --wait how it ended."""
    try:
        patience, client = seconds(given.wait), Client(url, token)
        asked, key, end = wish(given), given.key or uuid4().hex, clock() + patience
        found = client.propose(asked, key)
        while found.state == "accepted" and clock() < end:  # each answer waits for a moment
            found = client.propose(asked, key)
        if found.plan and found.state != "refused" and patience:
            found = awaited(client, found, end, clock)
    except SignoffError as error:
        print(error, file=sys.stderr)
        return REFUSED
    return told(found, key, waited=bool(patience))


def wish(given: Namespace) -> Asked:
    words: dict[str, Any] = (
        {"runbook": given.runbook, "slots": pairs(given.slot, "--slot")}
        if given.runbook
        else asked_for(" ".join(given.what))
    )
    answers = pairs(given.answer, "--answer")
    return Asked.model_validate(
        words | {"channel": given.channel or "", "on_behalf_of": tuple(given.behalf), "answers": answers}
    )


def awaited(client: Client, found: Status, end: float, clock: Callable[[], float]) -> Status:
    """Its status at the end, or when the time is over; each state is said once."""
    seen = ""
    while True:
        if found.state != seen:
            print(f"Plan {found.plan}: {found.said}", file=sys.stderr, flush=True)
            seen = found.state
        left = end - clock()
        if found.over or found.needs or left <= 0 or found.plan is None:
            return found
        try:
            found = client.status(found.plan, min(left, ROUND), seen)
        except SignoffError as error:
            print(error, file=sys.stderr)
            return found


def told(found: Status, key: str, *, waited: bool) -> int:
    """One line for people, and the exit code for the pipeline."""
    where = f" {found.url}" if found.url else ""
    if found.needs:
        lines = [
            f"  --answer {one.name}=…  {one.question} {', '.join(one.choices)}".rstrip()
            for one in found.needs
        ]
        print(
            "\n".join([f"Something is missing. Say the same again, with --key {key} and:", *lines]),
            file=sys.stderr,
        )
        return REFUSED
    if found.state == "refused":
        print(found.said, file=sys.stderr)
        return REFUSED
    print(
        f"Plan {found.plan}: {found.said}{where}"
        if found.plan
        else "It was taken in, and is not planned yet."
    )
    return ending(found) if waited else SUCCEEDED


def ending(found: Status) -> int:
    if found.state == "done":
        return SUCCEEDED if found.outcome == "succeeded" else FAILED
    return TURNED_DOWN if found.over else WAITING
