"""The deployments of a cluster, and whether the k8s-deployer could look after them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from storage.contract.survey import ClusterFound, Deployment
from workers.base import Permanent, Transient, missing
from workers.builtin.kubernetes.adoption import keeper, repository
from workers.builtin.kubernetes.manifests import main_image, tag
from workers.builtin.kubernetes.rights import NEEDED
from workers.builtin.shared.cluster import KubernetesCluster, Manifest

OF_THE_CLUSTER = ("kube-system", "kube-public", "kube-node-lease")
MOST = 200  # deployments that are listed


def contexts(wanted: str, environ: Mapping[str, str] = os.environ) -> tuple[list[str], str]:
    """The contexts of the kubeconfig, and the one that is in use; none where there is no kubeconfig."""
    if missing("kubernetes"):  # `look` says so, where there is something to look at
        there = Path(environ.get("KUBECONFIG") or Path.home() / ".kube" / "config").exists()
        return ([wanted], wanted) if wanted else ([], "in use" if there else "")
    from kubernetes import config

    try:
        known, current = config.list_kube_config_contexts()  # type: ignore[no-untyped-call] # theirs
    except (config.ConfigException, OSError):
        return [], ""
    return [str(one["name"]) for one in known], str(current["name"])


def look(context: str, environ: Mapping[str, str] = os.environ) -> ClusterFound:
    """What runs there. A cluster that cannot be asked is a finding, too."""
    variable = "KUBECONFIG" if environ.get("KUBECONFIG") else ""
    file = environ.get("KUBECONFIG") or None
    try:
        cluster = KubernetesCluster(namespace="default", kubeconfig=file, context=context)
        found, services = _listed(cluster, "apps/v1", "deployments"), _listed(cluster, "v1", "services")
        deployments = [*_told(found, services)][:MOST]
        places = sorted({one.namespace for one in deployments if not one.hindrance})
        lacking = {place: _lacking(file, context, place) for place in places}
    except (Permanent, Transient) as error:
        return ClusterFound(context=context, kubeconfig_env=variable, trouble=str(error))
    return ClusterFound(context=context, kubeconfig_env=variable, deployments=tuple(deployments),
                        lacking={place: gone for place, gone in lacking.items() if gone})  # fmt: skip


def _lacking(file: str | None, context: str, namespace: str) -> tuple[str, ...]:
    there = KubernetesCluster(namespace=namespace, kubeconfig=file, context=context)
    return tuple(str(right) for right in NEEDED if not there.may(*right))


def _listed(cluster: KubernetesCluster, group: str, kind: str) -> list[Manifest]:
    """Of all namespaces; where that may not be seen, of the default one."""
    top = f"/apis/{group}" if "/" in group else f"/api/{group}"
    try:
        found = cluster.call("GET", f"{top}/{kind}")
    except Permanent:
        found = cluster.call("GET", f"{top}/namespaces/default/{kind}")
    items: list[Manifest] = (found or {}).get("items", [])
    return [one for one in items if one["metadata"]["namespace"] not in OF_THE_CLUSTER]


def _told(found: list[Manifest], services: list[Manifest]) -> Iterator[Deployment]:
    """Each as its service is called: of one that Signoff deploys already, only the colour that serves."""
    ours = {
        _at(one): color for one in services if (color := (one["spec"].get("selector") or {}).get("color"))
    }
    by_name = {_at(one): one for one in services}
    for one in found:
        place, name = _at(one)
        marks = one["metadata"].get("labels", {})
        service = (place, str(marks.get("app")))
        if service in ours and name.startswith(f"{service[1]}-"):
            if name == f"{service[1]}-{ours[service]}":
                yield _deployment(one, by_name[service]).model_copy(update={"name": service[1]})
        elif (place, name) not in ours:
            yield _deployment(one, by_name.get((place, name)))


def _at(found: Manifest) -> tuple[str, str]:
    return str(found["metadata"]["namespace"]), str(found["metadata"]["name"])


def _deployment(found: Manifest, service: Manifest | None) -> Deployment:
    pod = found["spec"]["template"]["spec"]
    image, kept = main_image(pod), keeper(found) or (keeper(service) if service else "")
    return Deployment(
        name=found["metadata"]["name"], namespace=found["metadata"]["namespace"], image=repository(image),
        version=tag(image), replicas=max(1, int(found["spec"].get("replicas", 1))), port=_port(pod, service),
        keeper=kept, hindrance=_hindrance(found, service, kept),
    )  # fmt: skip


def _hindrance(found: Manifest, service: Manifest | None, kept: str) -> str:
    if kept:
        return f"{kept} looks after it, and would undo every deploy that does not go through its repository"
    if service is None:
        return "no Service of this name leads to it; a command of yours can deploy it (docs/commands.md)"
    selector = service["spec"].get("selector") or {}
    if not selector or not selector.items() <= found["spec"]["template"]["metadata"]["labels"].items():
        return "the Service of this name does not choose its pods"
    return ""


def _port(pod: dict[str, Any], service: Manifest | None) -> int:
    ports = [port["containerPort"] for one in pod["containers"] for port in one.get("ports") or ()]
    offered = [port["port"] for port in service["spec"].get("ports") or ()] if service else []
    return int(next(iter([*ports, *offered]), 8080))
