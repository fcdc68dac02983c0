"""A service as objects of a cluster, and what those objects say. No I/O.

A service is a Service and two Deployments, blue and green; the Service's selector says which one serves.
A rolling deploy replaces the pods of the colour that serves; a blue-green one starts the other and switches.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from workers.base import Permanent
from workers.builtin.cluster import Manifest

Color = Literal["blue", "green"]
COLORS: tuple[Color, Color] = ("blue", "green")

KEY, PREVIOUS = "signoff.dev/key", "signoff.dev/previous"
HASH = "pod-template-hash"
HOPELESS = {
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
}


class ServiceEntry(BaseModel):
    """`[inventory.services.*]`: what the name of a service stands for."""

    model_config = ConfigDict(frozen=True)  # other workers keep their own keys in the same entry

    cluster: str
    image: str
    namespace: str = "default"
    environment: str = "production"
    replicas: int = Field(default=2, ge=1)
    port: int = 8080
    progress_deadline: int = Field(default=120, ge=1)
    keep_old_seconds: int = Field(default=0, ge=0)


def other(color: Color) -> Color:
    return "green" if color == "blue" else "blue"


def labels(service: str, color: Color) -> dict[str, str]:
    return {"app": service, "color": color}


def deployment(
    service: str, color: Color, entry: ServiceEntry, version: str, notes: dict[str, str]
) -> Manifest:
    """The whole manifest, but for `replicas`: size is set by `scale`, so an autoscaler may own it."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": f"{service}-{color}",
            "labels": labels(service, color),
            "annotations": notes,
        },
        "spec": {
            "selector": {"matchLabels": labels(service, color)},
            "progressDeadlineSeconds": entry.progress_deadline,
            "minReadySeconds": 1,
            "revisionHistoryLimit": 5,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}},
            "template": {
                "metadata": {"labels": labels(service, color)},
                "spec": {"containers": [container(service, entry, version)]},
            },
        },
    }


