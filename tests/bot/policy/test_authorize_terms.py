"""Who may do what, and what a plan needs before it may run. Deny by default."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.planner.validate import Catalogue
from bot.policy.authorize import (
    ROLES,
    Actor,
    Allowed,
    Refused,
    authorize,
    duration,
    mention,
    only_later,
    terms,
    who,
)
from storage.config import ON_CALL, SignoffConfig
from storage.contract.spec import Mandate, PlanSpec
from storage.reading.plan_view import PlanView
from tests.support.fakes import BACKUP, CONTRACTS, DEPLOY, NOW, READ, chain, contract, plan_spec, step, undo
from tests.support.samples.proposal import CATALOGUE, PLAN

CONFIG = SignoffConfig.model_validate({"people": {"approvers": ["BOB", "CAROL"], "admins": ["ROOT"]}})
PEOPLE = {"requester": "ANN", "approver": "BOB", "admin": "ROOT", "member": "EVE"}
STAGING = contract("deploy", names={"service": {"a": {"binding": "b", "environment": "staging"}}})
NOWHERE = contract("deploy", names={})

pytestmark = pytest.mark.authorize


def may(user: str, verb: str, plan: PlanView | None = PLAN, **fields: Any) -> bool:
    return authorize(Actor("T1", user, **fields), verb, plan, CONFIG) == Allowed()


def reason(user: str, verb: str, plan: PlanView | None = PLAN, **fields: Any) -> str:
    answer = authorize(Actor("T1", user, **fields), verb, plan, CONFIG)
    assert isinstance(answer, Refused)
    return answer.reason


@pytest.mark.parametrize("role", PEOPLE)
@pytest.mark.parametrize("verb", ROLES)
def test_a_verb_is_open_to_its_roles_and_to_nobody_else(verb, role):
    held = {"member", role} | ({"asked"} if role == "approver" else set())  # this plan asks the approvers

    assert may(PEOPLE[role], verb) is bool(ROLES[verb] & held)


@pytest.mark.parametrize("verb", ROLES)
@pytest.mark.parametrize("user", PEOPLE.values())
def test_who_is_barred_may_do_nothing(verb, user):
    assert reason(user, verb, barred="Guests may not.") == "Guests may not."


@pytest.mark.parametrize("verb", ROLES)
@pytest.mark.parametrize("user", PEOPLE.values())
def test_another_workspace_may_do_nothing(verb, user):
    answer = authorize(Actor("T2", user), verb, PLAN, CONFIG)

    assert answer == Refused("This plan belongs to another workspace.")


@pytest.mark.parametrize("verb", ["", "finish", "permit", "APPROVE", "approve ", "__class__"])
@pytest.mark.parametrize("user", PEOPLE.values())
def test_a_verb_that_is_not_listed_is_refused(verb, user):
    assert not may(user, verb)


def test_without_configured_approvers_nobody_approves():
    answer = authorize(Actor("T1", "BOB"), "approve", PLAN, SignoffConfig())

    assert isinstance(answer, Refused)
    assert "no such people are configured" in answer.reason


def test_an_author_may_not_approve_even_as_an_approver():
    plan = replace(PLAN, authors=("ANN", "BOB"))

    assert reason("BOB", "approve", plan) == (
        "You asked for this plan or changed it, so somebody else must approve it: <@CAROL>."
    )
    assert may("CAROL", "approve", plan)


def test_an_author_may_still_change_and_reject():
    plan = replace(PLAN, authors=("ANN", "BOB"))

    assert may("BOB", "amend", plan)
    assert may("BOB", "reject", plan)


def test_the_approver_list_is_the_one_of_today_not_the_one_on_the_card():
    plan = replace(PLAN, approvers=("EVE",))

    assert not may("EVE", "approve", plan)


def test_a_refusal_says_who_may():
    assert reason("EVE", "approve") == "You may not approve this plan. Those who may: <@BOB> or <@CAROL>."
    assert "<@ANN>" in reason("EVE", "amend")


def test_anybody_of_the_workspace_may_ask():
    assert may("EVE", "request", None)
    assert not may("EVE", "request", None, barred="Bots may not.")


def test_who_may_approve_is_said_without_the_authors():
    assert who(PLAN) == "<@BOB> or <@CAROL>"
    assert who(replace(PLAN, authors=("ANN", "BOB"))) == "<@CAROL>"
    assert "nobody" in who(replace(PLAN, authors=("BOB", "CAROL")))


def test_whoever_is_on_call_is_named_by_their_rota():
    assert mention(f"{ON_CALL}payments") == "whoever is on call (payments)"


def test_what_is_no_word_is_said_in_words():
    assert reason("EVE", "bring_in", None).startswith("You may not bring in runbooks. Those who may: <@BOB>")


# machines


@pytest.mark.parametrize(
    ("plan", "rights"),
    [
        (replace(PLAN, machine="ci"), {"request", "look", "cancel"}),
        (replace(PLAN, machine="other"), {"request"}),
        (PLAN, {"request"}),
        (None, {"request"}),
    ],
    ids=["its own", "of another machine", "of a person", "none"],
)
@pytest.mark.parametrize("user", PEOPLE.values())
def test_a_machine_asks_looks_at_its_own_and_takes_it_back_whoever_is_behind_it(plan, rights, user):
    assert {verb for verb in ROLES if may(user, verb, plan, machine="ci")} == rights


# authors


def later(**parts: float) -> Any:
    return {"not_before": NOW + timedelta(**parts), "not_after": NOW + timedelta(hours=100)}


BASE = plan_spec(step("s1"), step("s2", DEPLOY, schedule=later(hours=2)), rollback=(undo("u", "s2"),))


def edited(**fields: Any) -> PlanSpec:
    first, second = BASE.model_dump()["steps"]
    return PlanSpec.model_validate(BASE.model_dump() | {"steps": [first, second | fields]})


@pytest.mark.parametrize(
    "new",
    [
        BASE,
        edited(schedule=later(hours=3)),
        edited(schedule=later(hours=2)),
        edited(purpose="said otherwise"),
        plan_spec(step("s1", schedule=later(hours=1)), BASE.steps[1], rollback=BASE.rollback),
        edited(schedule=later(hours=3) | {"not_after": NOW + timedelta(hours=5)}),
    ],
    ids=["same", "later", "same time", "words", "first time given", "an end where there was none"],
)
def test_only_to_postpone_makes_nobody_an_author(new):
    assert only_later(BASE, new)


@pytest.mark.parametrize(
    "new",
    [
        edited(schedule=later(hours=1)),
        edited(schedule={}),
        edited(schedule=later(hours=3), parameters={"service": "b"}),
        edited(schedule=later(hours=3), failure_action="continue"),
        edited(schedule=later(hours=3), depends_on=["s1"]),
        edited(schedule=later(hours=3), contract="other"),
        edited(schedule=later(hours=3), binding="other"),
        BASE.model_copy(update={"rollback": ()}),
        BASE.model_copy(update={"continues": True}),
        BASE.model_copy(update={"steps": BASE.steps[1:]}),
        BASE.model_copy(update={"steps": BASE.steps[::-1]}),
        BASE.model_copy(update={"steps": (*BASE.steps, step("s3"))}),
    ],
    ids=["earlier", "at once", "parameter", "failure action", "order", "contract", "binding", "rollback",
         "continues", "dropped", "reordered", "added"],
)  # fmt: skip
def test_any_other_edit_makes_its_editor_an_author(new):
    assert not only_later(BASE, new)


TIMED = {"not_before": NOW + timedelta(hours=2), "not_after": NOW + timedelta(hours=4)}


@pytest.mark.parametrize(
    ("schedule", "postpones"),
    [
        ({"not_before": NOW + timedelta(hours=3), "not_after": NOW + timedelta(hours=5)}, True),
        ({"not_before": NOW + timedelta(hours=3), "not_after": NOW + timedelta(hours=4)}, True),
        ({"not_before": NOW + timedelta(hours=3), "not_after": NOW + timedelta(hours=6)}, False),
        ({"not_before": NOW + timedelta(hours=3)}, False),
        (TIMED | {"not_after": NOW + timedelta(hours=9)}, False),
        (TIMED | {"overrun": "stop"}, False),
    ],
)
def test_a_wider_window_is_more_than_a_postponement(schedule, postpones):
    old, new = (plan_spec(step("s1", DEPLOY, schedule=given)) for given in (TIMED, schedule))

    assert only_later(old, new) is postpones


@pytest.mark.parametrize(("hours", "postpones"), [(4, True), (3, False), (5, False)])
def test_a_first_time_keeps_the_end_that_was_given(hours, postpones):
    ends = [
        {"not_after": NOW + timedelta(hours=4)},
        later(hours=1) | {"not_after": NOW + timedelta(hours=hours)},
    ]
    old, new = (plan_spec(step("s1", DEPLOY, schedule=given)) for given in ends)

    assert only_later(old, new) is postpones


# terms


def asked(spec: PlanSpec, catalogue: Catalogue = CATALOGUE, config: SignoffConfig = CONFIG) -> Any:
    return terms(spec, catalogue, config, authors=("ANN",), now=NOW)


def test_a_plan_that_changes_nothing_needs_nobody():
    found = asked(plan_spec(step("s1"), step("s2")))

    assert (found.risk, found.needed) == ("low", 0)


ALLOWED = {"name": "free", "reason": "it may", "allow": True}
PERMISSIVE = SignoffConfig.model_validate({"people": {"approvers": ["BOB"]}, "policy": {"rules": [ALLOWED]}})
DRAFTS = contract("draft", changes=False, drafts=True, repeat="safe", target="")


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        (plan_spec(step("s1"), step("s2")), 0),
        (plan_spec(step("s1"), step("s2", DEPLOY)), 1),
        (plan_spec(step("s1"), step("s2", DRAFTS)), 1),
        (plan_spec(step("s1")).model_copy(update={"mandate": Mandate(extra=("ops.check",))}), 1),
    ],
    ids=["reads", "a change among reads", "a draft among reads", "reads that may grow"],
)
def test_what_a_machine_wants_done_a_person_approves_whatever_the_rules_allow(spec, needed):
    both = Catalogue([*CONTRACTS.values(), DRAFTS])
    asks = {"authors": ("ANN",), "now": NOW}

    assert terms(spec, both, PERMISSIVE, machine="ci", **asks).needed == needed
    assert terms(plan_spec(step("s1", DEPLOY)), both, PERMISSIVE, **asks).needed == 0


def test_a_change_in_production_is_high():
    found = asked(plan_spec(step("s1"), step("s2", DEPLOY)))

    assert (found.risk, found.needed) == ("high", 1)
    assert len(found.reasons) == 1
    assert "production" in found.reasons[0]


def test_a_change_elsewhere_is_medium():
    found = asked(plan_spec(step("s1", STAGING)), Catalogue([STAGING]))

    assert (found.risk, found.needed) == ("medium", 1)


def test_a_change_in_an_unnamed_place_is_high():
    found = asked(plan_spec(step("s1", NOWHERE)), Catalogue([NOWHERE]))

    assert found.risk == "high"
    assert "an unnamed environment" in found.reasons[0]


def test_what_only_the_rollback_changes_counts_too():
    assert asked(plan_spec(step("s1"), rollback=(undo("u", "s1"),))).risk == "high"


def test_the_number_of_approvals_comes_from_the_configuration():
    config = SignoffConfig.model_validate({"policy": {"approvals": {"high": 3}, "expires_hours": 2}})
    found = asked(plan_spec(), config=config)

    assert found.needed == 3
    assert found.expires_at == NOW + timedelta(hours=2)
    assert found.policy == config.version()


def test_of_several_quorums_the_one_of_most_people_counts():
    said = [
        {"name": name, "reason": "because", "when": {"effect": "changes"}, "require": asks}
        for name, asks in {"all": {"approvals": 2}, "data": {"approvals": 1, "from": ["DAVE"]}}.items()
    ]
    config = {"people": {"approvers": ["BOB", "CAROL"]}, "policy": {"rules": said}}

    assert asked(plan_spec(), config=SignoffConfig.model_validate(config)).needed == 2


@pytest.mark.parametrize(
    "change",
    [
        {"people": {"approvers": ["BOB"]}},
        {"policy": {"approvals": {"high": 2}}},
        {"windows": {"nightly": {"start": "02:00:00", "hours": 1, "zone": "UTC"}}},
    ],
    ids=["people", "policy", "windows"],
)
def test_another_policy_has_another_version(change):
    assert SignoffConfig.model_validate(change).version() != SignoffConfig().version()


def test_what_is_no_policy_does_not_change_its_version():
    assert SignoffConfig(workers=("a",)).version() == SignoffConfig().version()


def test_a_plan_takes_as_long_as_its_longest_chain():
    both = Catalogue([READ.model_copy(update={"typical": 10.0}), BACKUP.model_copy(update={"typical": 25.0})])

    assert duration(plan_spec(*chain("a", "b", "c")), both) == 30
    assert duration(plan_spec(*chain("a", "b"), step("c", BACKUP)), both) == 25
