"""Plans from JSON: our own form, the well-known one, and sentences for everything else."""

import json
from typing import Any

import pytest

from bot.planner import importing
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import parse
from bot.planner.validate import Catalogue
from storage.contract.spec import PlanSpec
from storage.errors import InvalidPlan
from tests.support.fakes import NOW, PLAN_JSON, demo_config, real_contracts

CATALOGUE = Catalogue(real_contracts())

WELL_KNOWN: dict[str, Any] = {
    "plan_id": "deploy-auth-2024",
    "goal": "Deploy authentication service update to production",
    "steps": [
        {"step_id": "step-1", "action": "run_tests", "worker": "test-runner",
         "parameters": {"test_suite": "full", "environment": "staging"},
         "success_criteria": "all tests pass", "failure_action": "abort_deployment"},
        {"step_id": "step-2", "action": "backup_database", "worker": "db-manager",
         "parameters": {"database": "auth_prod"}, "depends_on": ["step-1"],
         "success_criteria": "backup_verified", "failure_action": "abort_deployment"},
        {"step_id": "step-3", "action": "deploy_service", "worker": "k8s-deployer",
         "parameters": {"service": "auth-service", "version": "v2.1.4", "strategy": "blue_green"},
         "depends_on": ["step-2"], "success_criteria": "service_healthy",
         "failure_action": "rollback_immediately"},
    ],
    "rollback_plan": "restore_previous_version",
    "estimated_duration": "15 minutes",
    "risk_level": "medium",
}  # fmt: skip


def imported(raw: Any) -> tuple[PlanSpec, list[str]]:
    draft, notes = importing.read(raw, CATALOGUE)
    return prepare(draft, CATALOGUE, demo_config(), NOW), notes


def refused(raw: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidPlan) as error:
        importing.read(raw, CATALOGUE)
    return [(issue.code, issue.path) for issue in error.value.issues]


def test_our_own_form_loads_without_a_note():
    spec, notes = imported(json.loads(PLAN_JSON))

    assert notes == []
    assert [step.id for step in spec.steps] == ["step-1", "step-2", "step-3"]
    assert spec.find("step-3").schedule.not_before is not None
    assert [undo.undoes for undo in spec.rollback] == ["step-3"]


def test_the_well_known_form_loads():
    spec, _ = imported(WELL_KNOWN)

    assert [step.id for step in spec.steps] == ["step-1", "step-2", "step-3"]
    assert [step.worker for step in spec.steps] == ["test-runner", "db-backup", "k8s-deployer"]
    assert [step.failure_action for step in spec.steps] == ["abort", "abort", "rollback"]
    assert {check.name for step in spec.steps for check in step.success_criteria} == {
        "all_tests_pass", "backup_verified", "service_healthy",
    }  # fmt: skip


def test_a_rollback_that_is_only_a_name_becomes_what_the_worker_offers():
    spec, notes = imported(WELL_KNOWN)
    (undo,) = spec.rollback

    assert (undo.undoes, undo.worker, undo.action) == ("step-3", "k8s-deployer", "rollback_service")
    assert undo.parameters == {
        "service": "auth-service", "to_version": "previous", "environment": "production",
    }  # fmt: skip
    assert "rollback 'restore_previous_version': step-3 is undone by k8s-deployer.rollback_service" in notes


def test_a_rollback_may_be_named_at_its_step():
    raw = {**WELL_KNOWN, "steps": [dict(step) for step in WELL_KNOWN["steps"]]}
    del raw["rollback_plan"]
    raw["steps"][2]["rollback_plan"] = "previous"

    assert [undo.undoes for undo in imported(raw)[0].rollback] == ["step-3"]


