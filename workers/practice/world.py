"""What happens in the practice cluster: a function of the stored objects and the time.

No thread moves anything: the cluster may be killed and started at any moment, and is where it would be.
"""

import hashlib
import json
import math
import time
import uuid
from collections.abc import Callable
from typing import Any

from workers.base import Permanent

Manifest = dict[str, Any]
Operations = list[dict[str, Any]]

PULL, START = 0.7, 1.0  # seconds until a bad image is given up, until a good pod is ready
HISTORY = 20
HASH = "pod-template-hash"


class World:
    """All objects, by `namespace/kind/name`, and the times at which the live versions changed."""

    def __init__(
        self, state: dict[str, Any], *, pace: float = 1.0, now: Callable[[], float] = time.time
    ) -> None:
        self.objects: dict[str, Manifest] = state.get("objects", {})
        self.history: list[dict[str, Any]] = state.get("history", [])
        self.serial: int = state.get("serial", 0)
        self.pace, self.now = pace, now

    def state(self) -> dict[str, Any]:
        return {"objects": self.objects, "history": self.history, "serial": self.serial}

    def get(self, namespace: str, kind: str, name: str) -> Manifest | None:
        if kind == "Endpoints":
            return self.endpoints(namespace, name)
        return self.objects.get(f"{namespace}/{kind}/{name}")

    def find(self, namespace: str, kind: str, labels: dict[str, str]) -> list[Manifest]:
        found = [one for key, one in self.objects.items() if key.startswith(f"{namespace}/{kind}/")]
        return [one for one in found if labels.items() <= one["metadata"]["labels"].items()]

    def apply(self, namespace: str, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        before = self.objects.get(f"{namespace}/{kind}/{name}", {"metadata": {"generation": 0}, "spec": {}})
        spec = {"replicas": before["spec"].get("replicas", 1)} if kind == "Deployment" else {}
        new = {**manifest, "spec": spec | manifest["spec"]}
        return self._put(namespace, new, before, dry_run)

    def patch(
        self, namespace: str, kind: str, name: str, operations: Operations, *, dry_run: bool = False
    ) -> Manifest:
        before = self._known(namespace, kind, name)
        return self._put(namespace, patched(before, operations), before, dry_run)

    def scale(self, namespace: str, name: str, replicas: int, *, dry_run: bool = False) -> Manifest:
        before = self._known(namespace, "Deployment", name)
        new = {**before, "spec": {**before["spec"], "replicas": replicas}}
        return self._put(namespace, new, before, dry_run)

    def logs(self, namespace: str, pod: str, lines: int) -> str:
        """What a pod printed: the ones that fall over say why, the others have nothing to say."""
        crashed = "crash" in version_of(self._known(namespace, "Pod", pod))
        said = ["starting", "cannot open the practice database", "exiting with code 1"] if crashed else []
        return "\n".join(said[-lines:])

    def _known(self, namespace: str, kind: str, name: str) -> Manifest:
        found = self.get(namespace, kind, name)
        if found is None:
            raise Permanent(f"The practice cluster has no {kind} {name} in namespace {namespace}.")
        return found

    def _put(self, namespace: str, new: Manifest, before: Manifest, dry_run: bool) -> Manifest:
        if dry_run:
            return new
        old = before["metadata"]
        same = before["spec"] == new["spec"] and old.get("annotations") == new["metadata"].get("annotations")
        generation = old["generation"] + (0 if same else 1)
        changed = before["changed"] if same else self.now()
        marks = {"generation": generation, "uid": old.get("uid") or uuid.uuid4().hex}
        found = {**new, "metadata": {**new["metadata"], **marks}, "changed": changed}
        self.objects[f"{namespace}/{new['kind']}/{new['metadata']['name']}"] = found
        self.settle()
        return found

    def endpoints(self, namespace: str, service: str) -> Manifest | None:
        found = self.objects.get(f"{namespace}/Service/{service}")
        if found is None:
            return None
        names = [pod["metadata"]["name"] for pod in self.behind(namespace, found)]
        addresses = [{"targetRef": {"kind": "Pod", "name": name}} for name in names]
        return {"kind": "Endpoints", "metadata": {"name": service}, "subsets": [{"addresses": addresses}]}

    def behind(self, namespace: str, service: Manifest) -> list[Manifest]:
        """The pods that traffic reaches."""
        return [pod for pod in self.find(namespace, "Pod", service["spec"]["selector"]) if is_ready(pod)]

    def settle(self) -> None:
        """Let time do its work: pods start, old ones go, statuses follow, changes are written down."""
        for pod in self._all("Pod").values():
            pod["status"] = pod_status(pod, (self.now() - pod["born"]) * self.pace)
        for key, found in self._all("Deployment").items():
            self._roll(key.split("/")[0], found)
        for key, found in self._all("Service").items():
            self._remember(key.split("/")[0], found)

    def _all(self, kind: str) -> dict[str, Manifest]:
        return {key: one for key, one in self.objects.items() if key.split("/")[1] == kind}

    def _roll(self, namespace: str, found: Manifest) -> None:
        """One round of a rolling update: start what fits, end what is no longer needed."""
        mark = fingerprint(found["spec"]["template"])
        pods = [pod for pod in self._pods(namespace) if owner_of(pod) == found["metadata"]["name"]]
        for _ in range(missing(found, pods, mark)):
            pods.append(self._start(namespace, found, mark))
        gone = surplus(found, pods, mark)
        for pod in gone:
            del self.objects[f"{namespace}/Pod/{pod['metadata']['name']}"]
        found["status"] = deployment_status(found, [pod for pod in pods if pod not in gone], mark, self.now())

    def _pods(self, namespace: str) -> list[Manifest]:
        return [pod for key, pod in self._all("Pod").items() if key.startswith(f"{namespace}/")]

    def _start(self, namespace: str, found: Manifest, mark: str) -> Manifest:
        self.serial += 1
        template, owner = found["spec"]["template"], found["metadata"]["name"]
        labels = {**template["metadata"]["labels"], HASH: mark}
        marked = {**template, "metadata": {**template["metadata"], "labels": labels}}
        replica_set = {
            "metadata": {"name": f"{owner}-{mark}", "labels": labels},
            "spec": {"template": marked},
        }
        self.objects[f"{namespace}/ReplicaSet/{owner}-{mark}"] = replica_set
        name = f"{owner}-{mark[:5]}-{self.serial:03d}"
        pod = {"metadata": {"name": name, "labels": labels}, "spec": template["spec"], "born": self.now()}
        pod["status"] = pod_status(pod, 0.0)
        self.objects[f"{namespace}/Pod/{name}"] = pod
        return pod

    def _remember(self, namespace: str, found: Manifest) -> None:
        service = found["metadata"]["name"]
        version = self.version(namespace, service)
        color = found["spec"]["selector"].get("color", "")
        told = [one for one in self.history if (one["namespace"], one["service"]) == (namespace, service)]
        if version and (not told or told[-1]["version"] != version):
            line = {
                "at": self.now(),
                "namespace": namespace,
                "service": service,
                "version": version,
                "color": color,
            }
            self.history = [*self.history, line][-HISTORY:]

    def services(self) -> dict[str, str]:
        """The namespace of each service, in the order of their making; a preview is none of its own."""
        names = [key.split("/") for key in self._all("Service") if not key.endswith("-preview")]
        return {service: namespace for namespace, _, service in names}

    def version(self, namespace: str, service: str) -> str | None:
        """The version that answers: that of the longest-serving pod behind the Service."""
        pods = self.behind(namespace, self.objects[f"{namespace}/Service/{service}"])
        return version_of(min(pods, key=lambda pod: pod["born"])) if pods else None


def is_ready(pod: Manifest) -> bool:
    return bool(pod["status"]["containerStatuses"][0]["ready"])


def version_of(pod: Manifest) -> str:
    return str(pod["spec"]["containers"][0]["image"]).partition("@")[0].rpartition(":")[2]


def owner_of(pod: Manifest) -> str:
    """The Deployment whose pod it is. Not by labels: a canary's pods carry those of its stable ones, too."""
    return str(pod["metadata"]["name"]).rsplit("-", 2)[0]


def fingerprint(template: Manifest) -> str:
    return hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]


