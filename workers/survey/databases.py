"""Databases that the environment names. Only the name of a variable is told, never what it holds."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from storage.contract.survey import DatabaseFound

SCHEMES = re.compile(r"^postgres(ql)?(\+\w+)?://", re.I)
OUR_OWN = "SIGNOFF_"


def look(environ: Mapping[str, str]) -> tuple[DatabaseFound, ...]:
    """Each PostgreSQL address in the environment, under a name that no other has."""
    found: dict[str, DatabaseFound] = {}
    for variable, value in sorted(environ.items()):
        if SCHEMES.match(value) and not variable.startswith(OUR_OWN):
            name = _name(value, variable)
            name = name if name not in found else _clean(variable)
            found.setdefault(name, DatabaseFound(variable=variable, name=name))
    return tuple(found.values())


def _name(url: str, variable: str) -> str:
    """As the database is called; where the address does not say, as the variable is."""
    try:
        called = urlsplit(url).path.strip("/")
    except ValueError:
        called = ""
    return _clean(called) or _clean(variable)


def _clean(name: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "_", name.lower()).strip("_-")[:60]
