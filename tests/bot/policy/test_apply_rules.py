"""The rules of signoff.toml: which speak of a plan, what they ask together, and what the card says of it."""

import json
import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.cards.card import card
from bot.config import BotSettings
from bot.context import Bot
from bot.inbox.clicks import on_click
from bot.planner.validate import Catalogue
from bot.plans.permits import permit
from bot.policy.authorize import terms
from bot.process import load_config
from storage.config import SignoffConfig, read_config
from storage.contract.spec import Mandate, PlanSpec, StepSpec
from storage.contract.states import PlanState
from storage.errors import BadConfig, NotAllowed
from storage.plans.lifecycle import Terms
from tests.support.fakes import (
    BACKUP,
    CONTRACTS,
    DEPLOY,
    NOW,
    Everybody,
    ask,
    contract,
    due,
    plan_spec,
    step,
    verbs,
)
from tests.support.places import ROOT
from tests.support.store import Store

STAGING = contract("try", names={"service": {"a": {"binding": "b", "environment": "staging"}}})
DRAFT = contract("draft", changes=False, drafts=True, target="")
CATALOGUE = Catalogue([*CONTRACTS.values(), STAGING, DRAFT])
PLAN = plan_spec(step("s1"), step("s2", DEPLOY))
PEOPLE = {"approvers": ["BOB", "CAROL"], "roles": {"dba": ["DAN", "SDBA"]}}
WINDOWS = {"nightly": {"start": "02:00:00", "hours": 2, "zone": "UTC"}}


def config(*rules: dict[str, Any], **policy: Any) -> SignoffConfig:
    named = [{"name": f"rule {n}", "reason": "so it is", **rule} for n, rule in enumerate(rules, 1)]
    services = {"services": {"a": {"replicas": 4}, "b": {}}}
    given = {"people": PEOPLE, "windows": WINDOWS, "policy": {"rules": named, **policy}}
    return SignoffConfig.model_validate(given | {"inventory": services})


def asked(*rules: dict[str, Any], spec: PlanSpec = PLAN, by: str = "ANN", **policy: Any) -> Terms:
    return terms(spec, CATALOGUE, config(*rules, **policy), authors=(by,), now=NOW)


def needs(found: Terms) -> list[tuple[int, tuple[str, ...]]]:
    return [(q.needed, () if q.general else q.of) for q in found.demands.quorums]


# which rules speak


@pytest.mark.parametrize(
    "when",
    [
        {},
        {"worker": "ops"},
        {"action": "dep*"},
        {"action": ["nothing", "deploy"]},
        {"effect": "changes"},
        {"effect": "reads"},
        {"environment": "production"},
        {"target": "service:*"},
        {"risk": "high"},
        {"risk": ["low", "medium"]},
        {"requester": "ANN"},
        {"days": "sun"},
        {"after": "23:00:00"},
        {"before": "23:30:00"},
        {"after": "22:00:00", "before": "06:00:00"},
        {"over": {"steps": 1}},
        {"over": {"replicas": 3}},
        {"worker": "ops", "environment": "prod*", "risk": "high", "days": ["sat", "sun"]},
    ],
    ids=str,
)
def test_a_rule_speaks_of_what_fits(when):
    assert asked({"when": when, "deny": True}).demands.denied == ("rule 1: so it is",)


@pytest.mark.parametrize(
    "when",
    [
        {"worker": "op"},
        {"action": "dep"},
        {"environment": "staging"},
        {"environment": ""},
        {"target": "service:b"},
        {"risk": "medium"},
        {"requester": "BOB"},
        {"requester": "dba"},
        {"days": ["mon", "tue"]},
        {"after": "23:00:01"},
        {"before": "23:00:00"},
        {"after": "00:00:00", "before": "06:00:00"},
        {"over": {"steps": 2}},
        {"over": {"replicas": 4}},
        {"over": {"databases": 0}},
        {"effect": "reads", "risk": "high"},
        {"action": "deploy", "environment": "staging"},
    ],
    ids=str,
)
def test_a_rule_is_silent_on_what_does_not_fit(when):
    assert asked({"when": when, "deny": True}).demands.denied == ()


