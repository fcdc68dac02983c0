"""The digest covers effects and nothing else; references and checks mean what they say."""

import os
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from storage.contract.capability import Check
from storage.contract.spec import (
    Mandate,
    PlanSpec,
    Retries,
    Schedule,
    Shelf,
    StepSpec,
    UndoSpec,
    holds,
    read_approved,
    read_spec,
    readable,
    reference,
    resolve,
    utc,
)
from tests.support.fakes import plan_spec, step, undo

SPEC = plan_spec(step("s1"), step("s2", depends_on=("s1",)), rollback=(undo("u1", "s1"),))
TWO = datetime(2026, 11, 16, 7, 0, tzinfo=UTC)
STEP_EFFECTS: dict[str, Any] = {
    "id": "other",
    "worker": "elsewhere",
    "action": "destroy",
    "parameters": {"service": "b"},
    "depends_on": ("s1",),
    "schedule": {"not_before": TWO},
    "success_criteria": ({"field": "failed", "op": "eq", "value": 0},),
    "failure_action": "continue",
    "retries": {"attempts": 4},
    "contract": "another promise",
    "binding": "another thing",
}
STEP_WORDS: dict[str, Any] = {
    "purpose": "said otherwise",
    "schedule": {"at": "2AM EST", "window": "nightly", "zone": "America/New_York"},
}
PLAN_EFFECTS: dict[str, Any] = {
    "steps": (step("s1"),),
    "rollback": (),
    "done_when": (Check(field="s1.failed", op="eq", value=0),),
    "mandate": {"max_added_steps": 6},
    "continues": True,
    "review": "always",
}


def changed(spec: PlanSpec, **fields: Any) -> PlanSpec:
    return PlanSpec.model_validate(spec.model_dump() | fields)


def with_step(**fields: Any) -> PlanSpec:
    first, *rest = SPEC.model_dump()["steps"]
    return changed(SPEC, steps=[first | fields, *rest])


def with_undo(**fields: Any) -> PlanSpec:
    return changed(SPEC, rollback=[SPEC.model_dump()["rollback"][0] | fields])


def test_every_field_of_a_step_is_either_an_effect_or_words():
    assert set(StepSpec.model_fields) == {*STEP_EFFECTS, *STEP_WORDS}


def test_every_field_of_a_plan_is_either_an_effect_or_words():
    assert set(PlanSpec.model_fields) == {*PLAN_EFFECTS, "goal"}


@pytest.mark.parametrize("field", STEP_EFFECTS)
def test_an_effect_of_a_step_changes_the_digest(field):
    assert with_step(**{field: STEP_EFFECTS[field]}).digest() != SPEC.digest()


@pytest.mark.parametrize("field", [*STEP_EFFECTS, "undoes"])
def test_an_effect_of_an_undo_changes_the_digest(field):
    value = (STEP_EFFECTS | {"undoes": "s2"})[field]

    assert with_undo(**{field: value}).digest() != SPEC.digest()


@pytest.mark.parametrize("field", PLAN_EFFECTS)
def test_an_effect_of_a_plan_changes_the_digest(field):
    assert changed(SPEC, **{field: PLAN_EFFECTS[field]}).digest() != SPEC.digest()


@pytest.mark.parametrize("part", ["not_before", "not_after"])
def test_both_ends_of_a_schedule_are_effects(part):
    assert with_step(schedule={part: TWO}).digest() != SPEC.digest()


def test_retries_that_make_no_sense_are_refused_with_their_place():
    for part, value in (("attempts", -1), ("attempts", 0), ("wait", -0.5)):
        with pytest.raises(ValidationError) as refused:
            Retries.model_validate({part: value})
        (found,) = refused.value.errors()
        assert found["loc"] == (part,)
        assert "greater than or equal to" in found["msg"]


@pytest.mark.parametrize("part", [{"attempts": 4}, {"wait": 6}])
def test_both_limits_of_retries_are_effects(part):
    assert with_step(retries=part).digest() != SPEC.digest()


@pytest.mark.parametrize(
    "part", [{"reads": False}, {"extra": ("a.b",)}, {"max_added_steps": 1}, {"max_cost_usd": 2}]
)
def test_every_part_of_a_mandate_is_an_effect(part):
    assert changed(SPEC, mandate=part).digest() != SPEC.digest()


def test_the_order_of_the_steps_is_an_effect():
    steps = SPEC.model_dump()["steps"]

    assert changed(SPEC, steps=steps[::-1]).digest() != SPEC.digest()


@pytest.mark.parametrize("field", STEP_WORDS)
def test_words_of_a_step_do_not_change_the_digest(field):
    assert with_step(**{field: STEP_WORDS[field]}).digest() == SPEC.digest()


