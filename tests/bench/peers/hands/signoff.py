"""Signoff: a workers process's loop over plans that were approved before; 16 slots."""

import sys
import tempfile
from pathlib import Path

from tests.bench.engine import Engine
from tests.bench.peers.hands.answering import serve


def main(url: str) -> None:
    engine = Engine(url, Path(tempfile.mkdtemp(prefix="signoff-bench-")))
    with engine.running():
        serve(engine.chain, engine.rush)


if __name__ == "__main__":
    main(sys.argv[1])
