"""The practice cluster, spoken to over HTTP: the deployer works on it as on a real one."""

import http.client
import json
from typing import Any, cast
from urllib.parse import urlsplit

from workers.base import Permanent, Transient
from workers.builtin.shared.cluster import Manifest, Operations


class PracticeCluster:
    """One namespace of the practice cluster at this address."""

    def __init__(self, url: str, *, namespace: str = "default") -> None:
        self.url, self.namespace = url, namespace

    def get(self, kind: str, name: str) -> Manifest | None:
        return cast("Manifest | None", self._ask("get", kind=kind, name=name))

    def find(self, kind: str, labels: dict[str, str]) -> list[Manifest]:
        return cast("list[Manifest]", self._ask("find", kind=kind, labels=labels))

    def apply(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        return cast("Manifest", self._ask("apply", manifest=manifest, dry_run=dry_run))

    def patch(self, kind: str, name: str, operations: Operations, *, dry_run: bool = False) -> Manifest:
        asked = self._ask("patch", kind=kind, name=name, operations=operations, dry_run=dry_run)
        return cast("Manifest", asked)

    def scale(self, name: str, replicas: int, *, dry_run: bool = False) -> None:
        self._ask("scale", name=name, replicas=replicas, dry_run=dry_run)

    def logs(self, pod: str, container: str, *, lines: int) -> str:
        return cast("str", self._ask("logs", pod=pod, lines=lines))

    def may(self, verb: str, group: str, resource: str, part: str) -> bool:
        """It has no access rules; but it must be there."""
        self.find("Pod", {})
        return True

    def _ask(self, verb: str, **arguments: Any) -> Any:
        # Not urllib: it would send a loopback address through the proxy that the environment names.
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=10)
        try:
            path, headers = f"/cluster/{self.namespace}/{verb}", {"Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(arguments), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Transient(f"The practice cluster does not answer at {self.url}.") from error
        finally:
            connection.close()
        if response.status != 200:
            raise Permanent(answer["error"])
        return answer["result"]
