"""What a change would do to an object, as people read it and as their approval is bound to it. No I/O."""

from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue

from workers.base import fingerprint
from workers.builtin.kubernetes.manifests import ADOPTED, KEY, PREVIOUS, RESTARTED
from workers.builtin.shared.cluster import Manifest

OURS = {KEY, PREVIOUS, ADOPTED, RESTARTED}  # they name the run, not what it does
SHOWN = 12
CUT = 120


def owned(found: Any, ours: Any) -> Any:
    """Of what the cluster holds, the fields that our manifest speaks of."""
    if isinstance(ours, dict) and isinstance(found, dict):
        kept = {
            name: sealed(found.get(name)) if name == "env" else owned(found.get(name), value)
            for name, value in ours.items()
            if name not in OURS
        }
        return {name: value for name, value in kept.items() if value != {}}
    if (
        isinstance(ours, list)
        and isinstance(found, list)
        and all(isinstance(one, dict) for one in found + ours)
    ):
        known = {place(one, index): one for index, one in enumerate(ours)}
        return [owned(one, known.get(place(one, index), one)) for index, one in enumerate(found)]
    return found


def sealed(variables: Any) -> str:
    """Variables hold secrets: whether they changed is shown, their values are not."""
    return f"{len(variables)} variables, {fingerprint(variables)[:12]}" if variables else "no variables"


def place(one: Manifest, index: int) -> Any:
    return one.get("name", index)


def basis(found: Manifest | None, made: Manifest, ours: Manifest) -> dict[str, JsonValue]:
    """An object as it is and as it would be, without status, versions, managers: those move by themselves."""
    return {
        "uid": found["metadata"].get("uid", "") if found else "",
        "now": owned(found, ours) if found else None,
        "then": owned(made, ours),
    }


def difference(kind: str, found: Manifest | None, made: Manifest, ours: Manifest) -> list[str]:
    """A heading, and a line for each field that would change."""
    name = f"{kind} {ours['metadata']['name']}"
    if found is None:
        return [f"{name} is created"]
    lines = list(changes(owned(found, ours), owned(made, ours)))
    if not lines:
        return [f"{name} stays as it is"]
    more = [f"  +{len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return [f"{name} changes", *(f"  {line}" for line in lines[:SHOWN]), *more]


def changes(old: Any, new: Any, path: str = "") -> Iterator[str]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            yield from changes(old.get(name), new.get(name), f"{path}.{name}" if path else name)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new, strict=True)):
            yield from changes(*pair, f"{path}[{index}]")
    else:
        yield f"{path}: {short(old)} → {short(new)}"


def short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= CUT else text[:CUT] + "…"


def autoscaled(found: Manifest) -> bool:
    """Does the cluster itself set the number of pods? Then it is no part of what people approve."""
    return any(
        one.get("manager") == "kube-controller-manager"
        and "f:replicas" in one.get("fieldsV1", {}).get("f:spec", {})
        for one in found["metadata"].get("managedFields", [])
    )
