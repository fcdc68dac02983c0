"""A service as objects of a cluster. No I/O.

A service is a Service and up to four Deployments: blue and green, of which the Service's selector names the
one that serves, and a canary of each, whose pods carry the same colour and so share its traffic.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from workers.builtin.shared.cluster import Manifest

Color = Literal["blue", "green"]
Part = Literal["blue", "green", "blue-canary", "green-canary"]
COLORS: tuple[Color, Color] = ("blue", "green")
CANARIES: dict[Color, Part] = {"blue": "blue-canary", "green": "green-canary"}
PARTS: tuple[Part, ...] = (*COLORS, *CANARIES.values())
Percent = Annotated[int, Field(ge=1, le=90)]

KEY, PREVIOUS = "signoff.dev/key", "signoff.dev/previous"
ADOPTED = "signoff.dev/adopted"  # the uid of the Deployment that this one replaces
RESTARTED = "signoff.dev/restarted"
TRACK = "track"


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
    min_ready_seconds: int = Field(default=1, ge=0)
    keep_old_seconds: int = Field(default=0, ge=0)
    canary_percent: tuple[Percent, ...] = Field(default=(20, 50), min_length=1)
    canary_seconds: int = Field(default=10, ge=0)
    smoke_url: str = ""  # may hold {service} and {namespace}; it should lead to the Service SERVICE-preview
    smoke_tries: int = Field(default=3, ge=1)
    adopt: bool = False
    resolve_digest: bool = False
    require_digest: bool = False
    registry: str = ""  # where the registry answers, if not at https:// and the image's own host
    registry_auth_env: str = ""


def other(color: Color) -> Color:
    return "green" if color == "blue" else "blue"


def color_of(part: Part) -> Color:
    return "blue" if part.startswith("blue") else "green"


def labels(service: str, part: Part) -> dict[str, str]:
    track = {TRACK: "canary"} if part in CANARIES.values() else {}
    return {"app": service, "color": color_of(part), **track}


def tag(image: str) -> str:
    """The version in an image's name, be there a digest behind it or not; a bare name means `latest`."""
    name, _, digest = image.rpartition("/")[2].partition("@")
    return name.rpartition(":")[2] if ":" in name else digest or (name and "latest")


def main_image(pod_spec: Manifest) -> str:
    return str(pod_spec["containers"][0]["image"])


def deployment(
    service: str,
    part: Part,
    entry: ServiceEntry,
    image: str,
    notes: dict[str, str],
    base: Manifest | None = None,
) -> Manifest:
    """The whole manifest, but for `replicas`: size is set by `scale`, so an autoscaler may own it.

    `base` is the pod template that serves now. What it holds beyond the inventory (variables, volumes)
    goes on to the new pods: an apply that leaves a field out removes it.
    """
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": f"{service}-{part}",
            "labels": labels(service, part),
            "annotations": notes,
        },
        "spec": {
            "selector": {"matchLabels": labels(service, part)},
            "progressDeadlineSeconds": entry.progress_deadline,
            "minReadySeconds": entry.min_ready_seconds,
            "revisionHistoryLimit": 5,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}},
            "template": template(service, part, entry, image, base or {}),
        },
    }


def template(service: str, part: Part, entry: ServiceEntry, image: str, base: Manifest) -> Manifest:
    metadata, spec = base.get("metadata", {}), base.get("spec", {})
    inherited = {name: value for name, value in metadata.get("labels", {}).items() if name != TRACK}
    notes = {"annotations": metadata["annotations"]} if metadata.get("annotations") else {}
    first, *rest = spec.get("containers") or [{}]
    return {
        "metadata": {"labels": {**inherited, **labels(service, part)}, **notes},
        "spec": {**spec, "containers": [container(service, entry, image, first), *rest]},
    }


def container(service: str, entry: ServiceEntry, image: str, base: Manifest) -> Manifest:
    """What serves now wins over our defaults; a port that the inventory names wins over what serves now."""
    listens = {"ports": [{"containerPort": entry.port, "protocol": "TCP"}]}
    probe = {"readinessProbe": {"tcpSocket": {"port": entry.port}}}
    made = {"name": service, **listens, **probe, **base, "image": image}
    if "port" in entry.model_fields_set:
        made |= listens
        if "tcpSocket" in made["readinessProbe"]:
            made |= probe
    return made


def address(name: str, selector: dict[str, str], entry: ServiceEntry) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": {"app": selector["app"]}},
        "spec": {
            "selector": selector,
            "ports": [{"port": entry.port, "targetPort": entry.port, "protocol": "TCP"}],
        },
    }


def switch(old: dict[str, str], new: dict[str, str]) -> list[dict[str, Any]]:
    """Move all traffic, unless somebody else moved it first."""
    path = "/spec/selector"
    return [{"op": "test", "path": path, "value": old}, {"op": "replace", "path": path, "value": new}]
