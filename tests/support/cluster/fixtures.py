"""Clusters as fixtures: one control plane for all tests; a namespace, or a practice cluster, for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster.control_plane import control_plane, practice_here
from tests.support.cluster.deploy_site import Site, real_site

PRACTICE, KUBERNETES = "practice", pytest.param("kubernetes", marks=pytest.mark.k8s)


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with control_plane(tmp_path_factory.mktemp("control-plane")) as path:
        yield path


@pytest.fixture
def practice(tmp_path: Path) -> Iterator[str]:
    with practice_here(tmp_path / "practice.json", pace=20) as url:
        yield url


@pytest.fixture(params=[PRACTICE, KUBERNETES])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """One service on a cluster of either kind."""
    if request.param == PRACTICE:
        url = request.getfixturevalue("practice")
        yield Site({"kind": "practice", "url": url}, "default", tmp_path)
        return
    with real_site(request.getfixturevalue("kubeconfig"), tmp_path) as found:
        yield found
