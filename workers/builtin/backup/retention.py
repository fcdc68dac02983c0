"""Which backups may go: what is kept follows from the rule, the clock and what is there."""

from collections.abc import Callable, Container, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from workers.builtin.backup.directory import Manifest, complete, whole


class Keep(BaseModel):
    """A backup stays if any of these wants it. Without a rule everything stays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    last: int = Field(0, ge=0, description="the newest so many")
    days: int = Field(0, ge=0, description="all of the last so many days")
    weeks: int = Field(0, ge=0, description="the newest of each of the last so many weeks that have one")
    months: int = Field(0, ge=0, description="the newest of each of the last so many months that have one")

    def asks_nothing(self) -> bool:
        return not (self.last or self.days or self.weeks or self.months)


def expendable(found: Iterable[Manifest], keep: Keep, now: datetime) -> list[Manifest]:
    """What the rule lets go, oldest first. The newest of every kind stays, whatever the rule says."""
    if keep.asks_nothing():
        return []
    kinds: dict[tuple[str, ...], list[Manifest]] = {}
    for manifest in sorted(found, key=lambda manifest: manifest.made_at, reverse=True):
        kinds.setdefault(manifest.kind, []).append(manifest)
    gone = [manifest for kind in kinds.values() for manifest in _gone(kind, keep, now)]
    return sorted(gone, key=lambda manifest: manifest.made_at)


def _gone(newest_first: Sequence[Manifest], keep: Keep, now: datetime) -> list[Manifest]:
    young = [m for m in newest_first if m.made_at > now - timedelta(days=keep.days)]
    weeks = _newest_of_each(newest_first, lambda at: at.isocalendar()[:2])[: keep.weeks]
    months = _newest_of_each(newest_first, lambda at: (at.year, at.month))[: keep.months]
    kept = {m.file for m in [*newest_first[: max(1, keep.last)], *young, *weeks, *months]}
    return [manifest for manifest in newest_first if manifest.file not in kept]


def _newest_of_each(
    newest_first: Sequence[Manifest], period: Callable[[datetime], tuple[int, int]]
) -> list[Manifest]:
    found: dict[tuple[int, int], Manifest] = {}
    for manifest in newest_first:
        found.setdefault(period(manifest.made_at), manifest)
    return [*found.values()]


def trusted(newest_first: Iterable[Manifest], proven: Container[Path] = ()) -> list[Manifest]:
    """Those that count: of each kind from the newest that is whole to the bit; the rest by their size.

    A damaged one does not count and, being evidence, is not removed either.
    """
    seen: set[tuple[str, ...]] = set()
    found = []
    for manifest in newest_first:
        if complete(manifest) and (manifest.kind in seen or manifest.file in proven or whole(manifest)):
            seen.add(manifest.kind)
            found.append(manifest)
    return found
