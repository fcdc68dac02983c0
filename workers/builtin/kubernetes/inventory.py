"""Where a service lives: from its inventory entry to a namespace of a cluster."""

import os
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from workers.base import Permanent
from workers.builtin.kubernetes.cluster import Cluster, KubernetesCluster
from workers.builtin.kubernetes.manifests import ServiceEntry
from workers.builtin.kubernetes.practice_cluster import PracticeCluster

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
    if home.get("kind") == "kubernetes" and home.get("in_cluster") is True:
        return KubernetesCluster(namespace=namespace, in_cluster=True)
    if home.get("kind") == "kubernetes":
        return KubernetesCluster(
            namespace=namespace, kubeconfig=kubeconfig(name, home), context=home.get("context")
        )
    raise Permanent(
        f'[inventory.clusters.{name}] needs kind = "kubernetes", or kind = "practice" with a url.'
    )


def kubeconfig(name: str, home: dict[str, Any]) -> str | None:
    """The file that the entry names; None for the usual place, but only when it names none."""
    variable = home.get("kubeconfig_env")
    if variable and not os.environ.get(variable):
        raise Permanent(
            f"[inventory.clusters.{name}] reads its kubeconfig from {variable}, which is not set."
        )
    return os.environ[variable] if variable else home.get("kubeconfig")