def test_a_rule_about_time_means_the_time_at_which_the_step_starts():
    monday = step("s1", DEPLOY, schedule={"not_before": NOW + timedelta(hours=2)})
    rule = {"when": {"days": "mon"}, "deny": True}

    assert asked(rule, spec=plan_spec(monday)).demands.denied
    assert not asked(rule, spec=plan_spec(step("s1", DEPLOY))).demands.denied


def test_how_far_a_plan_reaches_counts_every_service_and_database_once():
    many = plan_spec(
        step("s1", DEPLOY),
        step("s2", DEPLOY),
        step("s3", DEPLOY, parameters={"service": "b"}),
        step("s4", BACKUP, parameters={"database": "x"}),
        step("s5", BACKUP, parameters={"database": "y"}),
        step("s6", parameters={"database": "only read"}),
    )

    assert asked({"when": {"over": {"replicas": 4}}, "deny": True}, spec=many).demands.denied
    assert not asked({"when": {"over": {"replicas": 5}}, "deny": True}, spec=many).demands.denied
    assert asked({"when": {"over": {"databases": 1}}, "deny": True}, spec=many).demands.denied
    assert not asked({"when": {"over": {"databases": 2}}, "deny": True}, spec=many).demands.denied


# what they ask together


def test_without_rules_the_risk_decides_and_reads_ask_nobody():
    assert needs(asked()) == [(1, ())]
    assert needs(asked(spec=plan_spec(step("s1")))) == []
    assert needs(asked(approvals={"high": 2})) == [(2, ())]


@pytest.mark.parametrize(
    ("target", "said"),
    [("service:{environment}/{service}", "service a in production"), ("service:{service}", "service a in"),
     ("", "something by ops.ship in production"), ("environment:{environment}", "environment production")],
)  # fmt: skip
def test_why_it_is_risky_names_what_is_changed_as_people_do(target, said):
    text = {"type": "string"}
    fields = {"type": "object", "properties": {"service": text, "environment": text}}
    ship = contract("ship", target=target, parameters=fields)
    one = step("s1", ship, parameters={"service": "a", "environment": "production"})
    found = terms(plan_spec(one), Catalogue([ship]), config(), authors=("ANN",), now=NOW)

    assert found.reasons[0].startswith(f"changes {said}")
    assert "/" not in found.reasons[0]


def test_several_requires_add_up_to_the_strictest():
    found = asked(
        {"require": {"approvals": 2, "within_hours": 8}},
        {"require": {"approvals": 1, "second_factor": True, "within_hours": 2}},
        {"when": {"action": "deploy"}, "require": {"approvals": 1, "from": "dba"}},
    )

    assert needs(found) == [(2, ()), (1, ("DAN", "SDBA"))]
    assert (found.needed, found.demands.second_factor) == (2, True)
    assert found.expires_at == NOW + timedelta(hours=2)
    assert set(found.approvers) == {"BOB", "CAROL", "DAN", "SDBA"}


def test_a_rule_may_ask_for_less_than_the_risk_would():
    found = asked({"when": {"environment": "production"}, "require": {}}, approvals={"high": 2})

    assert needs(found) == [(1, ())]


def test_allow_covers_its_own_steps_alone():
    allowed = {"when": {"environment": "staging"}, "allow": True}
    tries = step("s1", STAGING)

    assert asked(allowed, spec=plan_spec(tries)).needed == 0
    assert asked(allowed, spec=plan_spec(tries, step("s2", DEPLOY))).needed == 1
    assert asked(allowed, {"require": {"approvals": 2}}, spec=plan_spec(tries)).needed == 2


