"""What a deployer asks of a cluster: seven verbs over plain dicts, and the real cluster behind them."""

import json
import os
from collections.abc import Iterator
from typing import Any, NoReturn, Protocol

import urllib3

from workers.base import Permanent, Transient, missing

Manifest = dict[str, Any]
Operations = list[dict[str, Any]]

MANAGER = "signoff"
PATHS = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "Service": "/api/v1/namespaces/{}/services",
    # Not EndpointSlice: its version differs from server to server, while `endpoints` is the same in all.
    "Endpoints": "/api/v1/namespaces/{}/endpoints",
    "Pod": "/api/v1/namespaces/{}/pods",
}


class Cluster(Protocol):
    """One namespace of one cluster."""

    def get(self, kind: str, name: str) -> Manifest | None:
        """The object, or None when there is none of that name."""

    def find(self, kind: str, labels: dict[str, str]) -> list[Manifest]:
        """All objects that carry these labels."""

    def apply(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        """Make the object so. The manifest is whole: what it leaves out after an earlier apply is removed."""

    def patch(self, kind: str, name: str, operations: Operations, *, dry_run: bool = False) -> Manifest:
        """JSON patch; a `test` that does not hold is refused and nothing changes."""

    def scale(self, name: str, replicas: int, *, dry_run: bool = False) -> None:
        """Set the number of pods of a Deployment."""

    def logs(self, pod: str, container: str, *, lines: int) -> str:
        """The last lines of a container: of the run that ended, if there was one."""

    def may(self, verb: str, group: str, resource: str, part: str) -> bool:
        """Whether the cluster's access rules let us do this in the namespace."""


class KubernetesCluster:
    """A real cluster, through the official client; raw JSON, as its models cost time and give nothing."""

    def __init__(
        self,
        *,
        namespace: str,
        kubeconfig: str | None = None,
        context: str | None = None,
        in_cluster: bool = False,
        timeout: float = 10.0,
    ) -> None:
        if said := missing("kubernetes"):
            raise Permanent(said)
        from kubernetes import client, config  # half a second and 50 MB that a practice cluster does not need

        self.namespace = namespace
        self._timeout = timeout
        self._untrusted = client.ApiException  # the client raises it before an answer only when TLS fails
        settings = client.Configuration()
        # The deployer polls and knows what it may repeat; a hidden second try would only hide an outage.
        settings.retries = False
        try:
            if in_cluster:
                config.load_incluster_config(settings)  # type: ignore[no-untyped-call] # theirs
            else:
                config.load_kube_config(kubeconfig, context, settings, False)  # type: ignore[no-untyped-call] # theirs
        except (config.ConfigException, OSError) as error:
            source = "service account of this pod" if in_cluster else "kubeconfig"
            raise Permanent(f"The {source} cannot be used: {error}") from error
        self._api: Any = client.ApiClient(settings)

    def get(self, kind: str, name: str) -> Manifest | None:
        return self.call("GET", self._path(kind, name), missing_ok=True)

    def find(self, kind: str, labels: dict[str, str]) -> list[Manifest]:
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        found = self.call("GET", self._path(kind), query={"labelSelector": selector}) or {}
        return list(found["items"])

    def apply(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        path = self._path(manifest["kind"], manifest["metadata"]["name"])
        return self._patch(path, manifest, "application/apply-patch+yaml", dry_run)

    def patch(self, kind: str, name: str, operations: Operations, *, dry_run: bool = False) -> Manifest:
        return self._patch(self._path(kind, name), operations, "application/json-patch+json", dry_run)

    def scale(self, name: str, replicas: int, *, dry_run: bool = False) -> None:
        path = self._path("Deployment", name) + "/scale"
        self._patch(path, {"spec": {"replicas": replicas}}, "application/merge-patch+json", dry_run)

    def logs(self, pod: str, container: str, *, lines: int) -> str:
        path = self._path("Pod", pod) + "/log"
        query = {"tailLines": str(lines), **({"container": container} if container else {})}
        try:
            return self._text("GET", path, query={**query, "previous": "true"})
        except Permanent:  # no run of it has ended yet
            return self._text("GET", path, query=query)

    def may(self, verb: str, group: str, resource: str, part: str) -> bool:
        asked = {"namespace": self.namespace, "verb": verb, "group": group, "resource": resource}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": asked | ({"subresource": part} if part else {})},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        return bool((self.call("POST", path, review) or {})["status"]["allowed"])

    def _path(self, kind: str, name: str = "") -> str:
        return PATHS[kind].format(self.namespace) + (f"/{name}" if name else "")

    def _patch(self, path: str, body: Manifest | Operations, content: str, dry_run: bool) -> Manifest:
        query = {"fieldManager": MANAGER, **({"dryRun": "All"} if dry_run else {})}
        return self.call("PATCH", path, body, content=content, query=query) or {}

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: str = "application/json",
        query: dict[str, str] | None = None,
        missing_ok: bool = False,
    ) -> Manifest | None:
        """One request to the API server; its refusals become sentences."""
        text = self._text(method, path, body, content=content, query=query, missing_ok=missing_ok)
        found: Manifest | None = json.loads(text) if text else None
        return found

    def _text(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: str = "application/json",
        query: dict[str, str] | None = None,
        missing_ok: bool = False,
    ) -> str:
        request = self._api.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params={"Accept": "application/json, */*", "Content-Type": content},
            body=body,
            auth_settings=["BearerToken"],
        )
        status, headers, text = self._send(request)
        if status == 404 and missing_ok:
            return ""
        if status >= 300:
            refuse(method, path, status, headers.get("Retry-After"), text)
        return text

    def _send(self, request: tuple[Any, ...]) -> tuple[int, Any, str]:
        try:
            response = self._api.call_api(*request, _request_timeout=self._timeout)
            return response.status, response.headers, response.read().decode(errors="replace")
        except self._untrusted as error:
            raise Permanent(f"The cluster's certificate is not accepted: {error.reason}") from error
        except urllib3.exceptions.HTTPError as error:
            raise Transient(f"The cluster does not answer ({type(error).__name__}).") from error


