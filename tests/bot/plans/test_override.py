"""Breaking the glass: where a rule permits it, in two steps, heard by all, and looked at by somebody else."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.cards.card import card
from bot.cards.thread import message, notice
from bot.context import OUTSIDE, Bot
from bot.inbox.forms import on_form
from bot.inbox.requests import on_command
from bot.planner.validate import Catalogue
from bot.plans.permits import permit
from bot.policy.authorize import terms
from storage.config import SignoffConfig
from storage.contract.spec import StepSpec
from storage.contract.states import PlanState
from storage.errors import Conflict, NotAllowed, NotFound, SignoffError
from tests.support.fakes import (
    DEPLOY,
    NOW,
    Everybody,
    Remembering,
    approve,
    ask,
    claim,
    due,
    messages,
    plan_spec,
    step,
    tamper,
    verbs,
)
from tests.support.samples.second_factor import SAFE, code, enrol, filled
from tests.support.store import Store

FIRE = {"name": "in a fire", "reason": "somebody must", "when": {"environment": "production"}}
FREEZE = {
    "start": NOW - timedelta(hours=1),
    "end": NOW + timedelta(hours=8),
    "zone": "UTC",
    "reason": "sales",
}
WINDOW = {"name": "at night", "reason": "quiet", "require": {"approvals": 2, "window": "nightly"}}


def config(*parts: str, **more: Any) -> SignoffConfig:
    rules = [FIRE | {"break_glass": {"overrides": parts, "from": ["OLGA", "SONCALL"]}}] if parts else []
    return SignoffConfig.model_validate({
        "people": {"approvers": ["BOB", "CAROL"]}, "policy": {"rules": [WINDOW, *rules]},
        "windows": {"nightly": {"start": "02:00:00", "hours": 2, "zone": "UTC"}}, **more,
    })  # fmt: skip


def marked(made: SignoffConfig) -> SignoffConfig:
    """The same, and a second factor besides."""
    given = made.model_dump(by_alias=True, exclude_none=True)
    given["policy"]["rules"][0]["require"]["second_factor"] = True
    return SignoffConfig.model_validate(given)


def proposed(store: Store, made: SignoffConfig, *steps: StepSpec) -> tuple[Bot, int]:
    plan_id, spec = ask(store), plan_spec(*steps) if steps else plan_spec(step("s1", DEPLOY))
    found = terms(spec, Catalogue(store.contracts()), made, authors=("ANN",), now=store.clock())
    store.propose(plan_id, spec, found, author="planner")
    return Bot(store, made, Everybody(SONCALL=["OSKAR"]), lambda trigger, view: None), plan_id


def says(bot: Bot, user: str, words: str) -> str:
    return on_command(bot, {"user": user, "channel": "C1", "text": words, "trigger": "t"})


def breaks(bot: Bot, plan_id: int, user: str = "OLGA") -> str:
    said = says(bot, user, f"break-glass {plan_id} the shop is down")
    digest = bot.store.view(plan_id).digest[:8]
    assert f"`/plan break-glass {plan_id} confirm {digest}`" in said
    return says(bot, user, f"break-glass {plan_id} confirm {digest}")


@pytest.mark.parametrize("user", ["OLGA", "OSKAR"])
def test_everything_that_stands_in_the_way_is_overridden_in_two_steps(lite, user):
    bot, plan_id = proposed(lite, config("window", "freeze", "approvals", freezes={"sale": FREEZE}))
    said = says(bot, user, f"break-glass {plan_id} the shop is down")
    assert "This would override the freeze and the window and the approvals" in said
    assert lite.view(plan_id).overrides == ()
    assert lite.view(plan_id).state == PlanState.proposed

    breaks(bot, plan_id, user)
    permit(bot)

    view = lite.view(plan_id)
    assert (view.state, view.broken_by, view.unreviewed) == (PlanState.approved, user, True)
    assert len(due(lite)) == 1
    assert claim(lite, plan_id, "s1") is not None


def test_it_is_announced_journalled_and_waits_for_a_review(lite):
    bot, plan_id = proposed(lite, config("window", "approvals"))
    breaks(bot, plan_id)

    (told,) = messages(lite, "glass")
    text, _ = notice("glass", told.text, told.user)
    assert (told.channel, told.urgent) == ("C1", True)
    assert (
        f"<@OLGA> used the emergency override for plan {plan_id}: window and approvals: the shop is down"
        in text
    )
    found = {event.verb: event for event in lite.events(plan_id)}
    assert found["break_glass"].data["reason"] == found["override"].data["reason"] == "the shop is down"
    assert (found["override"].actor, found["approve"].actor) == ("OLGA", "OLGA")
    assert "used the emergency override" in message("decision", lite.view(plan_id), found["approve"], NOW)[0]
    drawn = json.dumps(card(lite.view(plan_id), NOW)[1])
    assert "emergency override, to be reviewed" in drawn
    assert "nobody approved; <@OLGA> overrode the window and the approvals" in drawn
    summary = message("summary", lite.view(plan_id), None, NOW)
    assert "<@ANN>; <@OLGA> overrode the window and the approvals" in json.dumps(summary)
    assert f"nobody has reviewed it yet: {plan_id}" in says(bot, "EVE", "list")


def test_somebody_else_reviews_it(lite):
    bot, plan_id = proposed(lite, config("window", "approvals"))
    breaks(bot, plan_id)
    for user in ("OLGA", "ANN"):
        with pytest.raises(NotAllowed, match="somebody else must review it"):
            says(bot, user, f"reviewed {plan_id} fine")
    with pytest.raises(NotAllowed, match="You may not"):
        says(bot, "EVE", f"reviewed {plan_id} fine")
    with pytest.raises(SignoffError, match="what you found"):
        says(bot, "BOB", f"reviewed {plan_id}")

    says(bot, "BOB", f"reviewed {plan_id} it was right")

    assert not lite.view(plan_id).unreviewed
    assert lite.unreviewed() == []
    assert lite.events(plan_id)[-1].data["text"] == "it was right"
    with pytest.raises(Conflict, match="Nothing about plan"):
        says(bot, "BOB", f"reviewed {plan_id} again")


@pytest.mark.parametrize("user", ["ANN", "BOB", "EVE", "GUS"])
def test_whom_no_rule_names_breaks_nothing(lite, user):
    bot, plan_id = proposed(lite, config("approvals", "window"))
    bot.people.barred["GUS"] = "Guests may not."

    with pytest.raises((NotAllowed, NotFound)):  # a guest sees no plan at all
        says(bot, user, f"break-glass {plan_id} please")

    assert verbs(lite, plan_id)[-1] == "refuse"


def test_what_the_rule_does_not_permit_is_not_overridden(lite):
    bot, plan_id = proposed(lite, config("window", freezes={"sale": FREEZE}))

    with pytest.raises(NotAllowed, match=r"No rule lets you override the freeze.*: sales"):
        says(bot, "OLGA", f"break-glass {plan_id} the shop is down")

    assert verbs(lite, plan_id)[-1] == "refuse"


def test_the_second_step_is_the_same_persons_soon_and_about_the_same_plan(lite):
    bot, plan_id = proposed(lite, config("window", "approvals"))
    word = f"break-glass {plan_id} confirm {lite.view(plan_id).digest[:8]}"
    with pytest.raises(Conflict, match="say first why"):
        says(bot, "OLGA", word)
    says(bot, "OLGA", f"break-glass {plan_id} the shop is down")
    with pytest.raises(Conflict, match="say first why"):
        says(bot, "OSKAR", word)
    with pytest.raises(SignoffError, match="Please say why"):
        says(bot, "OLGA", f"break-glass {plan_id} confirm 00000000")
    lite.clock.advance(minutes=11)
    with pytest.raises(Conflict, match="say first why"):
        says(bot, "OLGA", word)

    assert lite.view(plan_id).overrides == ()


def test_an_edited_plan_needs_a_glass_of_its_own(lite):
    bot, plan_id = proposed(lite, config("window", "approvals"))
    says(bot, "OLGA", f"break-glass {plan_id} the shop is down")
    word = f"break-glass {plan_id} confirm {lite.view(plan_id).digest[:8]}"
    spec = plan_spec(step("s1", DEPLOY, parameters={"service": "b"}))
    found = terms(spec, bot.catalogue(), bot.config, authors=("ANN",), now=NOW)
    lite.amend(plan_id, spec, found, author="ANN", after=1, changes=["x"])

    with pytest.raises(SignoffError):
        says(bot, "OLGA", word)


def test_what_policy_denies_no_glass_opens(lite):
    made = config("window", "approvals")
    never = SignoffConfig.model_validate(
        made.model_dump(by_alias=True)
        | {
            "policy": {
                "rules": [
                    FIRE | {"deny": True},
                    *made.model_dump(by_alias=True, exclude_none=True)["policy"]["rules"],
                ]
            }
        }
    )
    bot, plan_id = proposed(lite, never)

    with pytest.raises(NotAllowed, match="Policy does not allow this plan"):
        says(bot, "OLGA", f"break-glass {plan_id} the shop is down")


def test_a_glass_broken_by_somebody_who_has_left_holds_no_more(lite):
    bot, plan_id = proposed(lite, config("window", "approvals"))
    breaks(bot, plan_id)
    bot.people.barred["OLGA"] = "This account is deactivated."

    permit(bot)

    assert (
        "an override no longer holds: This account is deactivated." in lite.view(plan_id).step("s1").withheld
    )
    assert due(lite) == []


@pytest.mark.parametrize(
    ("shared", "barred", "said"),
    [
        (True, {}, OUTSIDE),
        (False, {"OLGA": "Deactivated."}, "an override no longer holds: Deactivated."),
        (False, {}, ""),
    ],
    ids=["where", "who", "unchanged"],
)
def test_whether_a_broken_glass_holds_is_asked_of_slack_afresh(lite, shared, barred, said):
    bot, plan_id = proposed(lite, config("window", "approvals"))
    breaks(bot, plan_id)
    people = Remembering(SONCALL=["OSKAR"])
    people.shared, people.barred = shared, barred

    permit(replace(bot, people=people))

    assert lite.view(plan_id).step("s1").withheld == said
    assert len(due(lite)) == (0 if said else 1)


def test_what_policy_denies_now_a_glass_broken_before_does_not_open(lite):
    bot, plan_id = proposed(lite, config("window", "approvals"))
    breaks(bot, plan_id)
    given = bot.config.model_dump(by_alias=True, exclude_none=True)
    given["policy"]["rules"] = [*given["policy"]["rules"], FIRE | {"deny": True}]

    permit(replace(bot, config=SignoffConfig.model_validate(given)))

    assert (
        lite.view(plan_id).step("s1").withheld == "the policy does not allow it now: in a fire: somebody must"
    )


def test_only_the_freeze_of_an_approved_plan_is_overridden(lite):
    made = config("freeze", "window", freezes={"sale": FREEZE})
    bot, plan_id = proposed(lite, made)
    approve(lite, plan_id, "BOB")
    approve(lite, plan_id, "CAROL")
    lite.clock.advance(minutes=2)
    permit(bot)
    assert "frozen" in lite.view(plan_id).step("s1").withheld

    breaks(bot, plan_id)
    permit(bot)

    assert len(due(lite)) == 1
    assert lite.view(plan_id).approved_by == ("BOB", "CAROL")


def test_an_override_written_by_hand_for_another_digest_runs_nothing(lite):
    bot, plan_id = proposed(lite, config("window", "approvals"))
    breaks(bot, plan_id)
    permit(bot)
    tamper(lite, "UPDATE override SET digest = 'another'")

    assert claim(lite, plan_id, "s1") is None
    assert lite.view(plan_id).step("s1").state == "failed"


def test_an_override_of_a_freeze_holds_only_while_its_giver_may(lite):
    bot, plan_id = proposed(lite, config("freeze", "window", freezes={"sale": FREEZE}))
    approve(lite, plan_id, "BOB")
    approve(lite, plan_id, "CAROL")
    breaks(bot, plan_id)
    lite.clock.advance(minutes=2)
    bot.people.barred["OLGA"] = "This account is deactivated."

    permit(bot)

    assert "an override no longer holds" in lite.view(plan_id).step("s1").withheld


def test_what_is_marked_for_a_second_factor_needs_one_for_the_glass_too(lite):
    bot, plan_id = proposed(lite, marked(config("window", "approvals")))
    forms: list[dict[str, Any]] = []
    bot = replace(bot, open_view=lambda trigger, view: forms.append(view), safe=SAFE)
    with pytest.raises(NotAllowed, match="you have none yet"):
        breaks(bot, plan_id)
    enrol(lite, "OLGA")
    breaks(bot, plan_id)
    assert (lite.view(plan_id).overrides, len(forms)) == ((), 1)

    wrong = on_form(bot, "OLGA", filled(forms[0], code="000000"))
    others = on_form(bot, "EVE", filled(forms[0], code=code()))
    right = on_form(bot, "OLGA", filled(forms[0], code=code()))
    again = on_form(bot, "OLGA", filled(forms[0], code=code()))

    assert "not right" in wrong["code"]
    assert "You may not" in others["code"]
    assert right == {}
    assert again["code"]
    assert lite.view(plan_id).overrides == ("window", "approvals")
    told = {event.verb: event.data for event in lite.events(plan_id)}
    assert (told["override"]["factor"], told["refuse"]["verb"]) == ("code", "break_glass")
    permit(bot)
    assert (lite.view(plan_id).step("s1").withheld, len(due(lite))) == ("", 1)


def test_a_glass_broken_without_a_second_factor_holds_no_more_when_one_is_asked_for(lite):
    made = config("window", "approvals")
    bot, plan_id = proposed(lite, made)
    breaks(bot, plan_id)

    permit(replace(bot, config=marked(made)))

    assert "now asks for a second factor" in lite.view(plan_id).step("s1").withheld


def test_no_second_factor_is_left_out_behind_the_form(lite):
    bot, plan_id = proposed(lite, marked(config("window", "approvals")))
    says(bot, "OLGA", f"break-glass {plan_id} the shop is down")

    with pytest.raises(Conflict, match="needs a second factor"):
        lite.confirm_glass(plan_id, lite.view(plan_id).digest, user="OLGA")


def test_nothing_in_the_way_is_nothing_to_override(lite):
    bot, plan_id = proposed(lite, config("freeze", "window"))
    approve(lite, plan_id, "BOB")
    approve(lite, plan_id, "CAROL")
    lite.clock.advance(hours=3, minutes=1)

    with pytest.raises(SignoffError, match="Nothing stands in the way"):
        says(bot, "OLGA", f"break-glass {plan_id} the shop is down")
