"""Which runs to play: every point that any run reaches, each as a death of its own, and then at random."""

import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.crash.oracle import KINDS
from tests.crash.play import Death, Play, Played
from tests.crash.stage import Stage
from tests.crash.witness import UNSAFE, VARIANTS
from tests.soak.sometimes import RARE, Sometimes

DEPTH = 3  # deaths in one run
TRIES = 3  # a point that a run reached by chance of timing may be missed by the next
FIRST_OF_WORKERS = "before commit alive"
LONGEST = 0.5  # seconds that a process lives at random


@dataclass
class Search:
    """Plays runs and keeps count."""

    stage: Stage
    match: str = ""
    first: bool = False  # stop at the first problem
    say: Callable[[str], None] = lambda line: None
    points: set[str] = field(default_factory=set)
    missed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    rare: Sometimes = field(default_factory=lambda: Sometimes(*RARE.values()))

    def __str__(self) -> str:
        figures = " ".join(f"{kind} {self.counts[kind]}" for kind in KINDS)
        missed = f" missed {len(self.missed)}" if self.missed else ""
        return f"crash points {len(self.points)} kills {self.counts['kills']} {figures}{missed}"

    def every_point(self, share: int = 1) -> None:
        """Die at each point; what only a recovery reaches is found there, and is died at in turn."""
        for variant in ("forward", "backward"):
            waiting = deque[tuple[Death, ...]]([()])
            while waiting and not self._enough():
                deaths = waiting.popleft()
                new = self._new(self._reach(variant, deaths))
                wanted = [label for label in new if self.match in label][::share]
                waiting += [(*deaths, Death(label)) for label in wanted if len(deaths) < DEPTH]

    def freezes(self, share: int = 1) -> None:
        """Stop workers past their lease wherever they hold nothing; others take over, and they come back."""
        if self._enough():
            return
        labels = self.play("line", ()).later
        labels = labels[labels.index(FIRST_OF_WORKERS) :]
        wanted = [label for label in dict.fromkeys(labels) if self.match in label and can_freeze(label)]
        for label in wanted[::share]:
            if not self._enough():
                self._reach("line", (Death(label, frozen=True),))

    def at_random(self, kills: int, seed: int) -> None:
        """Until there were that many kills: one to three deaths a run, at points or after any time."""
        if self.counts["kills"] >= kills:
            return
        dice = random.Random(seed)  # noqa: S311 # a test's dice, to be thrown again with the same seed
        calm = {variant: sorted({*self.play(variant, ()).later}) for variant in VARIANTS}
        while self.counts["kills"] < kills:
            variant = dice.choice([*VARIANTS])
            later = [_any_death(dice, sorted(self.points)) for _ in range(dice.randrange(DEPTH))]
            self.play(variant, (_any_death(dice, calm[variant]), *later))

    def play(self, variant: str, deaths: tuple[Death, ...]) -> Played:
        played = Play(self.stage, variant, [*deaths]).run()
        story = f"{variant}: {'; '.join(map(str, deaths)) or 'nobody dies'}"
        self.say(f"{story}: {played.kills} kills, {len(played.faults)} faults")
        self.counts["kills"] += played.kills
        self.rare.saw(played.verbs)
        self.counts.update(fault.kind for fault in played.faults)
        self.problems += [f"{story}: {fault.kind}: {fault.text}" for fault in played.faults]
        return played

    def _enough(self) -> bool:
        return self.first and bool(self.problems)

    def _reach(self, variant: str, deaths: tuple[Death, ...]) -> list[str]:
        """Play until every death has come; what the processes reached after the last one."""
        for _ in range(TRIES):
            played = self.play(variant, deaths)
            if played.kills == len(deaths):
                return played.later
        self.missed.append(f"{variant}: {'; '.join(map(str, deaths))}")
        return []

    def _new(self, labels: list[str]) -> list[str]:
        found = [label for label in dict.fromkeys(labels) if label not in self.points]
        self.points |= set(found)
        return found


def can_freeze(label: str) -> bool:
    """Not inside a transaction, which would hold everybody; not between an unsafe action's last look and its
    effect, which no fence can guard (the database's fence does not reach the outside)."""
    return not label.startswith("before commit") and label not in {f"before effect {key}" for key in UNSAFE}


def _any_death(dice: random.Random, points: list[str]) -> Death:
    return Death(after=dice.uniform(0.0, LONGEST)) if dice.random() < 0.5 else Death(dice.choice(points))
