"""The one door, held against a list that was written by hand: not read from the code that it checks."""

from dataclasses import replace

import pytest

from bot.policy.authorize import ROLES, Actor, Allowed, Refused, authorize, entitled, only_later, terms
from storage.config import SignoffConfig
from storage.contract.demands import Demands, Overridable, Quorum
from storage.contract.spec import PlanSpec
from storage.reading.plan_view import PlanView
from tests.support.fakes import CONTRACTS, DEPLOY, NOW, READ, chain, plan_spec, step
from tests.support.samples.proposal import CATALOGUE, PLAN

pytestmark = pytest.mark.authorize

RULES = [
    {"name": "databases", "reason": "r", "require": {"approvals": 2, "from": ["DBA", "S0DBAS"]}},
    {"name": "at night", "reason": "r", "break_glass": {"overrides": ["freeze"], "from": ["FIRE"]}},
]
PEOPLE = {"approvers": ["BOB", "CAROL"], "admins": ["ROOT"]}
CONFIG = SignoffConfig.model_validate({"people": PEOPLE, "policy": {"rules": RULES}})
GLASS = (Overridable(part="freeze", of=("FIRE", "LEFT")),)
# One asks the approvers in general; one asks database people alone, of whom one has left the rules since.
GENERAL = replace(PLAN, demands=Demands(quorums=(Quorum(needed=1, of=("BOB",), general=True),), glass=GLASS))
SPECIAL = replace(
    PLAN, demands=Demands(quorums=(Quorum(needed=2, of=("DBA", "S0DBAS", "LEFT")),), glass=GLASS)
)
EVERYBODY = ("ANN", "BOB", "ROOT", "DBA", "FIRE", "LEFT", "EVE")
MAY = {  # (of GENERAL, of SPECIAL): ann asked for it; bob approves in general; eve is anybody
    "request": (EVERYBODY, EVERYBODY),
    "look": (EVERYBODY, EVERYBODY),
    "amend": (("ANN", "BOB"), ("ANN", "BOB", "DBA")),
    "approve": (("BOB",), ("DBA",)),
    "reject": (("ANN", "BOB"), ("ANN", "BOB", "DBA")),
    "cancel": (("ANN", "BOB", "ROOT"), ("ANN", "BOB", "DBA", "ROOT")),
    "postpone": (("ANN", "BOB"), ("ANN", "BOB", "DBA")),
    "answer": (("ANN", "BOB"), ("ANN", "BOB", "DBA")),
    "resolve": (("BOB",), ("DBA",)),
    "take_over": (("BOB",), ("DBA",)),
    "break_glass": (("FIRE",), ("FIRE",)),
    "review": (("BOB", "ROOT"), ("BOB", "DBA", "ROOT")),
    "save": (("ANN", "BOB"), ("ANN", "BOB", "DBA")),
    "bring_in": (("BOB",), ("BOB", "DBA")),
    "tend": (("BOB", "ROOT"), ("BOB", "DBA", "ROOT")),
    "stop": (("ROOT",), ("ROOT",)),
    "resume": (("ROOT",), ("ROOT",)),
    "run": ((), ()),
    "enrol": ((), ()),
    "relay": ((), ()),
    "admit": ((), ()),
    "audit": ((), ()),
}
OPERATOR = {"look", "stop", "resume", "run", "enrol", "relay", "admit", "audit"}


def able(verb: str, plan: PlanView | None) -> set[str]:
    return {u for u in EVERYBODY if authorize(Actor("T1", u), verb, plan, CONFIG) == Allowed()}


def said(user: str, verb: str, plan: PlanView | None, config: SignoffConfig = CONFIG) -> str:
    answer = authorize(Actor("T1", user), verb, plan, config)
    assert isinstance(answer, Refused)
    return answer.reason


def test_every_verb_stands_in_the_list():
    assert set(ROLES) == set(MAY)


@pytest.mark.parametrize("verb", MAY)
def test_exactly_these_may(verb):
    general, special = MAY[verb]

    assert able(verb, GENERAL) == set(general)
    assert able(verb, SPECIAL) == set(special)


@pytest.mark.parametrize("verb", MAY)
def test_without_a_plan_only_what_concerns_none_is_open(verb):
    free = {"request": set(EVERYBODY), "look": set(EVERYBODY), "stop": {"ROOT"}, "resume": {"ROOT"}}
    lasting = {"BOB", "ROOT"} if verb in {"cancel", "review", "tend"} else {"BOB"}
    roles = {"amend", "reject", "cancel", "postpone", "answer", "review", "save", "bring_in", "tend"}

    assert able(verb, None) == free.get(verb, lasting if verb in roles else set())


@pytest.mark.parametrize("user", ["terminal:root", "BOB", "ROOT"])
def test_an_operator_runs_and_looks_and_decides_nothing(user):
    operator = Actor("T1", user, terminal=True)
    open_to = {verb for verb in MAY if authorize(operator, verb, GENERAL, CONFIG) == Allowed()}

    assert open_to == OPERATOR


