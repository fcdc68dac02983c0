"""What a Deployment and its pods say: how far a rollout is, and why pods do not come up. No I/O."""

from typing import Literal, NamedTuple

from workers.builtin.shared.cluster import Manifest

HASH = "pod-template-hash"
HOPELESS = {
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
}


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