def test_what_drafts_asks_a_person_whatever_a_rule_lets_through():
    drafts = plan_spec(step("s1", DRAFT))

    assert needs(asked(spec=drafts)) == [(1, ())]
    assert needs(asked({"allow": True}, spec=drafts)) == [(1, ())]
    assert not asked({"allow": True}, spec=drafts).demands.authors
    assert asked({"require": {"approvals": 2}}, spec=drafts).needed == 2


def test_leave_to_draft_later_is_asked_about_at_once():
    mandate = Mandate(extra=("ops.draft service=a x9",), max_worker_usd=1)
    epic = plan_spec(step("s1"), mandate=mandate)

    assert needs(asked(spec=epic)) == [(1, ())]
    assert needs(asked({"allow": True}, spec=epic)) == [(1, ())]
    assert needs(asked(spec=plan_spec(step("s1"), mandate=Mandate(extra=("ops.check service=a",))))) == []


def test_deny_wins():
    found = asked({"allow": True}, {"deny": True}, {"require": {}})

    assert found.demands.denied == ("rule 2: so it is",)


def test_authors_may_approve_only_where_every_rule_lets_them():
    lenient = {"when": {"risk": ["low", "medium"]}, "require": {"authors": True}}
    tries = plan_spec(step("s1", STAGING))

    assert asked(lenient, spec=tries).demands.authors
    assert not asked(spec=tries).demands.authors
    assert not asked(lenient, spec=plan_spec(step("s1", STAGING), step("s2", DEPLOY))).demands.authors
    assert not asked(lenient, {"require": {}}, spec=tries).demands.authors


def test_a_step_whose_time_ends_before_its_window_opens_is_denied_at_once():
    rule = {"require": {"window": "nightly"}}
    early = step("s1", DEPLOY, schedule={"not_after": NOW + timedelta(hours=2)})

    assert "when that opens" in asked(rule, spec=plan_spec(early)).demands.denied[0]
    assert not asked(rule, spec=plan_spec(step("s1", DEPLOY))).demands.denied


def test_what_may_be_overridden_is_what_the_rules_permit_for_every_changing_step():
    def glass(overrides: Sequence[str], **when: str) -> dict[str, Any]:
        return {"when": when, "break_glass": {"overrides": overrides, "from": ["DAN"]}}

    both = plan_spec(step("s1", DEPLOY), step("s2", STAGING))
    production = glass(["freeze", "window"], environment="production")

    assert [g.part for g in asked(production).demands.glass] == ["window", "freeze"]
    assert asked(production, spec=both).demands.glass == ()
    assert [g.part for g in asked(production, glass(["freeze"]), spec=both).demands.glass] == ["freeze"]


# a policy that does not parse


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('allow = true\ndeny = true\nname = "a"\nreason = "b"', "exactly one of allow, require, deny"),
        ('name = "a"\nreason = "b"', "exactly one of allow, require, deny, break_glass; this: none of them"),
        ('deny = false\nname = "a"\nreason = "b"', "policy.rules.0.deny"),
        ('deny = true\nname = "a"', "policy.rules.0.reason: This is missing"),
        ('deny = true\nname = "a"\nreason = ""', "policy.rules.0.reason"),
        ('deny = true\nname = "a"\nreason = "b"\nwhen = { enviroment = "x" }', "enviroment: There is no"),
        ('deny = true\nname = "a"\nreason = "b"\nwhen = { risk = "huge" }', "policy.rules.0.when.risk"),
        ('name = "a"\nreason = "b"\nrequire = { approvals = 0 }', "policy.rules.0.require.approvals"),
        ('name = "a"\nreason = "b"\nrequire = { from = "dbas" }', "names 'dbas', which is neither"),
        ('name = "a"\nreason = "b"\nrequire = { approvals = 2, from = "U1" }', "and only 1 could give one"),
        ('name = "a"\nreason = "b"\nrequire = { window = "noon" }', "names the window 'noon'"),
        ('name = "a"\nreason = "b"\nrequire = { authors = true }', "authors approve only what is not high"),
        ('name = "a"\nreason = "b"\nbreak_glass = { overrides = ["digest"], from = "U1" }', "overrides"),
        ('name = "a"\nreason = "b"\nbreak_glass = { overrides = ["freeze"] }', "break_glass.from"),
    ],
)  # fmt: skip
def test_a_policy_that_does_not_parse_is_refused_with_its_place(tmp_path: Path, rule, said):
    path = tmp_path / "signoff.toml"
    path.write_text(f"[[policy.rules]]\n{rule}\n")

    with pytest.raises(BadConfig, match="has problems") as caught:
        read_config(path)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[people]\napprovers = ["@bob"]', "approvers names '@bob', which is no Slack id"),
        ('[people]\nadmins = ["carol"]', "admins names 'carol', which is no Slack id"),
        ('[people]\napprovers = ["U1"]\n[policy.approvals]\nhigh = 2', "high asks for 2 approvals"),
    ],
)
def test_a_policy_that_nobody_could_ever_meet_is_refused(tmp_path: Path, text, said):
    path = tmp_path / "signoff.toml"
    path.write_text(text)

    with pytest.raises(BadConfig) as caught:
        read_config(path)

    assert said in str(caught.value)


