"""Which things of the inventory words name. Pure."""

import re
from collections.abc import Iterable

from storage.config import SignoffConfig

MOST = 6  # things that are told of


def named(texts: Iterable[str], config: SignoffConfig) -> list[tuple[str, str]]:
    """(table, name) of what these words name, the longest names first where one lies in another."""
    said = "\n".join(texts).lower()
    known = [(table, name) for table, entries in config.inventory.items() for name in entries]
    found: list[tuple[str, str]] = []
    for table, name in sorted(known, key=lambda pair: -len(pair[1])):
        pattern = rf"(?<![\w-]){re.escape(name.lower())}(?![\w-])"
        if re.search(pattern, said):
            found.append((table, name))
            said = re.sub(pattern, " ", said) if _alone(name, known) else said
    order = {pair: number for number, pair in enumerate(known)}
    return sorted(found, key=order.__getitem__)[:MOST]


def _alone(name: str, known: list[tuple[str, str]]) -> bool:
    """Whether only one table has it: else each of them is meant."""
    return sum(other == name for _, other in known) == 1


def belonging(table: str, name: str, config: SignoffConfig) -> list[str]:
    """What the inventory says belongs to it: the database of a service, its endpoint."""
    entry = config.inventory.get(table, {}).get(name, {})
    names = {other for entries in config.inventory.values() for other in entries}
    return [value for value in entry.values() if isinstance(value, str) and value in names]


def environment(table: str, name: str, config: SignoffConfig) -> str:
    return str(config.inventory.get(table, {}).get(name, {}).get("environment", ""))
