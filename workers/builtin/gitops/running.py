"""Whether the cluster runs a version, whoever brought it there: looked at until it does, or cannot."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workers.base import Permanent, Transient
from workers.builtin.shared import deployments
from workers.builtin.shared.cluster import Cluster, Manifest

EVERY = 1.0


@dataclass(frozen=True)
class Running:
    """One Deployment that somebody else keeps in the state of a repository."""

    cluster: Cluster
    name: str
    image: str
    patience: float
    pause: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = lambda text: None
    cancelled: Callable[[], bool] = lambda: False

    def version(self) -> str:
        """What it is told to run; "" where it is not there."""
        found = self.cluster.get("Deployment", self.name)
        return tag(self._image(found)) if found else ""

    def wait(self, version: str) -> tuple[str, int]:
        """Until all its pods run that version: its words, and how many there are."""
        until, said = time.monotonic() + self.patience, ""
        while True:
            text, done = self._look(version)
            if done is not None:
                return text, done
            if self.cancelled():
                raise Permanent(f"Stopped while waiting: {text}.")
            if time.monotonic() > until:
                raise Permanent(f"After {self.patience:.0f} s {text}.")
            if text != said:
                self.say(text)
            said = text
            self.pause(EVERY)

    def _look(self, version: str) -> tuple[str, int | None]:
        try:
            found = self.cluster.get("Deployment", self.name)
            if found is None:
                return f"there is no Deployment {self.name} yet", None
            if (runs := tag(self._image(found))) != version:
                return f"the cluster is still told to run {runs or 'nothing'}", None
            state = deployments.progress(found)
            if state.state == "done":
                return state.text, int(found["spec"].get("replicas", 1))
            self._check_hope(found, state)
        except Transient as error:
            return str(error), None
        return state.text, None

    def _check_hope(self, found: Manifest, state: deployments.Progress) -> None:
        """Raises what waiting will not mend."""
        labels = found["spec"]["selector"].get("matchLabels", {})
        mark = deployments.newest(found, self.cluster.find("ReplicaSet", labels))
        pods = self.cluster.find("Pod", {**labels, deployments.HASH: mark}) if mark else []
        if cause := deployments.trouble(pods):
            raise Permanent(f"Its pods do not come up: {cause.text}")
        if state.state == "failed":
            raise Permanent(f"{state.text}{deployments.unplaced(pods)}")

    def _image(self, found: Manifest) -> str:
        """Of the container that has our image; of the first where none is named."""
        containers: list[dict[str, Any]] = found["spec"]["template"]["spec"]["containers"]
        images = [str(one["image"]) for one in containers]
        ours = [one for one in images if self.image and one.startswith((f"{self.image}:", f"{self.image}@"))]
        return next(iter(ours), images[0] if len(images) == 1 else "")


def tag(image: str) -> str:
    name, _, _ = image.rpartition("/")[2].partition("@")
    return name.rpartition(":")[2] if ":" in name else ""
