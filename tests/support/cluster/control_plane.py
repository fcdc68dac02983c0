"""Clusters for tests: a real Kubernetes control plane whose node only pretends, and the practice cluster.

Not named after Kubernetes: pytest puts this folder on the path, where it would hide the client library.
"""

import os
import secrets
import shutil
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cluster.fake_node import fake_node
from tests.support.ports import ports
from workers.practice.__main__ import Handler, Practice

CONTROLLERS = "deployment,replicaset,endpoint,endpointslice,garbagecollector,namespace,serviceaccount"


def assets() -> Path:
    """Where the binaries are. Who has none goes without the test, and is told; a wrong folder is an error."""
    folder = os.environ.get("KUBEBUILDER_ASSETS", "")
    if not folder:
        pytest.skip("NOT TESTED against a real Kubernetes: KUBEBUILDER_ASSETS is not set")
    if not (Path(folder) / "kube-apiserver").exists():
        pytest.fail(
            f"KUBEBUILDER_ASSETS is {folder}, which has no etcd, kube-apiserver and controller manager"
        )
    return Path(folder)


@contextmanager
def control_plane(directory: Path) -> Iterator[Path]:
    """Start everything, yield the kubeconfig (contexts `admin` and `limited`), and end everything."""
    binaries = assets()
    peers, clients, api, manager = range(first := ports(4), first + 4)
    tokens = {"admin": secrets.token_hex(16), "limited": secrets.token_hex(16)}
    write_credentials(directory, tokens)
    with ExitStack() as stack:

        def start(*argv: str) -> None:
            stack.enter_context(running(binaries / argv[0], argv[1:], directory))

        start("etcd", *etcd_arguments(clients, peers))
        start("kube-apiserver", *apiserver_arguments(clients, api))
        until(lambda: ready(api, directory, tokens["admin"]), "the API server is ready")
        kubeconfig = write_kubeconfig(directory, api, tokens)
        start("kube-controller-manager", *controller_arguments(kubeconfig, manager))
        stack.enter_context(fake_node(kubeconfig, directory / "certs"))
        yield kubeconfig


@contextmanager
def practice_cluster(
    state: Path, *seeds: str, pace: float = 1.0
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The practice cluster as a process of its own: its address and the child."""
    command = [
        sys.executable,
        "-m",
        "workers.practice",
        "--port",
        "0",
        "--state",
        str(state),
        "--pace",
        str(pace),
    ]
    seeding = [word for seed in seeds for word in ("--seed", seed)]
    with subprocess.Popen([*tied(), *command, *seeding], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            yield "http://" + child.stdout.readline().strip().partition("http://")[2], child
        finally:
            child.kill()


@contextmanager
def practice_here(state: Path, *, pace: float) -> Iterator[str]:
    """The practice cluster in a thread of this process: an empty one for each test costs nothing."""
    handler = type("Own", (Handler,), {"practice": Practice(state, [], pace)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def tied() -> list[str]:
    """Prefix of a command that shall end when this process is killed."""
    return ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []


def etcd_arguments(port: int, peer: int) -> list[str]:
    here, there = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    return [
        "--data-dir=etcd",
        "--unsafe-no-fsync",
        f"--listen-client-urls={here}",
        f"--advertise-client-urls={here}",
        f"--listen-peer-urls={there}",
        f"--initial-advertise-peer-urls={there}",
        f"--initial-cluster=default={there}",
    ]


def apiserver_arguments(etcd: int, port: int) -> list[str]:
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        "--insecure-port=0",
        "--cert-dir=certs",
        "--token-auth-file=tokens.csv",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=sa.key",
        "--service-account-signing-key-file=sa.key",
        "--disable-admission-plugins=ServiceAccount",
        "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
    ]


def controller_arguments(kubeconfig: Path, port: int) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--port=0",
        "--service-account-private-key-file=sa.key",
        "--cert-dir=kcm",
        f"--controllers={CONTROLLERS}",
    ]


@contextmanager
def running(program: Path, arguments: tuple[str, ...], directory: Path) -> Iterator[None]:
    """A child that ends with the block, and with this process should that be killed."""
    with (directory / f"{program.name}.log").open("wb") as log:
        child = subprocess.Popen(
            [*tied(), str(program), *arguments],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            yield
        finally:
            child.kill()
            child.wait()


def until(condition: Callable[[], Any], what: str, *, within: float = 60.0) -> Any:
    """Poll, bounded; the failure says what never became true."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    pytest.fail(f"After {within:.0f} s it is still not so that {what}.")


def ready(port: int, directory: Path, token: str) -> bool:
    certificate = directory / "certs" / "apiserver.crt"
    if not certificate.exists():
        return False
    request = urllib.request.Request(
        f"https://127.0.0.1:{port}/readyz", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        trust = ssl.create_default_context(cafile=str(certificate))
        with urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        ).open(request, timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def write_credentials(directory: Path, tokens: dict[str, str]) -> None:
    subprocess.run(
        ["openssl", "genrsa", "-out", "sa.key", "2048"], cwd=directory, check=True, capture_output=True
    )
    lines = [f"{tokens['admin']},admin,admin,system:masters", f"{tokens['limited']},limited,limited"]
    (directory / "tokens.csv").write_text("\n".join(lines) + "\n")
    (directory / "tokens.csv").chmod(0o600)


def write_kubeconfig(directory: Path, port: int, tokens: dict[str, str]) -> Path:
    authority = str(directory / "certs" / "apiserver.crt")
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": authority}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}} for name, token in tokens.items()],
        "contexts": [{"name": name, "context": {"cluster": "test", "user": name}} for name in tokens],
        "current-context": "admin",
    }
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    path.chmod(0o600)
    return path
