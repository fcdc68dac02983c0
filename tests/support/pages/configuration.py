"""docs/configuration.md, made from the models that read signoff.toml. Written anew by

.venv/bin/python -m tests.support.pages.configuration
"""

import inspect
import re
import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from storage.config import SignoffConfig
from tests.support.places import ROOT
from workers.builtin.code.ground.repository import Entry as Repository
from workers.builtin.control.command import CommandEntry
from workers.builtin.data.model import ModelEntry
from workers.builtin.gitops.entry import GitopsEntry
from workers.builtin.http.http_check import EndpointEntry
from workers.builtin.kubernetes.manifests import ServiceEntry
from workers.builtin.mcp.pinned import Server
from workers.builtin.shared.http_source import SourceEntry
from workers.builtin.testing.suites import Suite

PAGE = ROOT / "docs" / "configuration.md"
WORDS = ROOT / "tests" / "support" / "samples" / "keys.yml"
INVENTORY: dict[str, type[BaseModel]] = {
    "suites": Suite, "services": ServiceEntry, "commands": CommandEntry, "endpoints": EndpointEntry,
    "sources": SourceEntry, "gitops": GitopsEntry, "models": ModelEntry, "mcp": Server,
    "repositories": Repository,
}  # fmt: skip
# Read key by key, by code; the tests look for each of them there.
PLAIN = {
    "databases": ("workers/builtin/backup",),
    "clusters": ("workers/builtin/kubernetes", "workers/builtin/shared"),
}
KINDS = {
    "str": "text", "int": "number", "float": "number", "bool": "true or false", "Path": "path",
    "time": "time", "date": "date", "datetime": "date and time", "tuple": "list", "dict": "table",
}  # fmt: skip
HEAD = """# Every key of signoff.toml

This page is made from the code that reads the file: nothing is missing or made up, and a test compares.
`signoff init` writes a file for what it finds; [signoff.example.toml](../signoff.example.toml) is one
whole. What comes from the environment: [settings](settings.md).

A running `signoff up` reads the file again when it changes, if it can be used, and says so either way; steps
that run go on to their end first. Processes that you start yourself need a restart; `signoff doctor` says so.
"""


def models(kind: Any) -> list[type[BaseModel]]:
    """The models inside an annotation."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [found for inner in get_args(kind) for found in models(inner)]


def tables(path: str, model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """A table and those inside it, by the names that the file gives them."""
    yield path, model
    for name, field in model.model_fields.items():
        if path or name != "inventory":
            for inner in models(field.annotation):
                star = ".*" if get_origin(field.annotation) is dict else ""
                yield from tables(".".join(filter(None, (path, field.alias or name))) + star, inner)


def every() -> dict[str, type[BaseModel]]:
    found = dict(tables("", SignoffConfig))
    for name, model in INVENTORY.items():
        found |= dict(tables(f"inventory.{name}.*", model))
    return found


def kind(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return ", ".join(f"`{one}`" for one in get_args(annotation) if one != "")
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(kind(one) for one in get_args(annotation) if one is not type(None)))
    if models(annotation) and origin is not tuple:
        return "table"
    return KINDS.get((origin or annotation).__name__, "text")


def default(field: FieldInfo) -> str:
    given = field.get_default(call_default_factory=True)
    if given is PydanticUndefined:
        return "**needed**"
    if isinstance(given, bool):
        return f"`{str(given).lower()}`"
    if given in (None, "", (), {}) or isinstance(given, BaseModel):
        return "–"
    if isinstance(given, tuple) and (len(given) > 8 or isinstance(given[0], BaseModel)):
        return "a list of ours"
    if isinstance(given, tuple):
        return "`[" + ", ".join(f'"{one}"' if isinstance(one, str) else str(one) for one in given) + "]`"
    return f"`{given:g}`" if isinstance(given, float) else f"`{given}`"


def keys() -> dict[str, tuple[str, str]]:
    """Every key by its path: its kind, its default."""
    return {
        ".".join(filter(None, (path, field.alias or name))): (kind(field.annotation), default(field))
        for path, model in every().items()
        for name, field in model.model_fields.items()
    }


def words() -> dict[str, dict[str, str]]:
    """What each key is for, table by table: as keys.yml says, else as the code's own comment does."""
    found: dict[str, dict[str, str]] = yaml.safe_load(WORDS.read_text(encoding="utf-8"))
    for path, model in every().items():
        said = found.setdefault(path or "top", {"about": _first_line(model.__doc__ or "")})
        for name, field in model.model_fields.items():
            said.setdefault(field.alias or name, _comment(model, name))
    return found


def _comment(model: type[BaseModel], name: str) -> str:
    """What stands behind a field, or above it."""
    owner = next(kind for kind in model.__mro__ if name in vars(kind).get("__annotations__", {}))
    lines = inspect.getsource(owner).splitlines()
    at = next(n for n, line in enumerate(lines) if re.match(rf"    {name}\s*:", line))
    behind = lines[at].partition("  # ")[2]
    before = [line.strip() for line in lines[at - 2 : at]]
    above = before[1].removeprefix("# ") if [line[:2] == "# " for line in before] == [False, True] else ""
    return behind or above


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def page() -> str:
    known = keys()
    return "\n".join([HEAD, *(_table(table, said, known) for table, said in words().items())])


def _table(table: str, said: dict[str, str], known: dict[str, tuple[str, str]]) -> str:
    path = "" if table == "top" else f"{table}."
    rows = [
        f"| `{name}` | {text} | {' | '.join(known.get(path + name, ('', '–')))} |"
        for name, text in said.items()
        if name != "about"
    ]
    about = [said["about"], ""] if "about" in said else []
    return "\n".join(
        [_title(table), "", *about, "| key | what it says | | usually |", "|---|---|---|---|", *rows, ""]
    )


def _title(table: str) -> str:
    if table == "top":
        return "## At the top"
    if table == "policy.rules":
        return "## `[[policy.rules]]`"
    if table.startswith("policy.rules."):
        return f"## `{table.removeprefix('policy.rules.')} = {{ … }}` of a rule"
    return f"## `[{table.replace('*', 'NAME')}]`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
