"""What the objects of a service say: what serves, how far a rollout is, why pods do not come up. No I/O."""

from collections import Counter
from dataclasses import dataclass

from workers.builtin.kubernetes.manifests import COLORS, KEY, TRACK, Color, Part, main_image, tag
from workers.builtin.shared.cluster import Manifest


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
