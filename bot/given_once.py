"""JSON and YAML in which nothing is said twice: of two values for one name, two readers may see either."""

import json
import re
from typing import Any

import yaml

MERGE = "tag:yaml.org,2002:merge"
BOOL = "tag:yaml.org,2002:bool"


class GivenTwice(ValueError):
    """A name has two values; which of them is meant nobody can tell."""

    def __init__(self, name: str) -> None:
        super().__init__(f"“{name[:60]}” is given twice")


def json_of(text: str | bytes, **options: Any) -> Any:
    """As `json.loads`, but a name that stands twice in one object is refused."""
    return json.loads(text, object_pairs_hook=once, **options)


def yaml_of(text: str, *, ours: bool = False) -> Any:
    """As `yaml.safe_load`, but a name that stands twice in one mapping is refused.

    `ours`: a file that we ship is read by the C library, ten times as fast. What others wrote never is:
    nested deeply enough it would end the process.
    """
    return yaml.load(text, Loader=_Quick if ours else _Loader)  # noqa: S506 # SafeLoaders that refuse more


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as an object, if no name stands in two of them."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise GivenTwice(name)
        made[name] = value
    return made


class _Once:
    """YAML as people write it: `on`, `off`, `yes` and `no` are words; only true and false are truths."""

    yaml_implicit_resolvers = {  # noqa: RUF012 # PyYAML reads it from the class
        first: [pair for pair in pairs if pair[0] != BOOL]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """What `<<` brings in may be said again: that is what it is for."""
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            said = (key.tag, str(key.value))
            if said in seen and key.tag != MERGE:
                raise GivenTwice(said[1])
            seen.add(said)
        made: dict[Any, Any] = super().construct_mapping(node, deep)  # type: ignore[misc] # a loader stands behind
        return made


class _Loader(_Once, yaml.SafeLoader):
    """In Python."""


class _Quick(_Once, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # it may be missing
    """In C, where PyYAML was built with it."""


for loader in (_Loader, _Quick):
    loader.add_implicit_resolver(BOOL, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
