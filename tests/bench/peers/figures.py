"""From raw figures to the table of ratios and the figures of who is ahead. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

KINDS = {"chain": "a chain", "plans": "plans at once"}
TITLES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
Line = tuple[str, float, float, bool]  # name, value, limit, whether the limit is the least


@dataclass(frozen=True)
class Figure:
    """One system's run in one round. `raw` is two commits, the mean of just before and just after it."""

    round: int
    system: str
    place: str
    kind: str
    raw: float  # seconds
    step: float  # seconds, each of them
    writes: float = 0.0  # writing transactions per step; PostgreSQL counts them

    @property
    def ratio(self) -> float:
        """Of a chain the time over raw's, of plans the rate over raw's."""
        return self.step / self.raw if self.kind == "chain" else self.raw / self.step

    def __str__(self) -> str:
        """As it was measured."""
        raw, step = (f"{1000 * seconds:.3f} ms" for seconds in (self.raw, self.step))
        return f"{self.system} {self.place} {self.kind} {step} a step, raw {raw}: {self.ratio:.2f}"


def of(found: Iterable[Figure], system: str, place: str, kind: str) -> list[Figure]:
    return [one for one in found if (one.system, one.place, one.kind) == (system, place, kind)]


def spread(values: Sequence[float]) -> str:
    """The median, between the least and the most."""
    return f"{median(values):.2f} [{min(values):.2f}–{max(values):.2f}]" if values else "–"


def table(rows: Mapping[str, tuple[str, str]], found: Sequence[Figure]) -> str:
    """A row for each system, measured or not; of each what it is called, and what it keeps of a step."""
    cells = [(kind, place) for kind in KINDS for place in TITLES]
    heads = [f"{KINDS[kind]}, {TITLES[place]}" for kind, place in cells]
    lines = [["÷ raw", *heads, "commits a step", "on record of a step"]]
    lines.append(["---"] * len(lines[0]))
    for system, (title, kept) in rows.items():
        ratios = [spread([one.ratio for one in of(found, system, place, kind)]) for kind, place in cells]
        commits = [one.writes for one in of(found, system, "postgres", "chain")]
        lines.append([title, *ratios, f"{median(commits):.1f}" if commits else "–", kept])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def absent(missing: Mapping[str, str], silent: Mapping[tuple[str, str], str]) -> list[str]:
    """Nothing is left out without a word: what could not be installed, and what did not answer where."""
    gone = [f"{name} could not be installed: {why}" for name, why in missing.items()]
    return gone + [
        f"{name} on {TITLES[place]} did not answer: {why}" for (name, place), why in silent.items()
    ]


def leads(found: Sequence[Figure], ours: str) -> list[Line]:
    """Our ratio ÷ each peer's of the same round; of a chain less than 1 is ahead, of plans more."""
    cells = dict.fromkeys((one.kind, one.place, one.system) for one in found if one.system != ours)
    lines: list[Line] = []
    for kind, place, system in cells:
        own = {one.round: one.ratio for one in of(found, ours, place, kind)}
        theirs = {one.round: one.ratio for one in of(found, system, place, kind)}
        if both := [own[number] / theirs[number] for number in own.keys() & theirs.keys()]:
            name = f"{kind}_{place}_signoff_per_{system.lower()}"
            lines.append((name, median(both), 1.0, kind == "plans"))
    return lines