def packages(inventory: dict[str, dict[str, dict[str, Any]]]) -> Iterator[str]:
    """What looking at the clusters of this inventory takes; a practice cluster takes nothing."""
    if any(home.get("kind") == "kubernetes" for home in inventory.get("clusters", {}).values()):
        yield "kubernetes"


def real_cluster(name: str, home: dict[str, Any], namespace: str) -> KubernetesCluster:
    """The cluster that an entry of `[inventory.clusters.*]` with kind = "kubernetes" stands for."""
    if home.get("in_cluster") is True:
        return KubernetesCluster(namespace=namespace, in_cluster=True)
    return KubernetesCluster(
        namespace=namespace, kubeconfig=kubeconfig(name, home), context=home.get("context")
    )


def kubeconfig(name: str, home: dict[str, Any]) -> str | None:
    """The file that the entry names; None for the usual place, but only when it names none."""
    variable = home.get("kubeconfig_env")
    if variable and not os.environ.get(variable):
        raise Permanent(
            f"[inventory.clusters.{name}] reads its kubeconfig from {variable}, which is not set."
        )
    return os.environ[variable] if variable else home.get("kubeconfig")


def refuse(method: str, path: str, status: int, after: str | None, text: str) -> NoReturn:
    """Raise what a refused request means: worth another try, or not, and why."""
    body = read_status(text)
    message = body["message"]
    if status == 429 or status >= 500:
        raise Transient(f"The cluster is busy or broken ({status}): {message}", after=seconds(after))
    if status == 401:
        raise Permanent(
            "The cluster does not accept Signoff's credentials (401). Renew the kubeconfig's user."
        )
    if status == 403:
        raise Permanent(
            f"Signoff may not {method.lower()} {resource(path)}: the cluster's access rules forbid it. "
            f"Let a Role allow it. The cluster says: {message}"
        )
    if status == 409:
        refuse_conflict(path, body)
    raise Permanent(f"The cluster refused to {method.lower()} {resource(path)} ({status}): {message}")


def refuse_conflict(path: str, body: Manifest) -> NoReturn:
    """A field that somebody else manages is theirs; any other conflict is a race that the next try wins."""
    causes = [c for c in body["details"].get("causes", []) if c.get("reason") == "FieldManagerConflict"]
    if not causes:
        raise Transient(f"The cluster changed {resource(path)} at the same moment: {body['message']}")
    owned = "; ".join(f"{cause['message']}: {cause.get('field', '?')}" for cause in causes)
    raise Permanent(
        f"Somebody else manages part of {resource(path)}, and Signoff does not overwrite it: {owned}."
    )


def read_status(text: str) -> Manifest:
    """The API server's Status object; a proxy in between may answer something else."""
    try:
        body = json.loads(text)
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    return {"message": str(body.get("message") or text[:200]), "details": body.get("details") or {}}


def resource(path: str) -> str:
    """`deployments/auth-service-blue in namespace prod`, from an API path."""
    _, found, rest = path.partition("/namespaces/")
    namespace, _, name = rest.partition("/")
    return f"{name} in namespace {namespace}" if found and name else path


def seconds(header: str | None) -> float | None:
    return float(header) if header and header.isdigit() else None
