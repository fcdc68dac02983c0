"""A model's answer is a draft: it becomes a valid plan, questions, a refusal, or issues, and nothing else."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from bot.planner.model import prompt, wire
from bot.planner.model.quality import flags
from bot.planner.model.wire import Asked, Declined, Inquiry, understood
from bot.planner.runbooks.book import Planned
from bot.planner.validate import Catalogue, validate
from storage.contract.spec import Mandate
from storage.errors import InvalidPlan
from tests.support.fake_model import schema_problems
from tests.support.fakes import NOW, contract, demo_config, real_contracts

READER = contract("read", changes=False, names={}, parameters={
    "type": "object", "properties": {"file": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["file"], "additionalProperties": False,
})  # fmt: skip
CONTRACTS = [*real_contracts(), READER]
CATALOGUE = Catalogue(CONTRACTS)
EXAMPLES = dict(prompt.examples())
GOOD = json.loads(next(iter(EXAMPLES.values())))
CLARIFY, REFUSE = [*EXAMPLES.values()][1:3]


def meant(draft: Any) -> Planned | Asked | Declined:
    said = draft if isinstance(draft, str) else json.dumps(draft)
    return understood(said, CATALOGUE, demo_config(), NOW)


def problems(draft: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidPlan) as refused:
        meant(draft)
    return [(issue.code, issue.path) for issue in refused.value.issues]


def step(index: int, **fields: Any) -> dict[str, Any]:
    """The good plan with one of its steps changed."""
    steps = [dict(one) for one in GOOD["steps"]]
    steps[index] |= fields
    return GOOD | {"steps": steps}


def arg(value: str, kind: str = "text", name: str = "version") -> dict[str, Any]:
    """The good plan with one more, or one other, argument of its deployment."""
    kept = [one for one in GOOD["steps"][2]["args"] if one["name"] != name]
    return step(2, args=[*kept, {"name": name, "kind": kind, "value": value}])


def check(value: str, **fields: Any) -> dict[str, Any]:
    """The good plan with one check of its tests."""
    return step(0, checks=[{"field": "failed", "op": "lt", "kind": "json", "value": value} | fields])


def reading(*args: dict[str, str], **fields: Any) -> dict[str, Any]:
    reads = GOOD["steps"][0] | {"id": "read", "call": "ops.read", "criteria": [], "args": [*args]}
    return GOOD | {"steps": [*GOOD["steps"], reads | {"depends_on": ["backup"]} | fields]}


# the form


def test_the_schema_is_one_the_api_takes():
    made = wire.schema(CONTRACTS)

    assert [*schema_problems(made, made)] == []
    assert len(json.dumps(made)) < 6_500  # with the looks before a plan, and the goal's own checks


@pytest.mark.model
def test_the_sdk_has_nothing_to_change_in_the_schema():
    from anthropic import transform_schema

    made = wire.schema([])

    def bones(node: Any) -> Any:
        if not isinstance(node, dict):
            return [bones(inner) for inner in node] if isinstance(node, list) else node
        # An enum's type says nothing that its values do not.
        return {key: bones(value) for key, value in node.items() if not ("enum" in node and key == "type")}

    assert bones(transform_schema(made)) == bones(made)


def test_the_schema_and_the_prompt_are_the_same_bytes_whatever_the_order():
    turned = CONTRACTS[::-1]

    assert json.dumps(wire.schema(turned)) == json.dumps(wire.schema(CONTRACTS))
    assert prompt.system(turned, demo_config()) == prompt.system(CONTRACTS, demo_config())


def test_only_published_actions_are_in_the_grammar_and_many_are_left_to_the_validator():
    few, many = wire.schema(CONTRACTS), wire.schema([contract(f"a{n}") for n in range(wire.MAX_ENUM + 1)])

    assert "k8s-deployer.deploy_service" in few["$defs"]["Step"]["properties"]["call"]["enum"]
    assert "enum" not in many["$defs"]["Undo"]["properties"]["call"]


def test_the_planner_loads_without_the_sdk():
    code = (
        "import sys, bot.planner.model.claude, bot.planner.model.wire; sys.exit('anthropic' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# the examples


@pytest.mark.parametrize(("wish", "answer"), EXAMPLES.items())
def test_the_examples_hold(wish, answer):
    made = understood(answer, Catalogue(real_contracts()), demo_config(), NOW)

    assert type(made) in {Planned, Asked, Declined, Inquiry}
    if isinstance(made, Planned):
        assert validate(made.spec, Catalogue(real_contracts())) == []
        assert flags(made.spec, Catalogue(real_contracts())) == []


def test_there_is_an_example_of_each_kind():
    made = [meant(answer) for answer in EXAMPLES.values()]

    assert {type(one) for one in made} == {Planned, Asked, Declined, Inquiry}
    specs = [one.spec for one in made if isinstance(one, Planned)]
    assert any(spec.continues for spec in specs)
    assert any("'from'" in repr(step.parameters) for spec in specs for step in spec.steps), "a ref"
    assert any(len(spec.steps) == 1 for spec in specs), "one read"


@pytest.mark.hostile
@pytest.mark.parametrize(
    "hidden",
    ["\u200b", "\u202e", "\u2066", "\ufeff", "\U000e0041", "\ufe0f", "\U000e0101", "\x00", "\x1b", "\ud800",
     "\ue000", "\u2028"],
    ids=ascii,
)  # fmt: skip
def test_what_nobody_can_see_reaches_neither_the_model_nor_a_plan(hidden):
    assert hidden not in prompt.request(f"deploy{hidden}", demo_config(), NOW)
    assert prompt.plain(f"a{hidden}b") == "ab"
    assert problems(reading({"name": "file", "kind": "text", "value": f"a{hidden}"}))
    assert problems(reading({"name": "file", "kind": "json", "value": json.dumps(f"a{hidden}")}))


# from draft to plan


def test_each_kind_of_argument_has_its_value():
    made = meant(reading({"name": "file", "kind": "ref", "value": "backup.path"},
                         {"name": "lines", "kind": "json", "value": "20"}))  # fmt: skip

    assert made.spec.find("read").parameters == {"file": {"from": "backup.path"}, "lines": 20}
    assert made.spec.find("deploy").parameters["version"] == "v2.1.4"


def test_criteria_and_checks_stand_together():
    checks = meant(GOOD).spec.find("backup").success_criteria

    assert [(check.field, check.op, check.value) for check in checks] == [
        ("verified", "eq", True), ("bytes", "gt", 0),
    ]  # fmt: skip


def test_a_window_by_its_name_becomes_instants():
    made = meant(step(2, window="nightly", at=""))

    assert made.spec.find("deploy").schedule.not_before == NOW.replace(day=16, hour=7)


def test_steps_that_come_with_a_question_are_dropped():
    assert isinstance(meant(json.loads(CLARIFY) | {"steps": GOOD["steps"]}), Asked)


def test_a_question_without_words_is_an_issue():
    empty = [question(""), question("\u200b")]

    assert problems(json.loads(CLARIFY) | {"questions": empty}) == [("no_questions", "questions")]


def test_a_refusal_without_a_reason_is_still_a_sentence():
    assert meant(json.loads(REFUSE) | {"reason": ""}) == Declined("The model gave no reason.")


def question(ask: str, kind: str = "text", *options: str) -> dict[str, Any]:
    return {"name": "q", "ask": ask, "kind": kind, "options": [*options]}


def test_questions_are_the_fields_of_one_form():
    asked = [
        question("Which?", "choice", "a", "b", "a"),
        question("How many?", "number"),
        question("Or?", "choice", "a"),
    ]
    made = meant(json.loads(CLARIFY) | {"questions": asked})

    assert [(field.kind, field.options) for field in made.fields] == [
        ("choice", ("a", "b")), ("number", ()), ("text", ()),
    ]  # fmt: skip
    assert len({field.name for field in made.fields}) == 3


def test_questions_are_few_and_short():
    made = meant(json.loads(CLARIFY) | {"questions": [question("<!channel> why? " * 99)] * 50})

    assert len(made.questions) == wire.MAX_QUESTIONS
    assert all(len(question) <= 300 and "<" not in question for question in made.questions)


# a hostile model


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("draft", "code"),
    [
        ("", "json_invalid"),
        ("null", "model_type"),
        ("NaN", "model_type"),
        ("<html>502</html>", "json_invalid"),
        ('{"kind": "plan", ', "json_invalid"),
        ('"\\ud800"', "json_invalid"),
        ("[" * 90_000, "json_invalid"),
        ("x" * 10_000_000, "too_long"),
        (GOOD | {"kind": "approve"}, "literal_error"),
        (GOOD | {"risk": "low"}, "extra_forbidden"),
        (GOOD | {"approvers": ["BOB"]}, "extra_forbidden"),
        (GOOD | {"mandate": {"reads": True}}, "extra_forbidden"),
        (GOOD | {"continues": "yes, for ever"}, "bool_parsing"),
        (GOOD | {"steps": "all"}, "list_type"),
        (GOOD | {"steps": []}, "no_steps"),
        (GOOD | {"goal": " \u200b"}, "no_goal"),
        (GOOD | {"goal": 7}, "string_type"),
        (GOOD | {"steps": GOOD["steps"] * 70}, "too_many_steps"),
        (step(0, id=5), "string_type"),
        (step(0, id="../../etc"), "string_pattern_mismatch"),
        (step(0, id="deploy"), "duplicate_id"),
        (step(0, id="undo-deploy"), "duplicate_id"),
        (step(0, contract="0" * 64), "extra_forbidden"),
        (step(0, binding="x"), "extra_forbidden"),
        (step(0, retries={"attempts": 99}), "extra_forbidden"),
        (step(0, call="shell.run"), "unknown_worker"),
        (step(0, call="k8s-deployer.delete_cluster"), "unknown_action"),
        (step(0, call="no-dot"), "unknown_worker"),
        (step(0, call="w" * 5_000), "value_error"),
        (step(0, depends_on=["deploy"]), "cycle"),
        (step(0, depends_on=["nobody"]), "unknown_step"),
        (step(0, depends_on=["x y"]), "string_pattern_mismatch"),
        (step(0, criteria=["always_true"]), "unknown_criterion"),
        (check("1", field="no"), "unknown_field"),
        (check("1", op="eval"), "literal_error"),
        (check("NaN"), "bad_json"),
        (check("1e999"), "value_error"),
        (check("9" * 3_000), "value_error"),
        (check("[" * 700 + "]" * 700), "recursion_depth_exceeded"),
        (step(0, failure_action="ignore"), "literal_error"),
        (step(2, window="nightly"), "two_times"),
        (step(2, window="always", at=""), "bad_time"),
        (step(2, at="yesterday"), "bad_time"),
        (step(2, at="in " + "9" * 90 + " hours"), "bad_time"),
        (step(2, at="in " + "9" * 5_000 + " hours"), "value_error"),
        (arg("backup.path", "ref"), "tainted"),
        (arg('{"from": "backup.path"}', "json"), "tainted"),
        (arg("$(rm -rf /)"), "bad_parameter"),
        (arg("2", "json"), "bad_parameter"),
        (arg("v2.1.4", "json"), "bad_json"),
        (arg("[" * 4_000, "json"), "bad_json"),
        (arg("Infinity", "json"), "bad_json"),
        (arg("v" * 5_000), "value_error"),
        (arg("auth-servise", name="service"), "not_in_inventory"),
        (arg('["auth-service"]', "json", name="service"), "bad_parameter"),
        (arg("--force", name="flags"), "bad_parameter"),
        (arg("true", "shell"), "literal_error"),
        (step(2, args=GOOD["steps"][2]["args"] * 2), "duplicate_parameter"),
        (reading({"name": "file", "kind": "ref", "value": "backup"}), "bad_reference"),
        (reading({"name": "file", "kind": "ref", "value": "backup.__class__"}), "bad_reference"),
        (reading({"name": "file", "kind": "ref", "value": "backup.path"}, depends_on=[]), "bad_reference"),
        (GOOD | {"rollback": [GOOD["rollback"][0] | {"undoes": "nobody"}]}, "unknown_step"),
        (GOOD | {"rollback": [GOOD["rollback"][0] | {"call": "shell.run"}]}, "unknown_worker"),
    ],
    ids=lambda value: ascii(value)[:60] if isinstance(value, str) else "",
)  # fmt: skip
def test_an_attack_ends_as_an_issue(draft, code):
    start = time.monotonic()

    assert code in [found for found, _ in problems(draft)]

    assert time.monotonic() - start < 5


@pytest.mark.hostile
@pytest.mark.parametrize("at", ["9999-12-31 10:00", "9999-12-31t23:59-12:00", "0001-01-01t00:00+14:00"])
def test_a_time_at_the_end_of_the_calendar_is_an_issue(at):
    assert {code for code, _ in problems(step(2, at=at))} <= {"unusable", "bad_time"}


WORDS = st.one_of(
    st.text(max_size=8),
    st.sampled_from([
        "test", "backup", "deploy", "test-runner.run_tests", "k8s-deployer.deploy_service", "ops.read",
        "full", "auth-service", "auth_prod", "v2.1.4", "version", "service", "file", "backup.path", "nightly",
        "2am EST", "NaN", "1e999", '{"from": "test.path"}', "[[[[", "null", "\u202e", "all_tests_pass",
        "failed", ".", "",
    ]),
)  # fmt: skip
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def drafts(draw: st.DrawFn) -> Any:
    """The good plan with values anywhere in it replaced by words that fit, and by junk that does not."""
    draft = json.loads(json.dumps(GOOD))
    for _ in range(draw(st.integers(1, 4))):
        node: Any = draft
        key: Any = draw(st.sampled_from([*node]))
        while isinstance(node[key], list | dict) and node[key] and draw(st.integers(0, 3)):
            node = node[key]
            key = draw(st.sampled_from([*(range(len(node)) if isinstance(node, list) else node)]))
        node[key] = draw(st.one_of(WORDS, st.lists(WORDS, max_size=2), JUNK))
    return draft


@pytest.mark.hostile
@settings(max_examples=400)
@given(drafts() | JUNK)
def test_no_answer_gets_past_the_validator_or_breaks_it(draft):
    try:
        made = meant(json.dumps(draft))
    except InvalidPlan:
        event("issues")
        return
    event(type(made).__name__)
    if isinstance(made, Planned):
        assert validate(made.spec, CATALOGUE) == []
        assert made.spec.mandate == Mandate()
        assert made.spec.digest()


@pytest.mark.hostile
@pytest.mark.parametrize("depth", [10, 50, 100, 150, 200, 250, 300, 500, 900])
def test_nesting_of_any_depth_is_a_plan_or_an_issue(depth):
    with suppress(InvalidPlan):
        meant(check("[" * depth + "]" * depth))


@pytest.mark.parametrize("told", ['"goal": "another"', '"steps": []'])
def test_an_answer_that_says_something_twice_is_refused(told):
    with pytest.raises(InvalidPlan, match="is given twice"):
        wire.read(json.dumps(GOOD).removesuffix("}") + f", {told}}}", wire.Draft)
