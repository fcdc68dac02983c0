"""The whole matrix of who may decide: python -m tests.proof.matrix. Its tables: parts/matrix.py."""

import sys
import time
from collections import Counter

from storage.database.engine import migrate, open_engine
from tests.proof.parts.matrix import KINDS, STATES
from tests.proof.parts.matrix_stage import ACTS, Stage, trials
from tests.support.fakes import FakeClock
from tests.support.store import Store


def main() -> int:
    engine = open_engine("sqlite://")
    migrate(engine)
    began, tally, wrong = time.monotonic(), Counter[str](), 0
    for case, wanted, was in trials(Stage(Store(engine, FakeClock()))):
        tally[was] += 1
        if wanted != was:
            wrong += 1
            print(f"WRONG {case}: {was}, must be {wanted}")  # noqa: T201 # a command
    said = ", ".join(f"{outcome} {number}" for outcome, number in sorted(tally.items()))
    size = f"{len(KINDS)} kinds of people × {len(ACTS)} acts × {len(STATES)} states"
    took = time.monotonic() - began
    print(f"{size} = {tally.total()} decisions in {took:.0f} s, {wrong} wrong ({said})")  # noqa: T201 # a command
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