def test_words_of_an_undo_do_not_change_the_digest():
    assert with_undo(purpose="said otherwise").digest() == SPEC.digest()


def test_the_goal_does_not_change_the_digest():
    assert changed(SPEC, goal="said otherwise").digest() == SPEC.digest()


def test_the_order_of_keys_does_not_change_the_digest():
    one = step("s1", parameters={"service": "a", "version": "1"})
    two = step("s1", parameters={"version": "1", "service": "a"})

    assert one.digest() == two.digest()


def test_the_same_instant_in_another_zone_has_the_same_digest():
    there = TWO.astimezone(timezone(timedelta(hours=-5)))

    assert with_step(schedule={"not_before": there}).digest() == (
        with_step(schedule={"not_before": TWO}).digest()
    )


def test_a_stored_document_has_the_digest_it_was_stored_with():
    spec = with_step(schedule={"not_before": TWO, "not_after": TWO + timedelta(microseconds=1)})

    assert PlanSpec.model_validate_json(spec.model_dump_json()).digest() == spec.digest()


def test_a_step_keeps_its_digest_when_another_step_changes():
    other = changed(SPEC, steps=[SPEC.model_dump()["steps"][0], step("s9").model_dump()])

    assert other.find("s1").digest() == SPEC.find("s1").digest()


def test_a_document_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        SPEC.goal = "another"
    with pytest.raises(ValidationError, match="frozen"):
        SPEC.steps[0].worker = "another"


@pytest.mark.parametrize(
    "raw",
    [
        SPEC.model_dump() | {"approved": True},
        SPEC.model_dump() | {"mandate": {"everything": True}},
        SPEC.model_dump() | {"steps": [SPEC.steps[0].model_dump() | {"sudo": True}]},
        SPEC.model_dump() | {"steps": [SPEC.steps[0].model_dump() | {"schedule": {"soon": True}}]},
    ],
    ids=["plan", "mandate", "step", "schedule"],
)
def test_a_document_is_closed(raw):
    with pytest.raises(ValidationError, match="Extra inputs"):
        PlanSpec.model_validate(raw)


@pytest.mark.parametrize("key", ["", "a b", "a.b", "-a", "a" * 41, "a\n", "<!channel>", "ä"])
def test_a_key_that_could_be_mistaken_for_something_else_is_refused(key):
    with pytest.raises(ValidationError):
        step(key)


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValidationError):
        Schedule(not_before=datetime(2026, 1, 1))  # noqa: DTZ001 # the point of the test


def test_steps_and_undos_are_found_by_their_id():
    assert SPEC.find("s2") is SPEC.steps[1]
    assert isinstance(SPEC.find("u1"), UndoSpec)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"from": "s1.path"}, ("s1", "path")),
        ({"from": "s1.path", "or": 1}, None),
        ({"path": "s1"}, None),
        ("s1.path", None),
        (["s1.path"], None),
        (None, None),
    ],
)
def test_only_a_whole_value_is_a_reference(value, found):
    assert reference(value) == found


def test_a_reference_becomes_what_the_step_reported():
    parameters = {"file": {"from": "s1.path"}, "mode": "fast", "deep": {"x": {"from": "s1.path"}}}

    assert resolve(parameters, {"s1": {"path": "/backup/1"}}) == parameters | {"file": "/backup/1"}


DATA = {"failed": 0, "name": "full", "tags": ["a", "b"], "deep": {"er": 3}, "nothing": None, "ok": True}


@pytest.mark.parametrize(
    ("field", "op", "value", "answer"),
    [
        ("failed", "eq", 0, True),
        ("failed", "eq", 1, False),
        ("failed", "ne", 1, True),
        ("failed", "ne", 0, False),
        ("failed", "lt", 1, True),
        ("failed", "lt", 0, False),
        ("failed", "le", 0, True),
        ("failed", "le", -1, False),
        ("failed", "gt", -1, True),
        ("failed", "gt", 0, False),
        ("failed", "ge", 0, True),
        ("failed", "ge", 1, False),
        ("failed", "exists", None, True),
        ("nothing", "exists", None, True),
        ("tags", "contains", "a", True),
        ("tags", "contains", "c", False),
        ("name", "contains", "ul", True),
        ("deep.er", "eq", 3, True),
        ("deep", "contains", "er", True),
    ],
)
def test_a_check_is_answered_by_the_data(field, op, value, answer):
    assert holds(Check(field=field, op=op, value=value), DATA) is answer


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge", "exists", "contains"])
@pytest.mark.parametrize("field", ["missing", "failed.deeper", "deep.missing", "", "tags.0"])
def test_a_missing_field_is_a_no_to_every_question(op, field):
    assert holds(Check(field=field, op=op, value=None), DATA) is False


