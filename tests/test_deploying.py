"""docs/deploy is what can be run: its commands, settings and objects exist."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from kubernetes import client, config
from pydantic_settings import BaseSettings

from bot.__main__ import parser
from bot.cli.supervise import PATIENCE
from bot.config import BotSettings
from storage.config import RELEASE
from storage.monitoring.health import HealthSettings
from tests.support.postgres import postgres_server
from tests.support.world import environment
from workers.__main__ import WorkersSettings

pytest_plugins = ("tests.support.cluster.fixtures",)
DOCS = Path(__file__).parents[1] / "docs"
DEPLOYING = (DOCS / "deploying.md").read_text("utf-8")
COMPOSE = yaml.safe_load((DOCS / "deploy/docker-compose.yml").read_text("utf-8"))["services"]
OBJECTS = [*yaml.safe_load_all((DOCS / "deploy/kubernetes.yml").read_text("utf-8"))]
PODS = {
    found["metadata"]["name"]: found["spec"]["template"]["spec"]
    for found in OBJECTS
    if found["kind"] == "StatefulSet"
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


def unit() -> dict[str, str]:
    """What the page's unit sets."""
    (text,) = re.findall(r"^    \[Unit\]\n(?:    .*\n|\n)+", DEPLOYING, re.MULTILINE)
    return dict(re.findall(r"^    (\w+)=(.*)$", text, re.MULTILINE))


def test_stopping_the_unit_tells_its_supervisor_alone():
    """Else systemd ends a step's own programs at once, and nothing has SIGNOFF_DRAIN to end in."""
    assert unit()["KillMode"] == "mixed"
    assert float(unit()["TimeoutStopSec"]) > WorkersSettings().drain + PATIENCE


def test_a_command_of_the_terminal_gets_the_file_s_variables_and_says_who_types(tmp_path):
    """As the page has it, with a `runuser` that renames whoever calls, as the real one does."""
    (line,) = re.findall(r"^    (\(set -a; .*\))$", DEPLOYING, re.MULTILINE)
    address = "postgresql://signoff:a$b@host/signoff?sslmode=require&connect_timeout=5"
    (told,) = re.findall(r"one `(NAME=.*?)` a line", DEPLOYING)
    (tmp_path / "environment").write_text(told.replace("NAME", "ADDRESS").replace("value", address) + "\n")
    (tmp_path / "runuser").write_text('#!/bin/sh\nshift 3; LOGNAME=signoff USER=signoff exec "$@"\n')
    (tmp_path / "signoff").write_text('#!/bin/sh\necho "$LOGNAME $ADDRESS"\n')
    for name in ("runuser", "signoff"):
        (tmp_path / name).chmod(0o755)
    here = line.replace("/etc/signoff/", f"{tmp_path}/").replace("/opt/signoff/bin/", f"{tmp_path}/")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LOGNAME": "root", "SUDO_USER": "ann"}

    said = [
        subprocess.run(["sh", "-c", here], env=one, capture_output=True, text=True, check=False).stdout
        for one in (env, {name: value for name, value in env.items() if name != "SUDO_USER"})
    ]
    assert said == [f"ann {address}\n", f"root {address}\n"]


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
                   and found["kind"] == "StatefulSet")  # fmt: skip

    assert COMPOSE["workers"]["deploy"]["replicas"] == workers["spec"]["replicas"] == 2


@pytest.mark.parametrize("name", ["docker-compose.yml", "kubernetes.yml"])
def test_the_page_names_the_file(name):
    assert f"deploy/{name}" in DEPLOYING


def of_kind(kind: str) -> dict[str, Any]:
    return {found["metadata"]["name"]: found for found in OBJECTS if found["kind"] == kind}


@pytest.mark.parametrize("part", READS)
def test_what_must_outlive_a_pod_lies_on_a_volume(part):
    mounts = {one["name"]: one["mountPath"] for one in container(part)["volumeMounts"]}
    (claim,) = of_kind("StatefulSet")[f"signoff-{part}"]["spec"]["volumeClaimTemplates"]
    mounted = [one.split(":")[1] for one in COMPOSE[part]["volumes"] if not one.startswith("./")]

    assert mounts[claim["metadata"]["name"]] == mounted[0] == "/var/lib/signoff"


