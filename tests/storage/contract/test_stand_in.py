"""What may stand in for a failed step: the same action on the same things, or what policy names."""

from typing import Any

import pytest

from bot.planner.evaluation import NOW
from bot.planner.prepare import complete
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.contract.capability import Check
from storage.contract.spec import Mandate, StepSpec
from storage.contract.stand_in import alternative, answered, meets, same_kind
from tests.support.fakes import CONTRACTS, READ, contract, plan_spec, step

MIRROR = contract("check", worker="mirror", changes=False, repeat="safe")
LIST = contract("list", changes=False, repeat="safe")
GREEN = Check(field="failed", op="eq", value=0)
LOST = step("look", READ, success_criteria=(GREEN,))
NAMED = Mandate(alternatives=("ops.list service=a|b for ops.check service=a",))


def other(made: Any = READ, service: str = "a", **fields: Any) -> StepSpec:
    parameters = {"service": service}
    given = {"success_criteria": (GREEN,), "parameters": parameters, "binding": made.binding(parameters)}
    return step("other", made, **given | fields)


@pytest.mark.parametrize(
    ("new", "mandate", "found"),
    [
        (other(), Mandate(), True),
        (other(MIRROR), Mandate(), True),
        (other(service="b"), Mandate(), False),
        (other(MIRROR, "b"), Mandate(), False),
        (other(LIST), Mandate(), False),
        (other(LIST), NAMED, True),
        (other(LIST, "b"), NAMED, True),
        (other(LIST, "c"), NAMED, False),
        (other(MIRROR, "c"), NAMED, False),
        (other(parameters={"service": "a", "environment": "x"}), Mandate(), False),
    ],
)
def test_the_same_action_on_the_same_things_or_what_is_named_is_of_the_same_kind(new, mandate, found):
    assert same_kind(mandate, LOST, new) is found
    assert meets(mandate, LOST, new) is found


def test_what_is_named_for_one_thing_is_not_named_for_another():
    lost = step("look", READ, parameters={"service": "b"}, binding=READ.binding({"service": "b"}))

    assert not same_kind(NAMED, lost, other(LIST))


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, True),
        ({"success_criteria": (Check(field="version", op="exists"), GREEN)}, True),
        ({"success_criteria": ()}, False),
        ({"success_criteria": (Check(field="failed", op="ge", value=0),)}, False),
        ({"failure_action": "continue"}, False),
        ({"failure_action": "abort"}, False),
    ],
)
def test_it_is_held_to_the_criteria_and_to_the_question_of_what_it_stands_in_for(fields, found):
    assert meets(Mandate(), LOST, other(**fields)) is found


def test_a_step_may_fail_as_quietly_as_the_one_that_it_stands_in_for():
    quiet = LOST.model_copy(update={"failure_action": "continue"})

    assert meets(Mandate(), quiet, other(failure_action="continue"))


def test_what_was_there_before_answers_nothing():
    child = plan_spec(other())

    assert answered(Mandate(), LOST, child, {"look"})
    assert not answered(Mandate(), LOST, child, {"look", "other"})


@pytest.mark.parametrize("text", ["ops.list", "ops.list instead of ops.check", "ops.list for check", " for "])
def test_what_cannot_be_read_names_nothing_and_is_refused_in_the_configuration(text):
    with pytest.raises(ValueError, match="is not of the form"):
        alternative(text)
    with pytest.raises(ValueError, match="is not of the form"):
        SignoffConfig.model_validate({"policy": {"alternatives": [text]}})


def test_a_plan_is_approved_with_what_policy_names_for_its_own_steps():
    names = ["ops.list service=a for ops.check service=a", "ops.list for ops.check service=b"]
    config = SignoffConfig.model_validate({"policy": {"alternatives": names}})
    plan, issues = complete(plan_spec(LOST), Catalogue([*CONTRACTS.values(), LIST]), config, NOW)

    assert (issues, plan.mandate.alternatives) == ([], (names[0],))
    assert "alternatives" not in str(SignoffConfig().rules())
    assert config.version() != SignoffConfig().version()
