"""What stands before a report is not said again in it."""

import re

PLACE = re.compile(r" on ([\w.-]+)\*?$")


def named(name: str, said: str) -> str:
    """A step and what it reports; a question that is its name is not asked twice."""
    if not said or said in name:
        return name
    return f"{name}{'' if name.rstrip('*').endswith('?') else ':'} {elsewhere(name, said)}"


def elsewhere(name: str, said: str) -> str:
    """A report without the place with which its step's name ends."""
    found = PLACE.search(name)
    place = rf",? on {re.escape(found[1])}(?![\w/-]|\.\w)" if found else ""
    return re.sub(place, "", said, count=1) if place else said