def test_a_role_without_people_is_no_way_round_a_rule(tmp_path: Path):
    path = tmp_path / "signoff.toml"
    path.write_text('[people]\napprovers = ["BOB"]\n[people.roles]\ndba = []\n')

    with pytest.raises(BadConfig, match=r"people\.roles\.dba"):
        read_config(path)


def test_the_examples_of_the_page_parse(tmp_path: Path):
    page = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "signoff.toml"
    path.write_text("\n".join(blocks))

    found = read_config(path)

    assert len(blocks) > 4
    assert len(found.policy.rules) > 4


# on the card, and at the click


def proposed(
    store: Store, made: SignoffConfig, *steps: StepSpec, groups: Everybody | None = None
) -> tuple[Bot, int]:
    plan_id = ask(store)
    spec = plan_spec(*steps) if steps else PLAN
    found = terms(spec, Catalogue(store.contracts()), made, authors=("ANN",), now=store.clock())
    store.propose(plan_id, spec, found, author="planner")
    return Bot(store, made, groups or Everybody(SDBA=["DORA"]), lambda trigger, view: None), plan_id


def clicks(bot: Bot, plan_id: int, user: str) -> None:
    view = bot.store.view(plan_id)
    value = {"p": plan_id, "r": view.revision, "d": view.digest[:16]}
    on_click(bot, {"action": "approve", "user": user, "channel": "C1", "value": json.dumps(value)})


def shown(store: Store, plan_id: int) -> str:
    return json.dumps(card(store.view(plan_id), store.clock())[1], ensure_ascii=False)


def test_the_reason_stands_on_the_card_before_anybody_clicks(lite):
    rule = {"require": {"approvals": 2, "second_factor": True}}
    _, plan_id = proposed(lite, config(rule, {"require": {"from": "dba"}}))

    text = shown(lite, plan_id)

    assert "rule 1: so it is (2 approvals, a second factor)" in text
    assert "2 of <@BOB> or <@CAROL> and 1 of <@DAN> or <!subteam^SDBA> must approve, with a code" in text


def test_that_a_plan_must_be_read_first_stands_on_the_card(lite):
    _, plan_id = proposed(lite, config({"require": {"approvals": 1, "read": True}}))

    assert "read before it is approved" in shown(lite, plan_id)
    assert "can approve, after opening Details" in shown(lite, plan_id)


def test_what_policy_denies_is_shown_and_nobody_can_approve_it(lite):
    bot, plan_id = proposed(lite, config({"deny": True, "reason": "nobody is there"}))

    assert "*not allowed by policy:* rule 1: nobody is there" in shown(lite, plan_id)
    assert '"Approve"' not in shown(lite, plan_id)
    with pytest.raises(NotAllowed, match="Policy does not allow this plan: rule 1: nobody is there"):
        clicks(bot, plan_id, "BOB")
    view = lite.view(plan_id)
    with pytest.raises(NotAllowed):
        lite.approve(plan_id, 1, view.digest, team="T1", user="BOB", policy="p")


