"""The environments that an inventory speaks of; nobody lists them twice."""

from collections.abc import Iterator, Mapping
from typing import Any

ENVIRONMENTS = "environments"  # as the inventory of a slot


def environments_of(inventory: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """Every one that an entry names, in their order."""
    return [
        *dict.fromkeys(
            place for table in inventory.values() for entry in table.values() for place in _places(entry)
        )
    ]


def _places(entry: Mapping[str, Any]) -> Iterator[str]:
    listed = entry.get("environments", ())
    found = (entry.get("environment"), *(listed if isinstance(listed, list | tuple) else ()))
    return (place for place in found if isinstance(place, str) and place)
