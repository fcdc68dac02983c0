"""A worker that dies in the middle of a deploy and is resumed, and what was seen of the service meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tests.support.cluster.deploy_site import Crash, Site, Watched
from tests.support.cluster.witness import Seen, preview_client, watching
from workers.base import Report, Verdict

OLD, NEW = "v1.0.0", "v1.1.0"
Die = Callable[[Site, str, int, dict[str, Any]], None]


@dataclass(frozen=True)
class Outcome:
    """How a deploy ended that died at this point."""

    point: int
    probed: Report[Any] | Verdict
    report: Report[Any]
    seen: Seen
    reached: list[str]
    sizes: dict[str, int]

    def faults(self, strategy: str) -> list[str]:
        """What is not as it must be, in words."""
        switched = 1 if strategy == "blue_green" else 0
        home = "green" if strategy == "blue_green" else "blue"
        checks = {
            f"the resumed deploy ended {self.report.summary}": self.report.status == "succeeded",
            f"previous is {self.report.data.previous_version}": self.report.data.previous_version == OLD,
            f"the probe said {self.probed}": self.probed is not Verdict.cannot_tell,
            f"{self.reached} get traffic": self.reached == [NEW, NEW],
            f"the sizes are {self.sizes}": {p: n for p, n in self.sizes.items() if n} == {home: 2},
            f"traffic was switched {self.seen.switches} times": self.seen.switches == switched,
            "at some moment no pod got traffic": bool(self.seen.reached) and 0 not in self.seen.reached,
        }
        return [f"{strategy}, died at {self.point}: {text}" for text, holds in checks.items() if not holds]


def neighbour(site: Site, service: str) -> Site:
    """Another service at the same place."""
    return replace(site, service=service, entry=dict(site.entry), pauses=[], said=[])


@contextmanager
def smoked(site: Site) -> Iterator[None]:
    with preview_client(site) as (url, _):
        site.entry["smoke_url"] = url
        yield


def steps(site: Site, strategy: str) -> list[str]:
    """The changes that an undisturbed deploy asks of the cluster."""
    with smoked(site):
        site.deploy(OLD)
        site.cluster.changes.clear()
        site.deploy(NEW, strategy)
    return site.cluster.changes


def crash(site: Site, strategy: str, point: int, record: dict[str, Any]) -> None:
    """Die right after the n-th change, or before the first one."""
    site.cluster = Watched(site.cluster.real, fail_after=point, fail_before=0 if point else 1)
    try:
        site.deploy(NEW, strategy, previous=record)
    except Crash:
        site.cluster = Watched(site.cluster.real)
        return
    raise AssertionError(f"the deploy never came to change {point}")


def die_and_resume(site: Site, strategy: str, point: int, die: Die = crash) -> Outcome:
    with smoked(site):
        site.deploy(OLD)
        record = site.before(NEW)
        with watching(site) as seen:
            die(site, strategy, point, record)
            probed = site.probe(NEW, strategy, previous=record)
            report = site.deploy(NEW, strategy, previous=record)
    return Outcome(point, probed, report, seen, site.reached(), site.sizes())