def carries(pod: Manifest, mark: str) -> bool:
    return bool(pod["metadata"]["labels"][HASH] == mark)


def missing(found: Manifest, pods: list[Manifest], mark: str) -> int:
    """How many new pods may start now: a quarter more than wanted while old ones are there."""
    wanted: int = found["spec"]["replicas"]
    new = sum(carries(pod, mark) for pod in pods)
    room = wanted + math.ceil(wanted / 4) - len(pods) if new < len(pods) else wanted - new
    return max(0, min(room, wanted - new))


def surplus(found: Manifest, pods: list[Manifest], mark: str) -> list[Manifest]:
    """Pods that may go: beyond the size, old and sick, old and replaced by a ready one."""
    wanted = found["spec"]["replicas"]
    new = [pod for pod in pods if carries(pod, mark)]
    old = [pod for pod in pods if not carries(pod, mark)]
    spare = max(0, sum(map(is_ready, pods)) - wanted)
    sick = [pod for pod in old if not is_ready(pod)]
    well = [pod for pod in old if is_ready(pod)]
    return new[wanted:] + sick + well[:spare]


def patched(found: Manifest, operations: Operations) -> Manifest:
    """JSON patch, as far as a deployer needs it: `test` and `replace`."""
    new: Manifest = json.loads(json.dumps(found))
    for operation in operations:
        *way, last = operation["path"].strip("/").split("/")
        place = new
        for part in way:
            place = place[part]
        if operation["op"] == "test" and place.get(last) != operation["value"]:
            raise Permanent(
                f"The practice cluster refused the patch: {operation['path']} is {place.get(last)}."
            )
        place[last] = operation["value"]
    return new


def pod_status(pod: Manifest, age: float) -> Manifest:
    """A pod's condition by its age. By tag, `bad` cannot be pulled and `crash` falls over."""
    image = pod["spec"]["containers"][0]["image"]
    tag = version_of(pod)
    waiting = {"reason": "ContainerCreating"}
    if "bad" in tag and age > PULL:
        waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}
    if "crash" in tag and age > PULL:
        waiting = {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}
    ready = age > START + int(pod["metadata"]["name"][-3:]) % 3 * 0.3 and not ("bad" in tag or "crash" in tag)
    return {
        "phase": "Running" if ready else "Pending",
        "conditions": [{"type": "Ready", "status": str(ready)}],
        "containerStatuses": [{"ready": ready, "state": {"running": {}} if ready else {"waiting": waiting}}],
    }


def deployment_status(found: Manifest, pods: list[Manifest], mark: str, now: float) -> Manifest:
    new = [pod for pod in pods if carries(pod, mark)]
    late = now - found["changed"] > found["spec"].get("progressDeadlineSeconds", 600)
    done = len(new) == len(pods) == sum(map(is_ready, pods))
    return {
        "observedGeneration": found["metadata"]["generation"],
        "replicas": len(pods),
        "updatedReplicas": len(new),
        "availableReplicas": sum(map(is_ready, pods)),
        "conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]
        if late and not done
        else [],
    }