@pytest.mark.parametrize("part", READS)
def test_each_part_has_a_budget_and_a_wall_that_choose_its_pods(part):
    labels = of_kind("StatefulSet")[f"signoff-{part}"]["spec"]["template"]["metadata"]["labels"]
    budget, wall = of_kind("PodDisruptionBudget"), of_kind("NetworkPolicy")

    assert budget[f"signoff-{part}"]["spec"]["selector"]["matchLabels"] == labels
    assert wall[f"signoff-{part}"]["spec"]["podSelector"]["matchLabels"] == labels
    assert wall[f"signoff-{part}"]["spec"]["ingress"] == [{"ports": [{"port": 9700}]}]


def test_the_images_are_those_of_this_release():
    names = {COMPOSE[part]["image"] for part in READS} | {container(part)["image"] for part in READS}

    assert names == {f"signoff:{RELEASE}"}


def test_the_image_has_a_client_as_new_as_the_server_that_compose_starts():
    (server,) = re.findall(r"postgres:(\d+)", COMPOSE["postgres"]["image"])
    image = (DOCS.parent / "Dockerfile").read_text("utf-8")

    assert f"postgresql-client-{server} " in image
    assert " git " in image
    assert "-slim-trixie" in image  # the Debian that has it


@pytest.mark.postgres
def test_a_password_may_hold_any_character(tmp_path):
    password = "p@ss:w/rd#1%25 $HOME &?='"
    given = {**COMPOSE["workers"]["environment"], "PGPASSWORD": password}
    with postgres_server(password=password) as url:
        place = urlsplit(url)._replace(netloc=f"{urlsplit(url).username}@127.0.0.1:{urlsplit(url).port}")
        ours = {
            name: value for name, value in given.items() if name in {"SIGNOFF_DATABASE_URL", "PGPASSWORD"}
        }
        env = environment(tmp_path, **ours | {"SIGNOFF_DATABASE_URL": place.geturl()})
        made, looked, refused = (
            subprocess.run(
                [sys.executable, "-P", "-m", *words], env=one, capture_output=True, text=True, check=False
            )
            for words, one in [
                (("storage", "migrate"), env),
                (("bot", "plans"), env),
                (("bot", "plans"), env | {"PGPASSWORD": "another"}),
            ]
        )

    assert ":" not in urlsplit(given["SIGNOFF_DATABASE_URL"]).netloc
    assert (made.returncode, looked.returncode) == (0, 0), made.stderr + looked.stderr
    assert refused.returncode == 1
    assert password not in made.stdout + made.stderr


@pytest.mark.k8s
def test_a_real_api_server_accepts_the_manifest(kubeconfig):
    api = config.new_client_from_config(str(kubeconfig))
    core = client.CoreV1Api(api)
    for name in ("signoff", "production"):
        core.create_namespace({"metadata": {"name": name}})
    # The server that is at hand is older than policy/v1, which has the same fields.
    offered = [
        found | ({"apiVersion": "policy/v1beta1"} if found["kind"] == "PodDisruptionBudget" else {})
        for found in OBJECTS
    ]
    made = [created(api, found) for found in offered]
    for name in ("signoff", "production"):
        core.delete_namespace(name)

    assert made == [found["kind"] for found in OBJECTS]


def created(api: Any, found: dict[str, Any]) -> str:
    group = found["apiVersion"]
    base = f"/apis/{group}" if "/" in group else f"/api/{group}"
    kind = {"NetworkPolicy": "networkpolicies"}.get(found["kind"], found["kind"].lower() + "s")
    path = f"{base}/namespaces/{found['metadata']['namespace']}/{kind}"
    query = [("dryRun", "All"), ("fieldValidation", "Strict")]
    sent = {"header_params": {"Content-Type": "application/json"}, "auth_settings": ["BearerToken"]}
    request = api.param_serialize("POST", path, query_params=query, body=found, **sent)
    answer = api.call_api(*request)
    body = answer.read().decode()
    assert answer.status == 201, body
    return str(json.loads(body)["kind"])


def test_images_of_others_are_named_by_their_digest():
    """A tag is moved by whoever may; what was built and tried is named by what it holds."""
    files = [DOCS.parent / "Dockerfile", *(DOCS / "deploy").glob("*.yml")]
    named = re.findall(r"^(?:ARG BASE=| *(?:- )?image: )(\S+)", "\n".join(f.read_text() for f in files), re.M)
    others = {name for name in named if not name.startswith("signoff:")}

    assert len(others) == 2
    assert all(re.fullmatch(r"[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}", name) for name in others)
