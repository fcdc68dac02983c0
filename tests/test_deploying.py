"""docs/deploy is what can be run: its commands, settings and objects exist."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config, utils
from pydantic_settings import BaseSettings

from bot.__main__ import parser
from bot.config import BotSettings
from storage.monitoring.health import HealthSettings
from workers.__main__ import WorkersSettings

pytest_plugins = ("tests.support.cluster.fixtures",)
DOCS = Path(__file__).parents[1] / "docs"
COMPOSE = yaml.safe_load((DOCS / "deploy/docker-compose.yml").read_text("utf-8"))["services"]
OBJECTS = [*yaml.safe_load_all((DOCS / "deploy/kubernetes.yml").read_text("utf-8"))]
PODS = {
    found["metadata"]["name"]: found["spec"]["template"]["spec"]
    for found in OBJECTS
    if found["kind"] == "Deployment"
}
READS: dict[str, tuple[type[BaseSettings], ...]] = {
    "bot": (BotSettings, HealthSettings),
    "workers": (WorkersSettings, HealthSettings),
}


def variables(settings: type[BaseSettings]) -> set[str]:
    prefix = settings.model_config["env_prefix"]
    return {f"{prefix}{name}".upper() for name in settings.model_fields}


def container(part: str) -> dict[str, Any]:
    (found,) = PODS[f"signoff-{part}"]["containers"]
    return found | {"environment": {one["name"]: one["value"] for one in found["env"]}}


def services() -> list[Any]:
    both = [(f"{kind}-{part}", part, found) for part in READS
            for kind, found in (("compose", COMPOSE[part]), ("kubernetes", container(part)))]  # fmt: skip
    return [pytest.param(part, found, id=name) for name, part, found in both]


@pytest.mark.parametrize(("part", "service"), services())
def test_its_command_is_one_of_ours(part, service):
    command = service["command"]

    if part == "bot":
        assert command[0] == "signoff"
        assert parser().parse_args(command[1:]).command == "bot"
    else:
        assert command == ["python", "-P", "-m", "workers"]


@pytest.mark.parametrize(("part", "service"), services())
def test_every_setting_is_one_that_is_read(part, service):
    ours = {name for name in service["environment"] if name.startswith("SIGNOFF_")}
    known = set().union(*(variables(settings) for settings in READS[part]))

    assert "SIGNOFF_HEALTH_PORT" in ours
    assert ours <= known


def test_each_part_gets_the_database_and_its_own_secrets_only():
    given = {part: [one["secretRef"]["name"] for one in container(part)["envFrom"]] for part in READS}

    assert given == {part: ["signoff-database", f"signoff-{part}"] for part in READS}
    assert (COMPOSE["bot"]["env_file"], COMPOSE["workers"]["env_file"]) == ("bot.env", "workers.env")


def test_a_worker_has_longer_to_end_than_it_drains():
    compose, pod = COMPOSE["workers"], PODS["signoff-workers"]
    grace = float(re.fullmatch(r"(\d+)s", compose["stop_grace_period"])[1])

    assert grace > float(compose["environment"]["SIGNOFF_DRAIN"])
    assert pod["terminationGracePeriodSeconds"] > float(container("workers")["environment"]["SIGNOFF_DRAIN"])


@pytest.mark.parametrize("part", READS)
def test_the_probes_ask_where_the_process_answers(part):
    found = container(part)
    ports = {port["name"]: str(port["containerPort"]) for port in found["ports"]}
    asked = [found[probe]["httpGet"] for probe in ("livenessProbe", "readinessProbe")]

    assert [probe["path"] for probe in asked] == ["/healthz", "/readyz"]
    assert {ports[probe["port"]] for probe in asked} == {found["environment"]["SIGNOFF_HEALTH_PORT"]}
    assert found["environment"]["SIGNOFF_HEALTH_HOST"] == "0.0.0.0"  # noqa: S104 # the kubelet asks from outside


def test_two_workers_share_the_load():
    workers = next(found for found in OBJECTS if found["metadata"]["name"] == "signoff-workers"
                   and found["kind"] == "Deployment")  # fmt: skip

    assert COMPOSE["workers"]["deploy"]["replicas"] == workers["spec"]["replicas"] == 2


@pytest.mark.parametrize("name", ["docker-compose.yml", "kubernetes.yml"])
def test_the_page_names_the_file(name):
    assert f"deploy/{name}" in (DOCS / "deploying.md").read_text("utf-8")


@pytest.mark.k8s
def test_a_real_api_server_accepts_the_manifest(kubeconfig):
    api = config.new_client_from_config(str(kubeconfig))
    core = client.CoreV1Api(api)
    core.create_namespace({"metadata": {"name": "signoff"}})
    made = [
        utils.create_from_dict(api, found, dry_run="All", field_validation="Strict")[0] for found in OBJECTS
    ]
    core.delete_namespace("signoff")

    assert [one.kind for one in made] == [found["kind"] for found in OBJECTS]
