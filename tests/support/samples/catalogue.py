"""The catalogue of the evaluation: what the built-in workers promise in its installation.

`python -m tests.support.samples.catalogue` writes it anew after a worker's contract has changed.
"""

import json
from functools import cache

from bot.planner.evaluation import CATALOGUE, config
from storage.contract.capability import Contract
from workers.registry import load


@cache
def published() -> tuple[Contract, ...]:
    return tuple(load(config()).contracts())


def write() -> None:
    found = [contract.model_dump(mode="json", exclude_defaults=True) for contract in published()]
    CATALOGUE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