def container(service: str, entry: ServiceEntry, version: str) -> Manifest:
    return {
        "name": service,
        "image": f"{entry.image}:{version}",
        "ports": [{"containerPort": entry.port, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": entry.port}},
    }


def address(service: str, color: Color, entry: ServiceEntry) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": service, "labels": {"app": service}},
        "spec": {
            "selector": labels(service, color),
            "ports": [{"port": entry.port, "targetPort": entry.port, "protocol": "TCP"}],
        },
    }


def switch(old: Color, new: Color) -> list[dict[str, Any]]:
    """Move all traffic, unless somebody else moved it first."""
    path = "/spec/selector/color"
    return [{"op": "test", "path": path, "value": old}, {"op": "replace", "path": path, "value": new}]


@dataclass(frozen=True)
class Live:
    """What the cluster shows of one service."""

    address: Manifest | None
    deployments: dict[Color, Manifest]
    pods: list[Manifest]

    @property
    def active(self) -> Color | None:
        """The colour that serves."""
        if self.address is None:
            return None
        color = self.address["spec"].get("selector", {}).get("color")
        if color not in COLORS:
            name = self.address["metadata"]["name"]
            raise Permanent(
                f"The Service {name} was not made by Signoff: its selector has no color blue or green, "
                "so it is left alone."
            )
        return "blue" if color == "blue" else "green"

    @property
    def version(self) -> str | None:
        """The version that serves: after a failed rollout not the one that was asked for."""
        if self.active not in self.deployments:
            return None
        asked, ready = version(self.deployments[self.active]), self.ready()
        return asked if asked in ready or not ready else min(ready)

    def ready(self) -> dict[str, int]:
        """How many pods of each version are ready to serve."""
        own = [pod for pod in self.pods if pod["metadata"]["labels"].get("color") == self.active]
        return Counter(image_version(pod["spec"]) for pod in own if is_ready(pod))

    def serving(self) -> str:
        """`v2.1.3 serves, 2/2 ready`."""
        size = self.replicas(self.active)
        parts = [f"{name} serves, {number}/{size} ready" for name, number in sorted(self.ready().items())]
        return " and ".join(parts) or "nothing serves"

    def made_by(self, key: str) -> Color | None:
        """The colour that the step with this key has worked on."""
        return next((color for color, found in self.deployments.items() if note(found, KEY) == key), None)

    def replicas(self, color: Color | None) -> int:
        return int(self.deployments[color]["spec"].get("replicas", 0)) if color in self.deployments else 0


def note(found: Manifest, name: str) -> str:
    return str(found["metadata"].get("annotations", {}).get(name, ""))


def image_version(spec: Manifest) -> str:
    return str(spec["containers"][0]["image"]).rpartition(":")[2]


def version(found: Manifest) -> str:
    return image_version(found["spec"]["template"]["spec"])


class Progress(NamedTuple):
    state: Literal["done", "waiting", "failed"]
    text: str


def progress(found: Manifest) -> Progress:
    """Where a rollout stands: kubectl's rule, in kubectl's order."""
    spec, status = found["spec"], found.get("status", {})
    if status.get("observedGeneration", 0) < found["metadata"]["generation"]:
        return Progress("waiting", "the cluster has not looked at it yet")
    if spec.get("paused"):
        return Progress("failed", "somebody has paused this Deployment")
    if any(one.get("reason") == "ProgressDeadlineExceeded" for one in status.get("conditions", [])):
        return Progress("failed", f"no progress within {spec.get('progressDeadlineSeconds')} s")
    return count(spec.get("replicas", 1), status)


def count(wanted: int, status: Manifest) -> Progress:
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    leaving = status.get("replicas", 0) - updated
    if updated < wanted or available < updated:
        return Progress("waiting", f"{max(0, available - leaving)} of {wanted} new pods ready")
    if leaving > 0:
        return Progress("waiting", f"{leaving} old pods leaving")
    return Progress("done", f"{available}/{wanted} ready")


def newest(found: Manifest, sets: list[Manifest]) -> str | None:
    """The hash that marks the newest pods, once the cluster has made their ReplicaSet.

    The rule is the controller's own: the same template. Sick pods of older sets are not our concern.
    """
    wanted = found["spec"]["template"]
    return next((mark for one in sets for mark, template in [unmarked(one)] if template == wanted), None)


def unmarked(replica_set: Manifest) -> tuple[str, Manifest]:
    """The mark of a ReplicaSet, and its template without it."""
    template = replica_set["spec"]["template"]
    marks = dict(template["metadata"]["labels"])
    mark = marks.pop(HASH)
    return mark, {**template, "metadata": {**template["metadata"], "labels": marks}}


def trouble(pods: list[Manifest]) -> str | None:
    """Why these pods will not come up by waiting, in the cluster's own words."""
    for pod in pods:
        for status in pod.get("status", {}).get("containerStatuses", []):
            waiting = status.get("state", {}).get("waiting", {})
            message = waiting.get("message", "no message")
            # A kubelet that has not yet seen a fresh ConfigMap says so and mends it by itself.
            if waiting.get("reason") in HOPELESS and "failed to sync" not in message:
                return f"{waiting['reason']}: {message}{ending(status)} (pod {pod['metadata']['name']})"
    return None


def ending(status: Manifest) -> str:
    ended = status.get("lastState", {}).get("terminated")
    return f", exit code {ended['exitCode']}" if ended else ""


def unplaced(pods: list[Manifest]) -> str:
    """Why pods found no node, as a clause to add; a rollout that merely times out is mostly this."""
    for pod in pods:
        for one in pod.get("status", {}).get("conditions", []):
            if one["type"] == "PodScheduled" and one["status"] == "False":
                return (
                    f"; no node takes pod {pod['metadata']['name']}: {one.get('message', 'no reason given')}"
                )
    return ""


def is_ready(pod: Manifest) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return False
    return any(
        one["type"] == "Ready" and one["status"] == "True"
        for one in pod.get("status", {}).get("conditions", [])
    )


def behind(endpoints: Manifest | None) -> set[str]:
    """Names of the pods that traffic reaches."""
    subsets = (endpoints or {}).get("subsets") or []
    return {one["targetRef"]["name"] for subset in subsets for one in subset.get("addresses") or []}
