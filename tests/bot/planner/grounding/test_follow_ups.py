"""Words that lean on what was before, and the plan with another thing in it."""

import pytest

from bot.planner.evaluation import config
from bot.planner.grounding.follow_ups import FollowUp, follow_up, same_for, scaled
from bot.planner.grounding.names import named
from bot.planner.runbooks.questions import NoPlan
from storage.contract.spec import PlanSpec, StepSpec


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("now the same for checkout", FollowUp("same", "checkout")),
        ("and please do the same thing for checkout.", FollowUp("same", "checkout")),
        ("again", FollowUp("again")),
        ("do it again please", FollowUp("again")),
        ("like last time", FollowUp("again")),
        ("undo the last deploy", FollowUp("undo")),
        ("roll back the latest release of checkout", FollowUp("undo", "checkout")),
        ("add 2 replicas to auth-service", FollowUp("more", "auth-service", 2)),
        ("add two more replicas to auth-service in prod", FollowUp("more", "auth-service in prod", 2)),
        ("remove 1 replica from checkout", FollowUp("fewer", "checkout", 1)),
        ("scale checkout up by 3", FollowUp("more", "checkout", 3)),
        ("scale checkout down by 1 replica at 2am", FollowUp("fewer", "checkout at 2am", 1)),
        ("deploy auth-service v2.1.4 to production", None),
        ("scale auth-service to 5", None),
        ("undo the migration of auth_prod", None),
        ("don't add 2 replicas to auth-service", None),
    ],
)  # fmt: skip
def test_what_leans_on_what_was_before_is_told_from_what_stands_for_itself(said, meant):
    assert follow_up(said) == meant


def plan(service: str = "auth-service", database: str = "auth_prod") -> PlanSpec:
    backup = StepSpec(
        id="backup", worker="db-backup", action="backup_database", parameters={"database": database}
    )
    deploy = StepSpec(
        id="deploy", worker="k8s-deployer", action="deploy_service", depends_on=("backup",),
        purpose=f"Bring {service} live", parameters={"service": service, "version": "v2.1.4"},
    )  # fmt: skip
    return PlanSpec(goal=f"Deploy {service}", steps=(backup, deploy))


def test_the_same_for_another_takes_what_belongs_to_it():
    made = same_for(plan(), "checkout", config())

    assert made == plan("checkout", "orders_prod")


def test_where_it_is_not_plain_what_is_replaced_nothing_is():
    assert same_for(plan(), "auth-service", config()) is None
    assert same_for(plan(), "something else", config()) is None


def test_what_the_other_does_not_have_is_said():
    look = StepSpec(id="look", worker="http-check", action="check_http", parameters={"endpoint": "auth-prod"})
    touch = StepSpec(id="go", worker="k8s-deployer", action="restart", parameters={"service": "auth-service"})
    with pytest.raises(NoPlan, match="no endpoint for it"):
        same_for(PlanSpec(goal="g", steps=(look, touch)), "checkout", config())


def test_a_number_becomes_the_whole():
    assert (
        scaled(FollowUp("more", "checkout in production", 2), 3)
        == "scale checkout to 5 replicas in production"
    )
    with pytest.raises(NoPlan, match="3 run now"):
        scaled(FollowUp("fewer", "checkout", 4), 3)


def test_a_longer_name_is_not_taken_for_the_shorter_in_it():
    found = named(["restart auth-service-2 and AUTH-SERVICE, then auth_prod"], config())

    assert found == [("databases", "auth_prod"), ("services", "auth-service")]
