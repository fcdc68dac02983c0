"""What Signoff asks of a cluster: each verb on each resource; docs/deploy/kubernetes.yml gives just these."""

from typing import NamedTuple

from workers.base import Permanent
from workers.builtin.shared.cluster import Cluster


class Right(NamedTuple):
    """`patch deployments/scale in apps`."""

    verb: str
    group: str
    resource: str
    part: str = ""

    def __str__(self) -> str:
        where = f" in {self.group}" if self.group else ""
        return f"{self.verb} {'/'.join(filter(None, (self.resource, self.part)))}{where}"


# An apply is a patch, and of what is not there yet also a create.
NEEDED = (
    Right("get", "apps", "deployments"),
    Right("create", "apps", "deployments"),
    Right("patch", "apps", "deployments"),
    Right("patch", "apps", "deployments", "scale"),
    Right("list", "apps", "replicasets"),
    Right("get", "", "services"),
    Right("create", "", "services"),
    Right("patch", "", "services"),
    Right("get", "", "endpoints"),
    Right("list", "", "pods"),
)
# Without it a failed deploy is told without what its pod last said.
WANTED = (Right("get", "", "pods", "log"),)


def lacking(cluster: Cluster, rights: tuple[Right, ...] = NEEDED) -> list[Right]:
    return [right for right in rights if not cluster.may(*right)]


def demand(cluster: Cluster, namespace: str) -> None:
    """Before anybody approves: everything that a change and its way back will use."""
    if missing := lacking(cluster):
        raise Permanent(
            f"In namespace {namespace} Signoff may not {', '.join(map(str, missing))}: the change, or its "
            "way back, would fail halfway. Let a Role allow it (docs/deploy/kubernetes.yml)."
        )
