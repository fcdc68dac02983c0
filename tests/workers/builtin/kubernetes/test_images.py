"""Which image a version stands for: what a registry says, and what happens when it says nothing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.support.cluster.deploy_site import Crash, Site, Watched
from workers.base import Permanent, Transient
from workers.builtin.kubernetes.adoption import repository
from workers.builtin.kubernetes.images import digest, location
from workers.builtin.kubernetes.manifests import ServiceEntry, tag

pytest_plugins = ("tests.support.cluster.fixtures",)
ONE, TWO = "sha256:" + "1" * 64, "sha256:" + "2" * 64
NOWHERE = "http://127.0.0.1:9"


@dataclass
class Registry:
    """A registry on loopback, as far as the distribution API is needed to read a digest."""

    url: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    password: str = ""
    asked: list[str] = field(default_factory=list)


class Door(BaseHTTPRequestHandler):
    registry: Registry

    def do_HEAD(self) -> None:
        name, _, version = self.path.removeprefix("/v2/").partition("/manifests/")
        self.registry.asked.append(f"{name}:{version}")
        given = self.headers.get("Authorization", "")
        if self.registry.password and given != "Bearer let-me-in":
            realm = f'Bearer realm="{self.registry.url}/token",service="here",scope="repository:{name}:pull"'
            self.answer(401, {"WWW-Authenticate": realm})
        elif version not in self.registry.tags or "vnd.oci.image.index" not in self.headers["Accept"]:
            self.answer(404, {})
        else:
            self.answer(200, {"Docker-Content-Digest": self.registry.tags[version]})

    def do_GET(self) -> None:
        known = self.headers.get("Authorization") == "Basic dXNlcjpzZWNyZXQ=" and "scope=" in self.path
        self.answer(200 if known else 401, {}, b'{"token": "let-me-in"}' if known else b"{}")

    def answer(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serving(Registry(tags={"v1.0.0": ONE})) as found:
        yield found


@contextmanager
def serving(registry: Registry) -> Iterator[Registry]:
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Door,), {"registry": registry})) as server:
        registry.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()


def image(site: Site, name: str = "web-blue") -> str:
    found = site.cluster.get("Deployment", name) or {}
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"])


def test_a_tag_is_pinned_to_its_digest_where_the_inventory_asks_for_it(
    site: Site, registry: Registry
) -> None:
    site.entry |= {"resolve_digest": True, "registry": registry.url}

    report = site.deploy("v1.0.0")

    assert image(site) == f"registry.example/web:v1.0.0@{ONE}"
    assert (report.data.version, report.data.image) == ("v1.0.0", image(site))
    assert report.summary.startswith("web v1.0.0, its first version, on production")
    assert registry.asked == ["web:v1.0.0"]


@pytest.mark.parametrize("site", ["practice"], indirect=True)
def test_a_registry_is_not_asked_unless_the_inventory_says_so(site: Site, registry: Registry) -> None:
    site.entry["registry"] = registry.url

    site.deploy("v1.0.0")

    assert image(site) == "registry.example/web:v1.0.0"
    assert registry.asked == []


@pytest.mark.parametrize("site", ["practice"], indirect=True)
def test_a_registry_that_is_away_stops_nobody_who_did_not_ask_for_it(site: Site) -> None:
    site.entry |= {"resolve_digest": True, "registry": NOWHERE}

    report = site.deploy("v1.0.0")

    assert report.status == "succeeded", report.summary
    assert image(site) == "registry.example/web:v1.0.0"
    assert any("is not pinned to a digest: The registry did not answer" in text for text in site.said)


@pytest.mark.parametrize("site", ["practice"], indirect=True)
def test_a_required_digest_that_cannot_be_had_stops_the_deploy_before_it_begins(site: Site) -> None:
    site.entry |= {"require_digest": True, "registry": NOWHERE}

    with pytest.raises(Transient, match="The registry did not answer: connection refused"):
        site.deploy("v1.0.0")

    assert site.cluster.changes == []


@pytest.mark.parametrize("site", ["practice"], indirect=True)
def test_a_tag_that_moved_moves_the_basis_of_the_approval(site: Site, registry: Registry) -> None:
    site.entry |= {"resolve_digest": True, "registry": registry.url}
    shown = site.preview("deploy_service", version="v1.0.0")
    registry.tags["v1.0.0"] = TWO

    assert f"registry.example/web:v1.0.0@{ONE}" in shown.text
    assert site.preview("deploy_service", version="v1.0.0").basis != shown.basis


@pytest.mark.parametrize("site", ["practice"], indirect=True)
def test_a_resumed_deploy_and_a_rollback_keep_to_the_digest_though_the_tag_moved(
    site: Site, registry: Registry
) -> None:
    site.entry |= {"require_digest": True, "registry": registry.url}
    registry.tags["v1.1.0"] = TWO
    site.deploy("v1.0.0")
    record = site.before("v1.1.0")
    site.cluster = Watched(site.cluster.real, fail_after=1)
    with pytest.raises(Crash):
        site.deploy("v1.1.0", previous=record)
    registry.tags |= {"v1.0.0": "sha256:" + "3" * 64, "v1.1.0": "sha256:" + "4" * 64}
    site.deploy("v1.1.0", previous=record)
    resumed = image(site)
    site.rollback(previous=record)

    assert resumed == f"registry.example/web:v1.1.0@{TWO}"
    assert image(site) == f"registry.example/web:v1.0.0@{ONE}"


def entry(**more: Any) -> ServiceEntry:
    return ServiceEntry(cluster="here", image="registry.example/team/web", **more)


def test_a_registry_that_wants_a_token_gets_one(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.password = "secret"
    monkeypatch.setenv("REGISTRY_LOGIN", "user:secret")

    assert digest(entry(registry=registry.url, registry_auth_env="REGISTRY_LOGIN"), "v1.0.0") == ONE
    with pytest.raises(Transient, match=r"gave no digest of registry.example/team/web:v1.0.0 \(401\)"):
        digest(entry(registry=registry.url), "v1.0.0")


def test_a_tag_that_the_registry_does_not_have_is_named(registry: Registry) -> None:
    with pytest.raises(Permanent, match=r"The registry has no registry.example/team/web:v9"):
        digest(entry(registry=registry.url), "v9")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("registry.example/team/web", ("https://registry.example", "team/web")),
        ("localhost:5000/web", ("https://localhost:5000", "web")),
    ],
)
def test_a_registry_is_found_by_the_name_of_the_image(name: str, expected: tuple[str, str]) -> None:
    assert location(ServiceEntry(cluster="here", image=name)) == expected


def test_an_image_without_a_host_has_no_known_registry() -> None:
    with pytest.raises(Transient, match="No registry is known for team/web"):
        location(ServiceEntry(cluster="here", image="team/web"))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("r.example:5000/web:v1", ("r.example:5000/web", "v1")),
        (f"r.example/web:v1@{ONE}", ("r.example/web", "v1")),
        ("r.example:5000/web", ("r.example:5000/web", "latest")),
        (f"r.example/web@{ONE}", ("r.example/web", ONE)),
        ("", ("", "")),
    ],
)
def test_the_name_of_an_image_is_taken_apart(name: str, parts: tuple[str, str]) -> None:
    assert (repository(name), tag(name)) == parts
