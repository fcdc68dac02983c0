"""`signoff stats fleet`: what the agents did, in counts that say what they are counted from."""

import json
from collections.abc import Iterator
from dataclasses import asdict

from bot.cli.sources import open_to_read
from bot.config import BotSettings
from storage.monitoring.fleet import Fleet, fleet


def print_fleet(settings: BotSettings, *, as_json: bool) -> int:
    """For people, or as JSON for programs."""
    with open_to_read(settings).read() as t:
        found = fleet(t.connection)
    print(json.dumps(asdict(found)) if as_json else "\n".join(told(found)))
    return 0


def told(found: Fleet) -> Iterator[str]:
    """Nothing is said that was not counted."""
    if not found.subtasks:
        yield "No agent has worked yet."
        return
    yield f"Agents at work     {found.running}"
    yield f"Subtasks           {found.subtasks}: {found.green} green, {found.landed} landed"
    mended, ended = found.recovered
    yield f"Incidents          {mended} of {ended} that have ended were recovered without a person"
    for kind, ends in found.incidents.items():
        yield f"  {kind:<16} " + ", ".join(f"{many} {end}" for end, many in sorted(ends.items()))
    if found.batches:
        said = ", ".join(f"{many} {result}" for result, many in found.batches.items())
        yield f"Merge batches      {said}; the suite ran {found.suite_runs} times for them"
    each = f", {found.usd / found.landed:.4f} for each that landed" if found.landed else ""
    yield f"Cost               {found.usd:.4f} USD in {found.attempts} attempts{each}"
    if found.landed_usd:
        p50, p90 = found.landed_usd["p50"], found.landed_usd["p90"]
        yield f"                   {p50:.4f} USD (p50) and {p90:.4f} (p90) for one that landed"
    if found.usd:
        yield f"                   {found.usd_lost:.4f} USD of it on what did not become green"