BACK = """
id: rollback-auth-service-v2.1.3
title: Put auth-service 2.1.3 back
examples: [run rollback-auth-service-v2.1.3]
asks: {also: [run rollback-auth-service-v2.1.3]}
slots:
  environment: {choices: [production, staging], ask: "Where?", default: production}
plan:
  goal: Put auth-service v2.1.3 back
  steps:
    - {id: back, worker: k8s-deployer, action: rollback_service, success_criteria: [service_healthy],
       parameters: {service: auth-service, to_version: v2.1.3, environment: "{environment}"}}
    - {id: restore, worker: db-backup, action: list_backups, depends_on: [back],
       parameters: {database: auth_prod}}
"""


def test_a_rollback_plan_is_the_runbook_of_that_name():
    raw = {**WELL_KNOWN, "rollback_plan": "rollback-auth-service-v2.1.3"}
    draft, notes = importing.read(raw, CATALOGUE, [parse("back.yml", BACK)], demo_config())
    spec = prepare(draft, CATALOGUE, demo_config(), NOW)

    assert [(undo.id, undo.undoes, undo.action) for undo in spec.rollback] == [
        ("undo-back", "step-3", "rollback_service"), ("undo-restore", "step-3", "list_backups"),
    ]  # fmt: skip
    assert spec.rollback[0].parameters["to_version"] == "v2.1.3", "and not the version before"
    assert any("the runbook “Put auth-service 2.1.3 back”" in note for note in notes)


@pytest.mark.parametrize(
    ("name", "back"), [("rollback-service", "previous"), ("rollback-auth-service-v2.1.3", "v2.1.3")]
)
def test_a_rollback_never_puts_back_what_the_step_put_there(name, back):
    """A runbook with a slot for the version: filled by its name or by what was before, not by the deploy."""
    shipped = [book for book in runbooks.read([runbooks.SHIPPED]) if book.id == "rollback-service"]
    saved = [book.model_copy(update={"id": "rollback-auth-service-v2-1-3"}) for book in shipped]
    draft, _ = importing.read(
        {**WELL_KNOWN, "rollback_plan": name}, CATALOGUE, [*shipped, *saved], demo_config()
    )

    (undo,) = prepare(draft, CATALOGUE, demo_config(), NOW).rollback
    assert (undo.parameters["service"], undo.parameters["to_version"]) == ("auth-service", back)


def test_a_saved_plan_whose_version_nobody_says_is_a_problem():
    (book,) = [book for book in runbooks.read([runbooks.SHIPPED]) if book.id == "rollback-service"]
    slots = book.slots | {"version": book.slots["version"].model_copy(update={"synonyms": {}})}
    with pytest.raises(InvalidPlan, match="needs more than this plan says: To which version"):
        importing.read(
            {**WELL_KNOWN, "rollback_plan": "rollback-service"}, CATALOGUE,
            [book.model_copy(update={"slots": slots})], demo_config(),
        )  # fmt: skip


@pytest.mark.parametrize("name", ["rollback-auth-service-v2.1.3", "pray", "undo_everything"])
def test_a_rollback_plan_that_nobody_has_written_is_a_problem(name):
    assert refused({**WELL_KNOWN, "rollback_plan": name}) == [("unknown_rollback", "rollback_plan")]


def test_a_runbook_that_needs_more_than_the_plan_says_is_a_problem():
    asked = BACK.replace("{environment}", "{region}").replace("environment: {", "region: {")
    book = parse("back.yml", asked.replace(", default: production", ""))
    raw = {**WELL_KNOWN, "rollback_plan": "rollback-auth-service-v2.1.3"}
    with pytest.raises(InvalidPlan, match="needs more than this plan says: Where"):
        importing.read(raw, CATALOGUE, [book], demo_config())


def test_a_rollback_that_no_worker_can_do_is_a_problem():
    raw = {"goal": "x", "steps": WELL_KNOWN["steps"][:1], "rollback_plan": "previous"}

    assert refused(raw) == [("unknown_rollback", "rollback_plan")]


