"""Whose objects are these? What decides whether a service that others made may be taken over. No I/O."""

from typing import NoReturn

from workers.base import Permanent
from workers.builtin.kubernetes.manifests import Part, ServiceEntry, labels
from workers.builtin.kubernetes.rollout import image_of
from workers.builtin.shared.cluster import Manifest

KEEPERS = {
    "meta.helm.sh/release-name": "Helm",
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "argocd.argoproj.io/instance": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
}


def check_ours(service: str, part: Part, found: Manifest) -> None:
    """A Deployment that merely has our name would be overwritten by the first apply."""
    if not labels(service, part).items() <= found["metadata"].get("labels", {}).items():
        raise Permanent(
            f"The Deployment {service}-{part} was not made by Signoff: it does not carry the labels of that "
            "name, so it is left alone. Rename or remove it."
        )


def check_adoptable(service: str, entry: ServiceEntry, address: Manifest, found: Manifest | None) -> Manifest:
    """The Deployment behind a Service that others made, if it may be taken over; else a sentence why not."""
    if not entry.adopt:
        refuse(service, f"set adopt = true in [inventory.services.{service}] to let Signoff take it over")
    if found is None:
        refuse(service, f"there is no Deployment {service} to take over with it")
    for kind, one in (("Service", address), ("Deployment", found)):
        if who := keeper(one):
            refuse(service, f"the {kind} {service} is looked after by {who}, which would undo every deploy")
    selector = address["spec"].get("selector") or {}
    if not selector or not selector.items() <= found["spec"]["template"]["metadata"]["labels"].items():
        refuse(service, f"its selector does not choose the pods of the Deployment {service}")
    if repository(image_of(found)) != entry.image:
        refuse(
            service, f"the Deployment {service} runs {image_of(found)}, while signoff.toml says {entry.image}"
        )
    return found


def refuse(service: str, why: str) -> NoReturn:
    raise Permanent(f"The Service {service} was not made by Signoff, so it is left alone: {why}.")


def keeper(found: Manifest) -> str:
    """Who else looks after this object; empty when nobody says so."""
    metadata = found["metadata"]
    if owners := metadata.get("ownerReferences"):
        return f"{owners[0]['kind']} {owners[0]['name']}"
    marks = {**metadata.get("labels", {}), **metadata.get("annotations", {})}
    named = next((name for mark, name in KEEPERS.items() if mark in marks), "")
    return named or str(marks.get("app.kubernetes.io/managed-by", ""))


def repository(image: str) -> str:
    """`registry.example:5000/web`, of an image with tag, digest or both."""
    name = image.partition("@")[0]
    return name.rpartition(":")[0] if ":" in name.rpartition("/")[2] else name
