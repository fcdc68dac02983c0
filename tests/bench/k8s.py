"""How much longer a rolling deploy by Signoff takes than by kubectl, in one run: python -m tests.bench.k8s"""

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from tests.support.cluster.control_plane import control_plane
from tests.support.cluster.deploy_site import Site, real_site


def rolling_deploy_ratio(rounds: int = 5) -> dict[str, Any]:
    """Medians of interleaved rollouts of one service: ours, and `kubectl apply` with `rollout status`."""
    if not shutil.which("kubectl"):
        return {"skipped": "kubectl is not installed"}
    ours, theirs = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        control_plane(Path(folder)) as kubeconfig,
        real_site(kubeconfig, Path(folder), haste=1.0) as site,
    ):
        site.deploy("v1.0.0")
        by_hand(site, kubeconfig, "v1.0.0")
        for number in range(1, rounds + 1):
            ours.append(took(site.deploy, f"v1.{number}.0"))
            theirs.append(took(lambda version: by_hand(site, kubeconfig, version), f"v1.{number}.0"))
    figures = {"signoff_seconds": round(median(ours), 2), "kubectl_seconds": round(median(theirs), 2)}
    return {**figures, "ratio": round(median(ours) / median(theirs), 2)}


def took(act: Any, version: str) -> float:
    began = time.monotonic()
    act(version)
    return time.monotonic() - began


def by_hand(site: Site, kubeconfig: Path, version: str) -> None:
    """The same Deployment under another name, rolled out by kubectl."""
    found = site.cluster.get("Deployment", "web-blue") or {}
    text = json.dumps({key: found["spec"][key] for key in ("template", "strategy", "selector", "replicas")})
    spec = json.loads(text.replace('"app": "web"', '"app": "hand"'))
    spec["template"]["spec"]["containers"][0]["image"] = f"registry.example/web:{version}"
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "hand"}, "spec": spec}
    command = ["kubectl", "--kubeconfig", str(kubeconfig), "--namespace", site.namespace]
    subprocess.run(
        [*command, "apply", "-f", "-"], input=json.dumps(manifest), text=True, check=True, capture_output=True
    )
    subprocess.run([*command, "rollout", "status", "deployment/hand"], check=True, capture_output=True)


if __name__ == "__main__":
    print(rolling_deploy_ratio())  # noqa: T201 # a command