def test_a_member_of_a_group_may_what_the_group_may():
    member, other = (
        Actor("T1", "EVE", groups=frozenset({"S0DBAS"})),
        Actor("T1", "EVE", groups=frozenset({"S1"})),
    )

    assert authorize(member, "approve", SPECIAL, CONFIG) == Allowed()
    assert isinstance(authorize(other, "approve", SPECIAL, CONFIG), Refused)
    assert isinstance(authorize(member, "approve", GENERAL, CONFIG), Refused)
    assert entitled(SPECIAL, CONFIG) == {"DBA", "S0DBAS"}


def test_a_denied_plan_is_approved_by_nobody_and_says_why():
    denied = replace(GENERAL, demands=Demands(denied=("no Friday evenings", "frozen")))

    assert able("approve", denied) == set()
    assert said("BOB", "approve", denied) == "Policy does not allow this plan: no Friday evenings; frozen."


def test_an_author_approves_only_where_a_rule_says_so():
    mine = replace(GENERAL, authors=("ANN", "BOB"))
    allowed = replace(mine, demands=Demands(authors=True, quorums=GENERAL.demands.quorums))

    assert able("approve", mine) == set()
    assert able("approve", allowed) == {"BOB"}


def test_who_broke_the_glass_or_made_the_plan_does_not_review_it():
    broken = replace(GENERAL, broken_by="BOB", authors=("ANN", "ROOT"))

    assert able("review", broken) == set()
    assert able("review", replace(broken, authors=("ANN",))) == {"ROOT"}
    assert "somebody else must review" in said("BOB", "review", broken)


@pytest.mark.parametrize(
    ("verb", "plan", "sentence"),
    [
        ("approve", SPECIAL, "You may not approve this plan. Those who may: <@DBA> or <!subteam^S0DBAS>."),
        ("cancel", GENERAL,
         "You may not cancel this plan. Those who may: <@ANN> or <@BOB> or <@CAROL> or <@ROOT>."),
        ("stop", None, "You may not stop. Those who may: <@ROOT>."),
        ("break_glass", GENERAL,
         "You may not use the emergency override for this plan. Those who may: <@FIRE>."),
        ("take_over", SPECIAL,
         "You may not take over a step of this plan. Those who may: <@DBA> or <!subteam^S0DBAS>."),
        ("approve", None, "You may not approve. Those who may: nobody (no such people are configured)."),
        ("nonsense", GENERAL,
         "You may not nonsense this plan. Those who may: nobody (no such people are configured)."),
    ],
)  # fmt: skip
def test_a_refusal_names_those_who_may(verb, plan, sentence):
    assert said("EVE", verb, plan) == sentence


def test_what_nobody_is_configured_for_nobody_may():
    empty = SignoffConfig()

    assert all(
        isinstance(authorize(Actor("T1", user), verb, GENERAL, empty), Refused)
        for user in EVERYBODY
        for verb in ("approve", "resolve", "stop", "break_glass")
    )


# terms, duration and postponing, where a mutant once went unnoticed


def test_terms_ask_as_many_as_the_largest_quorum_and_name_everybody_asked():
    made = terms(plan_spec(step("s1", DEPLOY)), CATALOGUE, CONFIG, authors=("ANN",), now=NOW)
    reads = terms(
        plan_spec(step("s1", READ)), CATALOGUE, SignoffConfig(people=CONFIG.people), authors=(), now=NOW
    )

    assert (made.needed, made.risk) == (2, "high")
    assert {"DBA", "S0DBAS"} <= set(made.approvers)
    assert (reads.needed, reads.risk, reads.approvers) == (0, "low", ("BOB", "CAROL"))


def test_the_longest_chain_counts_and_what_nobody_offers_takes_no_time():
    unknown = step("x", READ).model_copy(update={"action": "gone"})
    branches = plan_spec(*chain("a", "b", "c"), step("d"), unknown)
    joined = plan_spec(step("z", depends_on=("a", "b")), step("a"), step("b", depends_on=("a",)))

    assert terms(branches, CATALOGUE, CONFIG, authors=(), now=NOW).seconds == 3 * CONTRACTS["check"].typical
    assert terms(joined, CATALOGUE, CONFIG, authors=(), now=NOW).seconds == 3 * CONTRACTS["check"].typical
    assert terms(plan_spec(unknown), CATALOGUE, CONFIG, authors=(), now=NOW).seconds == 0


def test_a_plan_of_one_step_can_be_postponed_too():
    one = plan_spec(step("s1", DEPLOY))
    later = plan_spec(step("s1", DEPLOY, schedule={"not_before": NOW}, purpose="said otherwise"))

    assert only_later(one, later)
    assert only_later(later, later)
    assert not only_later(later, one)


def test_the_worst_step_decides_the_risk_and_an_empty_plan_has_none():
    mixed = terms(
        plan_spec(step("a", READ), step("b", DEPLOY), step("c", READ)), CATALOGUE, CONFIG, authors=(), now=NOW
    )
    empty = terms(PlanSpec(goal="nothing", steps=()), CATALOGUE, CONFIG, authors=(), now=NOW)

    assert mixed.risk == "high"
    assert (empty.risk, empty.seconds) == ("low", 0.0)