@pytest.mark.parametrize(
    "note",
    [
        "plan_id: ignored; plans are numbered by the database",
        "risk_level: ignored; risk is computed from what the steps change, and where",
        "estimated_duration: ignored; duration is computed from the actions' typical times",
        "steps[0].failure_action: 'abort_deployment' is understood as 'abort'",
    ],
)
def test_what_was_computed_or_understood_otherwise_is_said(note):
    assert note in imported(WELL_KNOWN)[1]


@pytest.mark.parametrize(
    ("way", "meant"),
    [
        ("abort_deployment", "abort"),
        ("ABORT", "abort"),
        ("stop_everything", "abort"),
        ("rollback_to_previous", "rollback"),
        ("roll_back", "rollback"),
        ("continue_anyway", "continue"),
        ("escalate_to_human", "ask"),
        ("retry_3_times", "ask"),
        ("hope", "ask"),
    ],
)
def test_a_failure_action_in_other_words_is_understood_and_said(way, meant):
    raw = {"goal": "x", "steps": [WELL_KNOWN["steps"][0] | {"failure_action": way}]}
    spec, notes = imported(raw)

    assert spec.steps[0].failure_action == meant
    assert f"steps[0].failure_action: '{way}' is understood as '{meant}'" in notes


def test_both_forms_of_one_plan_have_one_digest():
    ours = json.loads(PLAN_JSON)
    del ours["steps"][2]["schedule"]
    ours["steps"][1] |= {"success_criteria": ["backup_verified"], "failure_action": "abort"}
    ours["steps"][2] |= {"success_criteria": ["service_healthy"]}
    ours["rollback"][0]["id"] = "undo-step-3"

    assert imported(ours)[0].digest() == imported(WELL_KNOWN)[0].digest()


def test_a_schedule_of_the_whole_plan_is_not_dropped_silently():
    try:
        spec, notes = imported(WELL_KNOWN | {"schedule": {"window": "nightly"}})
    except InvalidPlan:
        return

    assert any("schedule" in note for note in notes) or spec.steps[2].schedule.not_before


@pytest.mark.parametrize("raw", [None, [], "plan", 3, True])
def test_what_is_no_object_is_no_plan(raw):
    assert refused(raw) == [("not_a_plan", "")]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"goal": None}, "goal"),
        ({"steps": None}, "steps"),
        ({"steps": {}}, "steps"),
        ({"steps": ["deploy"]}, "steps[0]"),
        ({"sudo": True}, "sudo"),
        ({"rollback": "previous"}, "rollback"),
        ({"steps": [{"id": "a b", "worker": "w", "action": "a"}]}, "steps[0].id"),
        ({"steps": [{"worker": "w", "action": "a"}]}, "steps[0].id"),
        ({"steps": [{"id": "a", "worker": "w", "action": "a", "root": 1}]}, "steps[0].root"),
        ({"steps": [{"id": "a", "worker": "w", "action": "a", "parameters": "x"}]}, "steps[0].parameters"),
        ({"steps": [{"id": "a", "worker": "w", "action": "a", "schedule": "2AM"}]}, "steps[0].schedule"),
        (
            {"steps": [{"id": "a", "worker": "w", "action": "a", "failure_action": 1}]},
            "steps[0].failure_action",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(change, path):
    assert path in [place for _, place in refused(WELL_KNOWN | change)]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "bad_json"),
        (b"", "bad_json"),
        (b"\xff\xfe", "unreadable"),
        (b'{"a": 1, "a": 2}', "given_twice"),
    ],
)
def test_a_file_that_is_no_json_is_a_sentence(tmp_path, content, code):
    path = tmp_path / "plan.json"
    path.write_bytes(content)

    with pytest.raises(InvalidPlan) as error:
        importing.load(path)
    assert error.value.issues[0].code == code


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(InvalidPlan, match="There is no file"):
        importing.load(tmp_path / "none.json")


def test_a_file_is_read_as_it_is(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(PLAN_JSON)

    assert importing.load(path) == json.loads(PLAN_JSON)
