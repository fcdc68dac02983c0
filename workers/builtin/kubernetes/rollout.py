"""What the objects of a service say: what serves, how far a rollout is, why pods do not come up. No I/O."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple

from workers.builtin.kubernetes.cluster import Manifest
from workers.builtin.kubernetes.manifests import COLORS, KEY, TRACK, Color, Part, main_image, tag

HASH = "pod-template-hash"
HOPELESS = {
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
}


@dataclass(frozen=True)
class Live:
    """What the cluster shows of one service. `plain`: a Deployment of others that serves; we may adopt it."""

    address: Manifest | None
    deployments: dict[Part, Manifest]
    pods: list[Manifest]
    plain: Manifest | None = None

    @property
    def active(self) -> Color | None:
        """The colour that serves."""
        return color_in(self.address) if self.address else None

    @property
    def serving(self) -> Manifest | None:
        """The Deployment behind the Service."""
        return self.plain or (self.deployments.get(self.active) if self.active else None)

    @property
    def image(self) -> str:
        """The image that serves: after a failed rollout not the one that was asked for."""
        if self.serving is None:
            return ""
        asked, ready = image_of(self.serving), self.ready()
        return asked if asked in ready or not ready else min(ready)

    @property
    def version(self) -> str:
        return tag(self.image)

    @property
    def size(self) -> int:
        """How many pods serve, if all are well."""
        return replicas(self.serving)

    def ready(self) -> dict[str, int]:
        """How many of the serving pods of each image are ready, canaries apart."""
        own = [pod for pod in self.pods if is_of(pod, self.active)]
        return Counter(main_image(pod["spec"]) for pod in own if is_ready(pod))

    def state(self) -> str:
        """`v2.1.3 serves, 2/2 ready`."""
        found = sorted(self.ready().items())
        parts = [f"{tag(image)} serves, {number}/{self.size} ready" for image, number in found]
        return " and ".join(parts) or "nothing serves"

    def made_by(self, key: str) -> Part | None:
        """What the step with this key has worked on; a colour before its canary."""
        return next((part for part, found in self.deployments.items() if note(found, KEY) == key), None)

    def replicas(self, part: Part) -> int:
        return replicas(self.deployments.get(part))


def color_in(address: Manifest) -> Color | None:
    chosen = (address["spec"].get("selector") or {}).get("color")
    return next((color for color in COLORS if color == chosen), None)


def is_of(pod: Manifest, color: Color | None) -> bool:
    marks = pod["metadata"].get("labels", {})
    return marks.get("color") == color and TRACK not in marks


def replicas(found: Manifest | None) -> int:
    return int(found["spec"].get("replicas", 0)) if found else 0


def note(found: Manifest, name: str) -> str:
    return str(found["metadata"].get("annotations", {}).get(name, ""))


def image_of(found: Manifest) -> str:
    return main_image(found["spec"]["template"]["spec"])


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
    leaving = status.get("replicas", 0) - min(updated, wanted)
    if updated < wanted or available < updated:
        return Progress("waiting", f"{max(0, available - leaving)}/{wanted} ready")
    if leaving > 0:
        return Progress("waiting", f"{wanted}/{wanted} ready, {leaving} old pods leaving")
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


class Trouble(NamedTuple):
    """Why a pod will not come up by waiting, in the cluster's own words."""

    pod: str
    container: str
    text: str


def trouble(pods: list[Manifest]) -> Trouble | None:
    for pod in pods:
        status = pod.get("status", {})
        for one in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
            waiting = one.get("state", {}).get("waiting", {})
            message = waiting.get("message", "no message")
            # A kubelet that has not yet seen a fresh ConfigMap says so and mends it by itself.
            if waiting.get("reason") in HOPELESS and "failed to sync" not in message:
                name = pod["metadata"]["name"]
                text = f"{waiting['reason']}: {message}{ending(one)} (pod {name})"
                return Trouble(name, one.get("name", ""), text)
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
