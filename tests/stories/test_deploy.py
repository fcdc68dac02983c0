"""The README's story with real parts: Kubernetes' API server, PostgreSQL, pytest, through the workspace."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.support.cluster.deploy_site import Site, real_site
from tests.support.postgres import fresh_database
from tests.support.world import DEPLOY, World

pytest_plugins = ["tests.support.cluster.fixtures"]
pytestmark = [pytest.mark.k8s, pytest.mark.postgres]

OURS = """
[inventory.databases.auth_prod]
environment = "production"
kind = "postgres"
url_env = "AUTH_PROD_URL"
directory = "{home}/backups"

[inventory.services.auth-service]
cluster = "main"
environment = "production"
namespace = "{namespace}"
image = "registry.example/auth-service"
replicas = 2
port = 8080
min_ready_seconds = 0
database = "auth_prod"

[inventory.clusters.main]
kind = "kubernetes"
kubeconfig = "{kubeconfig}"
context = "admin"
"""


def on_real_parts(home: Path, site: Site) -> Callable[[str], str]:
    """The demo's configuration with a real cluster and a real database instead of the practice ones."""
    kubeconfig = site.home["kubeconfig"]
    ours = OURS.format(home=home, namespace=site.namespace, kubeconfig=kubeconfig)
    return lambda text: text.partition("[inventory.databases")[0] + ours


def people(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE users (id int PRIMARY KEY, name text)")
        connection.execute("INSERT INTO users SELECT n, 'user ' || n FROM generate_series(1, 500) AS n")


def restored(dump: Path, url: str) -> int:
    """How many users come back from the backup, by the tools alone."""
    text = subprocess.run(["gunzip", "-c", dump], capture_output=True, check=True).stdout
    subprocess.run(["pg_restore", "-d", url], input=text, check=True)
    with psycopg.connect(url) as connection:
        return int(connection.execute("SELECT count(*) FROM users").fetchone()[0])


def test_a_deploy_on_a_real_cluster_with_a_real_database(
    kubeconfig: Path, postgres: str, tmp_path: Path
) -> None:
    database, product = fresh_database(postgres), fresh_database(postgres)
    people(database)
    with real_site(kubeconfig, tmp_path / "before", service="auth-service") as site:
        site.scratch.mkdir()
        assert site.deploy("v2.1.3", "blue_green").status == "succeeded"
        home = tmp_path / "home"
        world = World(home, database_url=product, config=on_real_parts(home, site))
        world.use({"AUTH_PROD_URL": database})
        with world:
            world.asks(DEPLOY)
            world.until(lambda plan: plan.steps and not any(s.previewing for s in plan.steps), "the previews")
            seen = json.dumps(world.ann.sees("can approve")["blocks"])
            world.bob.clicks("approve")
            done = world.ends(patience=120)

            assert done.outcome == "succeeded", world.thread()
            assert set(site.reached()) == {"v2.1.4"}
            assert "v2.1.4" in seen
            assert any("auth_prod backed up" in text for text in world.thread())
        (dump,) = (home / "backups").glob("**/*.dump.gz")
        assert restored(dump, fresh_database(postgres)) == 500
        assert database not in (home / "signoff.toml").read_text()
