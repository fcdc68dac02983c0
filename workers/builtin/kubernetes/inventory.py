"""Where a service lives: from its inventory entry to a namespace of a cluster."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from workers.base import Permanent
from workers.builtin.kubernetes.manifests import ServiceEntry
from workers.builtin.kubernetes.practice_cluster import PracticeCluster
from workers.builtin.shared.cluster import Cluster, real_cluster

Connect = Callable[[str, dict[str, Any], str], Cluster]


def read_service(service: str, entry: dict[str, Any]) -> ServiceEntry:
    try:
        return ServiceEntry.model_validate(entry)
    except ValidationError as error:
        faults = "; ".join(f"{fault['loc'][0]}: {fault['msg']}" for fault in error.errors())
        raise Permanent(
            f"[inventory.services.{service}] in signoff.toml cannot be used: {faults}."
        ) from error


def place(service: str, environment: str, entry: ServiceEntry, home: dict[str, Any]) -> str:
    """The namespace of an environment. An unknown one is refused: it must never mean production."""
    known = home.get("namespaces") or {entry.environment: entry.namespace}
    if environment not in known:
        names = ", ".join(sorted(known))
        raise Permanent(f"{service} has no environment '{environment}' in signoff.toml. Known: {names}.")
    return str(known[environment])


def connect(name: str, home: dict[str, Any], namespace: str) -> Cluster:
    """The cluster that an entry of `[inventory.clusters.*]` stands for."""
    if home.get("kind") == "practice" and "url" in home:
        return PracticeCluster(home["url"], namespace=namespace)
    if home.get("kind") == "kubernetes":
        return real_cluster(name, home, namespace)
    raise Permanent(
        f'[inventory.clusters.{name}] needs kind = "kubernetes", or kind = "practice" with a url.'
    )
