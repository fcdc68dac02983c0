"""A node that only pretends: everything above the kubelet is genuine, this is the kubelet's part."""

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from workers.base import Permanent, Transient
from workers.builtin.shared.cluster import KubernetesCluster

NODE = "fake-0"
SAID = "starting\nusing password=s3cr3tvalue9\ncannot reach the database at db:5432\nexiting\n"


@contextmanager
def fake_node(kubeconfig: Path, certificates: Path) -> Iterator[None]:
    """Stands in for scheduler and kubelet: binds pods, makes them ready or sick, lets them go, keeps logs."""
    over = threading.Event()
    node = FakeNode(KubernetesCluster(namespace="default", kubeconfig=str(kubeconfig)))
    with ExitStack() as stack:
        port = stack.enter_context(log_server(certificates, node.images))
        thread = threading.Thread(target=node.live, args=(port, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def log_server(certificates: Path, images: dict[str, str]) -> Iterator[int]:
    """Where the API server fetches the logs of pods: /containerLogs/NAMESPACE/POD/CONTAINER."""

    class Kubelet(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            crashed = "crash" in images.get(self.path.split("/")[3], "")
            body = (SAID if crashed else "container is waiting to start").encode()
            self.send_response(200 if crashed else 400)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Kubelet) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


class FakeNode:
    """One node for all pods. By tag, `bad` cannot be pulled, `crash` falls over and `slow` takes its time."""

    def __init__(self, cluster: KubernetesCluster) -> None:
        self.cluster = cluster
        self.started: dict[str, float] = {}
        self.told: set[str] = set()
        self.images: dict[str, str] = {}

    def live(self, port: int, over: threading.Event) -> None:
        here = False
        while not over.wait(0.05):
            try:
                here = here or self.join(port)
                found = self.cluster.call("GET", "/api/v1/pods") or {}
            except Transient:
                continue  # an API server that has much to do; a node is patient
            for pod in found["items"]:
                self.tend(pod)

    def join(self, port: int) -> bool:
        with suppress(Permanent):  # a first try may have been taken without an answer
            self.cluster.call("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        content = "application/strategic-merge-patch+json"
        self.cluster.call("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": status}, content=content)
        return True

    def tend(self, pod: dict[str, Any]) -> None:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        try:
            self.advance(pod, path)
        except (Permanent, Transient):
            return  # the pod moved or went meanwhile; the next round sees it as it is

    def advance(self, pod: dict[str, Any], path: str) -> None:
        uid, image = pod["metadata"]["uid"], pod["spec"]["containers"][0]["image"]
        if pod["metadata"].get("deletionTimestamp"):
            self.cluster.call("DELETE", path, {"gracePeriodSeconds": 0})
        elif not pod["spec"].get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            self.cluster.call(
                "POST", f"{path}/binding", {"metadata": {"name": pod["metadata"]["name"]}, "target": target}
            )
        elif uid not in self.told and self.age(uid) > (5.0 if "slow" in image else 0.05):
            self.images[pod["metadata"]["name"]] = image
            body = {"status": status(pod, image, len(self.told) + 1)}
            self.cluster.call(
                "PATCH", f"{path}/status", body, content="application/strategic-merge-patch+json"
            )
            self.told.add(uid)

    def age(self, uid: str) -> float:
        return time.monotonic() - self.started.setdefault(uid, time.monotonic())


def status(pod: dict[str, Any], image: str, number: int) -> dict[str, Any]:
    """A kubelet's word on a pod."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    state = state_of(image, now)
    well = "running" in state
    ended = {"terminated": {"exitCode": 3, "startedAt": now, "finishedAt": now}} if "crash" in image else {}
    container = {
        "name": pod["spec"]["containers"][0]["name"],
        "image": image,
        "imageID": "",
        "ready": well,
        "restartCount": 1 if ended else 0,
        "state": state,
        "lastState": ended,
    }
    return {
        "phase": "Running" if well else "Pending",
        "podIP": f"10.244.{number // 250}.{number % 250 + 1}" if well else None,
        "hostIP": "127.0.0.1",
        "startTime": now,
        "conditions": [
            condition(kind, well, now) for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
        "containerStatuses": [container],
    }


def condition(kind: str, well: bool, now: str) -> dict[str, str]:
    holds = well or kind in ("PodScheduled", "Initialized")
    return {"type": kind, "status": str(holds), "lastTransitionTime": now}


def state_of(image: str, now: str) -> dict[str, Any]:
    if "bad" in image:
        message = f'Back-off pulling image "{image}"'
        return {"waiting": {"reason": "ImagePullBackOff", "message": message}}
    if "crash" in image:
        message = "back-off 40s restarting failed container"
        return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return {"running": {"startedAt": now}}