def test_a_plan_that_only_reads_can_be_denied_too(lite):
    _, plan_id = proposed(lite, config({"deny": True}), step("s1"))

    assert lite.view(plan_id).state == PlanState.proposed


def test_each_quorum_must_be_met_by_its_own_people(lite):
    bot, plan_id = proposed(lite, config({"require": {}}, {"require": {"from": "dba"}}))

    clicks(bot, plan_id, "BOB")

    assert lite.view(plan_id).state == PlanState.proposed
    assert "1 more of <@DAN> or <!subteam^SDBA> needed" in shown(lite, plan_id)
    assert "from <@BOB>" not in shown(lite, plan_id)
    clicks(bot, plan_id, "DORA")
    assert lite.view(plan_id).state == PlanState.approved


def test_an_approver_whom_the_rule_does_not_ask_is_refused(lite):
    bot, plan_id = proposed(lite, config({"require": {"from": "dba"}}))

    with pytest.raises(
        NotAllowed, match=r"You may not approve this plan. Those who may: <@DAN> or <!subteam\^SDBA>"
    ):
        clicks(bot, plan_id, "BOB")

    assert verbs(lite, plan_id)[-1] == "refuse"


def test_an_author_approves_where_a_rule_lets_them(lite):
    made = config({"when": {"risk": ["low", "medium"]}, "require": {"authors": True, "from": "ANN"}})
    lite.publish([STAGING])
    bot, plan_id = proposed(lite, made, step("s1", STAGING))

    clicks(bot, plan_id, "ANN")

    assert lite.view(plan_id).state == PlanState.approved


def test_a_window_of_a_rule_holds_the_step_until_it_opens(lite):
    bot, plan_id = proposed(lite, config({"when": {"effect": "changes"}, "require": {"window": "nightly"}}))
    clicks(bot, plan_id, "BOB")
    permit(bot)
    assert due(lite) == [1]  # the read goes on
    lite.clock.advance(hours=3, minutes=1)

    permit(bot)

    assert lite.view(plan_id).step("s2").withheld == ""


def test_a_policy_that_was_raised_meanwhile_takes_no_approval_of_the_old_card(lite):
    _, plan_id = proposed(lite, config())
    later = Bot(lite, config(approvals={"high": 2}), Everybody(), lambda trigger, view: None)

    with pytest.raises(NotAllowed, match="the policy now asks for 2 approvals, and the card says 1"):
        clicks(later, plan_id, "BOB")

    assert lite.view(plan_id).approved_by == ()


# a process that must not start


@pytest.mark.parametrize(
    ("text", "token", "said"),
    [
        ('[people]\napprovers = []\n', "xoxb-1", "names no approvers"),
        ('[people]\napprovers = ["BOB"]\n', "  ", "SLACK_BOT_TOKEN is not set"),
        ('[people]\napprovers = ["BOB"]\n[[policy.rules]]\ndeny = true\n', "xoxb-1", "policy.rules.0.name"),
        ('[people]\napprovers = ["BOB"]\n[policy]\nrules = "none"\n', "xoxb-1", "policy.rules"),
        ('[people]\napprovers = ["BOB"\n', "xoxb-1", "cannot be read"),
    ],
)  # fmt: skip
def test_the_bot_does_not_start_without_approvers_secrets_or_a_policy(tmp_path: Path, text, token, said):
    path = tmp_path / "signoff.toml"
    path.write_text(text)
    settings = BotSettings(config=path).model_copy(
        update={"slack_bot_token": SecretStr(token), "slack_app_token": SecretStr("xapp-1")}
    )

    with pytest.raises(BadConfig) as caught:
        load_config(settings)

    assert said in str(caught.value)
