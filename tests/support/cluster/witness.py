"""Those who look on while a service is deployed: a watcher of its traffic, a client of its preview."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import urllib3
import yaml

from tests.support.cluster.deploy_site import Site, sampling

END = "the-end"


@dataclass
class Seen:
    """How many pods each state of the endpoints reached, and each selector that the Service had."""

    reached: list[int] = field(default_factory=list)
    selectors: list[dict[str, str]] = field(default_factory=list)

    @property
    def switches(self) -> int:
        return sum(old != new for old, new in zip(self.selectors, self.selectors[1:], strict=False))


@contextmanager
def watching(site: Site) -> Iterator[Seen]:
    """Every change, by the API server's own watch; a practice cluster, which has none, is looked at."""
    seen = Seen()
    if site.home["kind"] == "practice":
        with sampling(lambda: look(site, seen)):
            yield seen
        return
    streams = [threading.Thread(target=follow, args=(site, kind, seen)) for kind in ("endpoints", "services")]
    for one in streams:
        one.start()
    try:
        yield seen
    finally:
        # Events come in order: whoever has seen this one has seen all before it.
        port = {"port": 1, "protocol": "TCP"}
        path = f"/api/v1/namespaces/{site.namespace}"
        last = {"metadata": {"name": f"{END}-{site.service}"}}
        site.admin().call("POST", f"{path}/services", {**last, "spec": {"ports": [port]}})
        site.admin().call("POST", f"{path}/endpoints", last)
        for one in streams:
            one.join()


def look(site: Site, seen: Seen) -> None:
    note(seen, "Endpoints", site.cluster.get("Endpoints", site.service) or {})
    note(seen, "Service", site.cluster.get("Service", site.service) or {"spec": {}})


def follow(site: Site, kind: str, seen: Seen) -> None:
    """The API server's stream of changes, until the last one."""
    config = yaml.safe_load(Path(site.home["kubeconfig"]).read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    url = f"{cluster['server']}/api/v1/namespaces/{site.namespace}/{kind}?watch=true"
    with urllib3.PoolManager(ca_certs=cluster["certificate-authority"], timeout=120) as pool:
        headers = {"Authorization": f"Bearer {user['token']}"}
        response = pool.request("GET", url, headers=headers, preload_content=False)
        for line in lines(response):
            found = json.loads(line)["object"]
            if found["metadata"]["name"] == f"{END}-{site.service}":
                break
            if found["metadata"]["name"] == site.service:
                note(seen, found["kind"], found)
        response.close()


def lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    while chunk := response.read1(65536):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def note(seen: Seen, kind: str, found: dict[str, Any]) -> None:
    if kind == "Service":
        seen.selectors.append(found["spec"].get("selector") or {})
    else:
        subsets = found.get("subsets") or []
        seen.reached.append(sum(len(one.get("addresses") or []) for one in subsets))


@contextmanager
def preview_client(site: Site) -> Iterator[tuple[str, list[set[str]]]]:
    """An address that answers as the pods behind SERVICE-preview would, and the versions of those each time.

    By tag, `broken` answers 500 though it is ready.
    """
    asked: list[set[str]] = []

    class Client(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            versions = set(site.reached(f"{site.service}-preview"))
            asked.append(versions)
            well = bool(versions) and not any("broken" in version for version in versions)
            body = b"fine" if well else b"the queue is missing"
            self.send_response(200 if well else 500)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Client) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/healthz", asked
        finally:
            server.shutdown()
            thread.join()
