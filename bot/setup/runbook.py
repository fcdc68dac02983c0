"""The first runbook: what a deploy, or a check-up, means on this installation. Pure."""

from typing import Any

import yaml

from bot.setup.choices import Choices, environment

Step = dict[str, Any]
DEPLOY, CHECK_UP = "deploy-service", "check-up"


def runbook(chosen: Choices) -> tuple[str, str]:
    """Its name, and its file."""
    name, body = (DEPLOY, _deploy(chosen)) if chosen.services else (CHECK_UP, _check_up(chosen))
    head = (
        "# Written by `signoff init`; it is yours now, and takes the place of Signoff's own of the same id.\n"
        "# docs/runbooks.md explains every field; `signoff runbook test` says its examples.\n"
    )
    return name, head + yaml.safe_dump(
        {"id": name, **body}, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None
    )


def _deploy(chosen: Choices) -> dict[str, Any]:
    one = chosen.services[0]
    place, safe = environment(one.namespace), _before_it(chosen)
    words = f"deploy {one.name} v1.2.3 to {place}"
    slots = {"service": one.name, "version": "v1.2.3", "environment": place}
    return {
        "title": "Deploy a service",
        "examples": [
            {"say": words, "slots": slots},
            {"say": words.replace("deploy", "ship"), "slots": {**slots}},
        ],
        "never": [f"roll back {one.name} to v1.2.2 in {place}", f"undo the deploy of {one.name} in {place}"],
        "asks": {"verbs": ["deploy"], "nouns": ["deploy"]},
        "slots": {
            "service": {"inventory": "services", "ask": "Which service?"},
            "version": {"kind": "version", "ask": "Which version?"},
            "environment": {"inventory": "environments", "ask": "Into which environment?"},
            "strategy": {"choices": ["rolling", "blue_green", "canary"], "default": "rolling"},
        },
        "plan": {
            "goal": "Deploy {service} {version} to {environment}",
            "steps": [*safe, _the_deploy([safe[-1]["id"]] if safe else [])],
            "rollback": [_the_way_back()],
        },
    }


def _before_it(chosen: Choices) -> list[Step]:
    """The tests, and a backup, as far as there is something to test and to back up."""
    steps: list[Step] = []
    if chosen.suite:
        steps.append({"id": "test", **_tests(), "failure_action": "abort"})
    if any(map(chosen.database_of, chosen.services)):
        after = {"depends_on": ["test"]} if steps else {}
        steps.append({"id": "backup", "needs": "service.database", **_backup("{service.database}"), **after})
    return steps


def _tests() -> Step:
    return {
        "worker": "test-runner", "action": "run_tests", "purpose": "Run the tests",
        "parameters": {"test_suite": "full", "environment": "staging"},
        "success_criteria": ["all_tests_pass"],
    }  # fmt: skip


def _backup(database: str) -> Step:
    return {
        "worker": "db-backup", "action": "backup_database", "purpose": f"Back up {database}",
        "parameters": {"database": database}, "success_criteria": ["backup_verified"],
    }  # fmt: skip


def _the_deploy(after: list[str]) -> Step:
    return {
        "id": "deploy", "worker": "k8s-deployer", "action": "deploy_service",
        "purpose": "Deploy {service} {version}",
        "parameters": {"service": "{service}", "version": "{version}", "strategy": "{strategy}",
                       "environment": "{environment}"},
        **({"depends_on": after} if after else {}), "schedule": {"at": "{when}"},
        "success_criteria": ["service_healthy"], "failure_action": "rollback",
    }  # fmt: skip


def _the_way_back() -> Step:
    return {
        "id": "undo-deploy", "undoes": "deploy", "worker": "k8s-deployer", "action": "rollback_service",
        "purpose": "Put the version back that ran before",
        "parameters": {"service": "{service}", "to_version": "previous", "environment": "{environment}"},
    }  # fmt: skip


def _check_up(chosen: Choices) -> dict[str, Any]:
    """For an installation without a service: what there is to look at."""
    steps: list[Step] = [
        {"id": "disks", "worker": "command", "action": "read_command",
         "purpose": "See how full the disks are", "parameters": {"command": "disk-usage"}}
    ]  # fmt: skip
    if chosen.suite:
        steps.append({"id": "test", **_tests()})
    steps += [
        {"id": f"backup-{number}", **_backup(one.name)} for number, one in enumerate(chosen.databases, 1)
    ]
    return {
        "title": "Check up on things",
        "examples": [{"say": "make the check-up"}, {"say": "do a check-up"}],
        "never": ["undo the check-up", "deploy the check-up"],
        "asks": {
            "verbs": ["check-up"],
            "also": ["make the check-up", "do a check-up"],
            "nouns": ["check-up"],
        },
        "slots": {},
        "plan": {"goal": "Check up on things", "steps": steps},
    }
