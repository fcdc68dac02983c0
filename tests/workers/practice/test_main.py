"""The practice cluster, as a process of its own."""

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from tests.support.cluster.control_plane import practice_cluster, until
from tests.support.cluster.deploy_site import Site
from workers.base import Permanent
from workers.builtin.kubernetes.practice_cluster import PracticeCluster
from workers.practice.metrics import errors

SEED = "auth-service=v2.1.3"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "practice.json"


@pytest.fixture
def practice(state: Path) -> Iterator[str]:
    with practice_cluster(state, SEED) as (url, _):
        yield url


def fetch(url: str, *, body: bytes | None = None) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        request = urllib.request.Request(url, data=body)  # noqa: S310 # the cluster's own http address
        with opener.open(request, timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def site_at(url: str, scratch: Path) -> Site:
    return Site({"kind": "practice", "url": url}, "default", scratch, service="auth-service")


def test_a_seeded_service_answers_at_once(practice: str) -> None:
    status, text = fetch(f"{practice}/version")

    assert (status, json.loads(text)) == (200, {"service": "auth-service", "version": "v2.1.3"})


def test_the_page_shows_the_live_version_and_says_that_nothing_is_real(practice: str) -> None:
    status, text = fetch(practice)

    assert status == 200
    assert "<h1>v2.1.3</h1>" in text
    assert "practice cluster — nothing real is deployed here" in text
    assert text.count('class="pod ready"') == 2


@pytest.mark.parametrize("path", ["/payments", "/version/payments"])
def test_an_unknown_service_is_answered_with_a_sentence(practice: str, path: str) -> None:
    status, text = fetch(practice + path)

    assert status == 404
    assert text == "The practice cluster runs no service named 'payments'. It runs: auth-service.\n"


def test_an_empty_cluster_says_so(state: Path) -> None:
    with practice_cluster(state) as (url, _):
        status, text = fetch(url)

    assert status == 404
    assert text == "The practice cluster runs no service yet.\n"


def test_a_foreign_page_cannot_change_anything(practice: str) -> None:
    status, _ = fetch(
        f"{practice}/cluster/default/scale", body=b'{"name": "auth-service-blue", "replicas": 0}'
    )

    assert status == 404
    assert len(PracticeCluster(practice).find("Pod", {"app": "auth-service"})) == 2


def test_a_request_that_makes_no_sense_is_refused_with_a_sentence(practice: str) -> None:
    with pytest.raises(Permanent, match="no Deployment nothing in namespace default"):
        PracticeCluster(practice).scale("nothing", 2)


def test_the_page_follows_a_deploy_and_keeps_its_history(practice: str, tmp_path: Path) -> None:
    report = site_at(practice, tmp_path).deploy("v2.1.4", "blue_green")
    _, text = fetch(practice)

    assert report.summary.startswith("auth-service v2.1.3 → v2.1.4 on production, blue-green, 2/2 ready")
    assert "<h1>v2.1.4</h1>" in text
    assert text.index("v2.1.4 went live on green") < text.index("v2.1.3 went live on blue")
    assert json.loads(fetch(f"{practice}/version")[1])["version"] == "v2.1.4"


def test_a_bad_image_shows_on_the_page(practice: str, tmp_path: Path) -> None:
    site_at(practice, tmp_path).deploy("v2.1.5-bad")
    _, text = fetch(f"{practice}/auth-service")

    assert "<h1>v2.1.3</h1>" in text
    assert "ImagePullBackOff" in text


@pytest.mark.crash
def test_a_killed_cluster_goes_on_where_it_would_be(state: Path) -> None:
    with practice_cluster(state, SEED) as (url, child):
        PracticeCluster(url).scale("auth-service-blue", 3)
        kill(child)
    with practice_cluster(state, "auth-service=v9.9.9") as (url, _):
        until(lambda: fetch(url)[1].count('class="pod ready"') == 3, "the third pod is ready", within=10)

        assert json.loads(fetch(f"{url}/version")[1])["version"] == "v2.1.3"


def kill(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.wait()


def test_its_metrics_are_fourteen_days_of_which_the_last_are_worse() -> None:
    rows = errors(date(2026, 11, 16))

    assert (rows[0]["day"], rows[-1]["day"]) == ("2026-11-02", "2026-11-15")
    assert sum(int(row["errors"]) for row in rows[7:]) > sum(int(row["errors"]) for row in rows[:7])


def test_its_hook_takes_messages_and_shows_them(practice: str) -> None:
    told = urllib.request.Request(  # noqa: S310 # the cluster's own http address
        f"{practice}/hook", b'{"text": "v2.1.5 is in production"}', {"Content-Type": "application/json"}
    )
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(told, timeout=5).close()

    assert fetch(f"{practice}/hook") == (200, "v2.1.5 is in production\n")
    assert fetch(f"{practice}/hook", body=b"{}")[0] == 404
