"""The long form of invariants/test_hostile, attacks by two: python -m tests.proof.gate [count] [seed]."""

import random
import sys
from collections import Counter

from bot.planner.decision import Decision
from bot.planner.review.gate import judge
from tests.proof.parts.faulty import offered
from tests.proof.parts.hostile import REVISING, Attack, approved, harm, plans, states


def combined(count: int, seed: int) -> Counter[str]:
    """Judge this many pairs of attacks; the witness raises on the first one that gets through."""
    dice, tally = random.Random(seed), Counter[str]()  # noqa: S311 # attacks to be repeated, no secret
    first, where = [*plans(approved())], [*states().items()]
    for _ in range(count):
        (name, once), (place, now) = dice.choice(first), dice.choice(where)
        other, twice = dice.choice([*plans(once)])
        decision = Decision(verb=dice.choice(REVISING), step="fetch", reason="approved", spec=twice)
        ruling = judge(decision, now, offered())
        found = harm(Attack(f"{place}/{name}+{other}", decision, now), ruling)
        if found:
            raise AssertionError(f"{place}/{name}+{other}: {found}")
        tally[ruling.way] += 1
    return tally


def main(count: int = 5_000, seed: int = 1) -> None:
    found = combined(count, seed)
    said = ", ".join(f"{way} {number}" for way, number in sorted(found.items()))
    print(f"{count} pairs of attacks, 0 effects that nobody approved ({said})")  # noqa: T201 # a command


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