@pytest.mark.parametrize(
    ("field", "op", "value"),
    [
        ("name", "lt", 3),
        ("failed", "gt", "x"),
        ("nothing", "le", 0),
        ("tags", "ge", 1),
        ("failed", "contains", 0),
        ("name", "contains", 3),
        ("nothing", "contains", "x"),
    ],
)
def test_what_cannot_be_compared_is_a_no(field, op, value):
    assert holds(Check(field=field, op=op, value=value), DATA) is False


def test_digests_stay_what_they_were():
    """An approval of yesterday must hold tomorrow: whoever changes what is hashed must mean it."""
    when = {
        "not_before": TWO,
        "not_after": TWO + timedelta(hours=2),
        "at": "2AM EST",
        "zone": "America/New_York",
    }
    first = StepSpec(
        id="s1", worker="ops", action="check", parameters={"service": "a"}, contract="c", binding="b"
    )
    second = StepSpec(
        id="s2", worker="ops", action="deploy", depends_on=("s1",), schedule=Schedule.model_validate(when),
        success_criteria=("healthy", Check(field="failed", op="eq", value=0)), failure_action="rollback",
    )  # fmt: skip
    undone = UndoSpec(id="u1", undoes="s2", worker="ops", action="restore")
    whole = PlanSpec(goal="deploy a", steps=(first, second), rollback=(undone,))

    stopped = second.model_copy(update={"schedule": Schedule.model_validate(when | {"overrun": "stop"})})
    watched = whole.model_copy(update={"review": "always"})

    assert second.digest() == "4c19b3d42a7c2cb293176769baa34c1131fd964c5fe79c614af057aa288021c8"
    assert stopped.digest() == "e42dfef4eb13acd93421e53b47c12aa2c4144f65b0705dc65feb414e8103b8f5"
    assert watched.digest() == "394cc29df7c3c5c86eb967579b646c5627a06e5cf4bc948c4851617e34b15a24"
    assert whole.digest() == "557491e5202927083931f56f25d0a99dd4f9fa6fd127cc3e8d1626f0de3ae0a5"


def test_an_instant_in_a_document_is_utc_to_the_second():
    assert utc(TWO.astimezone(timezone(timedelta(hours=-5)))) == "2026-11-16T07:00:00Z"


def test_a_plan_without_named_alternatives_is_what_it_was_before_there_were_any():
    plan = plan_spec(step("s1"))
    named = plan.model_copy(update={"mandate": Mandate(alternatives=("a.b for c.d",))})

    assert "alternatives" not in plan.model_dump_json()
    assert "alternatives" not in plan.effects()["mandate"]
    assert named.digest() != plan.digest()
    assert PlanSpec.model_validate_json(named.model_dump_json()) == named


def test_documents_are_remembered_by_their_size_not_by_their_number() -> None:
    shelf, reading = Shelf(room=100), read_spec(plan_spec().model_dump_json())
    shelf.keep("a", "x" * 60, reading)
    shelf.keep("b", "y" * 30, reading)
    used = shelf.find("a", "x" * 60)
    shelf.keep("c", "z" * 40, reading)

    assert used is reading
    assert [shelf.find(*one) is reading for one in (("a", "x" * 60), ("b", "y" * 30), ("c", "z" * 40))] == [
        True,
        False,
        True,
    ]
    assert shelf.size == 100
    assert shelf.find("a", "another text") is None
    shelf.keep("a", "x" * 50, reading)
    assert shelf.size == 90


def test_a_stored_document_is_read_as_it_stands_however_often():
    spec = plan_spec(step("s1"), goal=f"read twice by {os.getpid()}")  # by nobody before
    text = spec.model_dump_json()

    for _ in range(2):
        assert read_spec(text).spec == read_approved(text, spec.digest()).spec == spec


@pytest.mark.parametrize(("keys", "known"), [((), True), (("s1",), True), (("s1", "s9"), False)])
def test_a_document_is_readable_that_knows_the_steps_beside_it(keys, known):
    spec = plan_spec(step("s1"))

    assert readable(spec.model_dump_json(), keys) == (spec if known else None)
    assert readable("{", keys) is None


def test_long_documents_take_no_more_memory_however_many_are_read() -> None:
    spec = plan_spec(*(step(f"s{n}") for n in range(200)))
    tracemalloc.start()
    for n in range(60):
        read_spec(spec.model_copy(update={"goal": f"goal {n}"}).model_dump_json())
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert held < 12_000_000
