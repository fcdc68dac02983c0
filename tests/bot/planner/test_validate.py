"""One validator for every plan: each problem is named with its place, and nothing else is."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from bot.planner.prepare import complete, prepare
from bot.planner.validate import MAX_STEPS, Catalogue, validate
from storage.contract.capability import Check
from storage.contract.spec import PlanSpec, Schedule
from storage.errors import InvalidPlan
from tests.support.fakes import NOW, contract, demo_config, real_contracts, step

CATALOGUE = Catalogue(real_contracts())
TEST = {"id": "test", "worker": "test-runner", "action": "run_tests", "parameters": {"test_suite": "full"}}
BACKUP = {
    "id": "backup", "worker": "db-backup", "action": "backup_database", "depends_on": ["test"],
    "parameters": {"database": "auth_prod"},
}  # fmt: skip
DEPLOY = {
    "id": "deploy", "worker": "k8s-deployer", "action": "deploy_service", "depends_on": ["backup"],
    "parameters": {"service": "auth-service", "version": "v2.1.4"},
}  # fmt: skip
UNDO = {
    "id": "undo", "undoes": "deploy", "worker": "k8s-deployer", "action": "rollback_service",
    "parameters": {"service": "auth-service"},
}  # fmt: skip


def document(*steps: dict[str, Any], **fields: Any) -> PlanSpec:
    raw = {
        "goal": "Deploy",
        "steps": steps or (TEST, BACKUP, DEPLOY),
        "rollback": [UNDO] if not steps else [],
    }
    return PlanSpec.model_validate(raw | fields)


def problems(spec: PlanSpec) -> list[tuple[str, str]]:
    _, issues = complete(spec, CATALOGUE, demo_config(), NOW)
    return [(issue.code, issue.path) for issue in issues]


def sentence(spec: PlanSpec) -> str:
    with pytest.raises(InvalidPlan) as refused:
        prepare(spec, CATALOGUE, demo_config(), NOW)
    return str(refused.value)


def test_a_good_plan_has_no_problems():
    assert problems(document()) == []


@pytest.mark.parametrize(
    ("spec", "code", "path"),
    [
        (document(goal="  "), "no_goal", "goal"),
        (document(steps=[], rollback=[]), "no_steps", "steps"),
        (document(TEST | {"worker": "test-runer"}), "unknown_worker", "steps[0].worker"),
        (document(TEST | {"action": "run_test"}), "unknown_action", "steps[0].action"),
        (document(TEST, TEST), "duplicate_id", "steps[1]"),
        (document(rollback=[UNDO | {"id": "test"}]), "duplicate_id", "rollback[0]"),
        (document(TEST | {"depends_on": ["tset"]}), "unknown_step", "steps[0].depends_on"),
        (document(rollback=[UNDO | {"undoes": "x"}]), "unknown_step", "rollback[0].depends_on"),
        (document(TEST | {"depends_on": ["test"]}), "cycle", "steps"),
        (
            document(TEST | {"parameters": {"test_suite": "full", "x": 1}}),
            "bad_parameter",
            "steps[0].parameters",
        ),
        (document(TEST | {"parameters": {}}), "bad_parameter", "steps[0].parameters"),
        (
            document(TEST | {"parameters": {"test_suite": 7}}),
            "bad_parameter",
            "steps[0].parameters.test_suite",
        ),
        (
            document(TEST | {"parameters": {"test_suite": "ful"}}),
            "not_in_inventory",
            "steps[0].parameters.test_suite",
        ),
        (
            document(TEST | {"success_criteria": ["all_pass"]}),
            "unknown_criterion",
            "steps[0].success_criteria[0]",
        ),
        (
            document(TEST | {"success_criteria": [{"field": "fialed", "op": "eq", "value": 0}]}),
            "unknown_field",
            "steps[0].success_criteria[0]",
        ),
        (document(TEST | {"schedule": {"at": "soonish"}}), "bad_time", "steps[0].schedule"),
        (document(TEST | {"schedule": {"window": "weekly"}}), "bad_time", "steps[0].schedule"),
        (document(TEST | {"schedule": {"at": "today at 2am"}}), "bad_time", "steps[0].schedule"),
    ],
)
def test_a_problem_is_named_with_its_place(spec, code, path):
    assert (code, path) in problems(spec)


def test_every_problem_is_named_at_once():
    spec = document(
        TEST | {"worker": "nobody"}, BACKUP | {"parameters": {"database": "x"}, "depends_on": ["y"]}
    )

    assert {code for code, _ in problems(spec)} == {"unknown_worker", "not_in_inventory", "unknown_step"}


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"worker": "test-runer"}, "did you mean 'test-runner'?"),
        ({"action": "run_test"}, "did you mean 'run_tests'?"),
        ({"parameters": {"test_suite": "ful"}}, "did you mean 'full'?"),
        ({"worker": "nobody"}, "known: approval-gate, code, code-agent"),
    ],
)
def test_a_near_miss_is_suggested(step, words):
    assert words in sentence(document(TEST | step))


def test_steps_that_wait_for_each_other_are_named():
    one, two = TEST | {"depends_on": ["backup"]}, BACKUP

    assert "test → backup → test" in sentence(document(one, two)) or "backup → test → backup" in (
        sentence(document(one, two))
    )


def test_a_plan_has_at_most_so_many_steps():
    steps = [TEST | {"id": f"t{number}"} for number in range(MAX_STEPS + 1)]

    assert problems(document(*steps)) == [("too_many_steps", "steps")]
    assert problems(document(*steps[:-1])) == []


# references


READER = contract("read", changes=False, names={}, parameters={
    "type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"],
})  # fmt: skip
WITH_READER = Catalogue([*real_contracts(), READER])


def reading(**fields: Any) -> list[str]:
    step = {"id": "read", "worker": "ops", "action": "read", "depends_on": ["backup"]}
    spec = document(TEST, BACKUP, step | fields)
    return [issue.code for issue in complete(spec, WITH_READER, demo_config(), NOW)[1]]


def test_a_reading_step_may_take_what_another_reported():
    assert reading(parameters={"file": {"from": "backup.path"}}) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"parameters": {"file": {"from": "backup.nothing"}}},
        {"parameters": {"file": {"from": "nobody.path"}}},
        {"parameters": {"file": {"from": "backup.path"}}, "depends_on": []},
        {"parameters": {"file": {"from": "test.path"}}},
        {"parameters": {"file": {"from": "read.path"}}},
    ],
    ids=["no such field", "no such step", "not depended on", "only indirectly", "itself"],
)
def test_a_reference_must_lead_somewhere(fields):
    assert "bad_reference" in reading(**fields)


@pytest.mark.hostile
def test_a_changing_step_takes_nothing_from_a_report():
    tainted = DEPLOY | {"parameters": {"service": "auth-service", "version": {"from": "backup.path"}}}

    assert ("tainted", "steps[2].parameters.version") in problems(document(TEST, BACKUP, tainted))


def test_a_reference_must_have_the_type_of_the_parameter():
    assert "bad_reference" in reading(parameters={"file": {"from": "backup.tables"}})


@pytest.mark.parametrize(
    ("field", "wrong"), [("deploy.version", False), ("nowhere.version", True), ("deploy", True), ("", True)]
)
def test_a_check_of_the_goal_names_a_step_and_a_field(field, wrong):
    checks = (Check(field=field, op="exists"),)
    issues = validate(
        prepare(document(), CATALOGUE, demo_config(), NOW).model_copy(update={"done_when": checks}), CATALOGUE
    )

    assert [issue.code for issue in issues] == ["unknown_field"] * wrong


def test_a_plan_that_continues_may_check_what_is_still_to_come():
    checks = (Check(field="later.version", op="exists"),)
    spec = prepare(document(), CATALOGUE, demo_config(), NOW).model_copy(
        update={"done_when": checks, "continues": True}
    )

    assert validate(spec, CATALOGUE) == []


def test_only_a_parameter_that_is_declared_so_takes_a_report_into_a_change():
    look, bring = contract("look", changes=False), contract("bring")
    fields = {"service": {"type": "string", "from_output": True}}
    declared = bring.model_copy(update={"parameters": bring.parameters | {"properties": fields}})
    given = {"service": {"from": "look.version"}}
    spec = PlanSpec(
        goal="x", steps=(step("look", look), step("bring", bring, parameters=given, depends_on=("look",)))
    )

    assert "tainted" in [issue.code for issue in validate(spec, Catalogue([look, bring]))]
    assert validate(spec, Catalogue([look, declared])) == []


def test_a_default_that_is_in_no_inventory_is_the_workers_own_word():
    fields = {"service": {"type": "string", "default": "all"}}
    usual = contract("look", parameters={"type": "object", "properties": fields})
    spec = PlanSpec(goal="x", steps=(step("s", usual, parameters={"service": "all"}),))

    assert validate(spec, Catalogue([usual])) == []


# preparing


def test_an_alias_becomes_the_worker():
    spec = prepare(document(TEST, BACKUP | {"worker": "db-manager"}), CATALOGUE, demo_config(), NOW)

    assert spec.steps[1].worker == "db-backup"


def test_defaults_are_written_down_where_people_approve_them():
    spec = prepare(document(), CATALOGUE, demo_config(), NOW)

    assert spec.find("deploy").parameters.items() >= {
        ("service", "auth-service"), ("version", "v2.1.4"), ("environment", "production"),
        ("strategy", "rolling"),
    }  # fmt: skip


def test_a_named_criterion_becomes_its_checks():
    spec = prepare(document(TEST | {"success_criteria": ["all_tests_pass"]}), CATALOGUE, demo_config(), NOW)

    assert [(check.field, check.name) for check in spec.steps[0].success_criteria] == [
        ("failed", "all_tests_pass"), ("errors", "all_tests_pass"), ("passed", "all_tests_pass"),
    ]  # fmt: skip


def test_promises_and_bindings_are_filled_in_for_steps_and_undos():
    spec = prepare(document(), CATALOGUE, demo_config(), NOW)

    for found in (*spec.steps, *spec.rollback):
        promise = CATALOGUE.find(found)
        assert found.contract == promise.hash()
        assert found.binding == promise.binding(found.parameters)


def test_words_become_instants_once():
    spec = prepare(document(TEST | {"schedule": {"at": "2AM EST"}}), CATALOGUE, demo_config(), NOW)
    again = prepare(spec, CATALOGUE, demo_config(), NOW + timedelta(minutes=5))

    assert spec.steps[0].schedule.not_before.isoformat() == "2026-11-16T07:00:00+00:00"
    assert again.steps[0].schedule == spec.steps[0].schedule


def test_preparing_twice_changes_nothing():
    spec = prepare(document(), CATALOGUE, demo_config(), NOW)

    assert prepare(spec, CATALOGUE, demo_config(), NOW) == spec


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(not_before=NOW.replace(hour=1), not_after=NOW.replace(hour=2)),
        Schedule(not_before=NOW.replace(day=17), not_after=NOW.replace(day=16)),
        Schedule(
            not_before=NOW.replace(day=17, hour=1, minute=0), not_after=NOW.replace(day=17, hour=1, minute=5)
        ),
    ],
    ids=["closed already", "ends before it begins", "shorter than the step's timeout"],
)
def test_a_window_in_which_the_step_could_never_start_is_a_problem(schedule):
    spec = document(TEST | {"schedule": schedule.model_dump()})

    assert ("bad_time", "steps[0].schedule") in problems(spec)


@pytest.mark.parametrize("value", [2**60, float("nan"), float("inf")])
def test_a_number_that_canonical_json_cannot_carry_is_a_problem(value):
    with pytest.raises(ValidationError, match="cannot stand in a plan"):
        document(TEST | {"success_criteria": [{"field": "failed", "op": "lt", "value": value}]})


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"service": "a", "note": "аuth"}, "note"),
        ({"note": ["fine", "рау"]}, "note.1"),
        ({"note": {"ѕcope": 1}}, "note.ѕcope"),
    ],
    ids=["mixed", "disguised", "a name"],
)
def test_letters_that_pass_for_others_are_refused_in_what_a_worker_is_handed(value, place):
    free = contract("check", changes=False, parameters={"type": "object"}, names={}, target="")
    spec = PlanSpec(goal="check", steps=(step("s1", free, parameters=value),))
    (issue,) = validate(spec, Catalogue([free]))

    assert (issue.code, issue.path) == ("look_alike", f"steps[0].parameters.{place}")
    assert "U+04" in issue.message


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u00ad", "\u202e", "\u3164", "\u034f", "\u2800", "\ufe0f", "\r", "\x1b"]
)
@pytest.mark.parametrize("place", ["note", "note.1", "note.odd"])
def test_what_nobody_can_see_is_refused_in_what_a_worker_is_handed(hidden, place):
    odd = f"auth{hidden}service"
    value = {"note": odd, "note.1": ["fine", odd], "note.odd": {"odd": odd}}[place]
    free = contract("check", changes=False, parameters={"type": "object"}, names={}, target="")
    spec = PlanSpec(goal="check", steps=(step("s1", free, parameters={"note": value}),))
    (issue,) = validate(spec, Catalogue([free]))

    assert (issue.code, issue.path) == ("invisible", f"steps[0].parameters.{place}")
    assert f"U+{ord(hidden):04X}" in issue.message


@pytest.mark.parametrize(
    "said", ["Größe prüfen", "select 1\n\tfrom a", "¿Cuántos?", "再起動してください auth", "µs"]
)
def test_prose_of_any_language_is_handed_to_a_worker_as_it_is(said):
    free = contract("check", changes=False, parameters={"type": "object"}, names={}, target="")
    spec = PlanSpec(goal="check", steps=(step("s1", free, parameters={"note": said}),))

    assert validate(spec, Catalogue([free])) == []
