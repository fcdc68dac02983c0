"""A plan that rests on what has changed is approved by nobody; whoever may change it brings it up to date."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.cards.card import card
from bot.cards.decision_form import decision_form
from bot.cards.face.lines import step_lines
from bot.cards.face.long_plan import in_full
from bot.cards.thread import message
from bot.context import Bot
from bot.inbox.clicks import on_click
from bot.planner.validate import Catalogue
from bot.plans.permits import permit
from bot.plans.up_to_date import compare, fresh
from bot.policy.authorize import terms
from bot.turns.reminders import remind
from storage.config import SignoffConfig
from storage.contract.capability import Contract, Entry
from storage.contract.grouping import LINES
from storage.contract.spec import StepSpec
from storage.contract.states import PlanState
from storage.errors import Conflict, NotAllowed, SignoffError
from tests.support.fakes import (
    BACKUP,
    CONTRACTS,
    DEPLOY,
    NOW,
    READ,
    Everybody,
    ask,
    bad,
    claim,
    messages,
    ok,
    plan_spec,
    states,
    step,
    step_row,
    succeed,
    take,
    taker,
    undo,
    verbs,
)
from tests.support.store import Store

GIVEN: dict[str, Any] = {
    "people": {"approvers": ["BOB", "CAROL"]},
    "windows": {"nightly": {"start": "02:00:00", "hours": 2, "zone": "UTC"}},
}
NIGHT = {"window": "nightly", "at": "nightly", "not_before": NOW + timedelta(hours=3),
         "not_after": NOW + timedelta(hours=5)}  # fmt: skip
MOVED = {"service": {name: Entry(binding=f"other-{name}", environment="production") for name in "abc"}}
SALES = {
    "start": NOW + timedelta(hours=2),
    "end": NOW + timedelta(hours=20),
    "zone": "UTC",
    "reason": "sales",
}


def made(store: Store, *steps: StepSpec, config: dict[str, Any] = GIVEN, **fields: Any) -> tuple[Bot, int]:
    """A proposal for tonight, as a bot makes it."""
    here, plan_id = SignoffConfig.model_validate(config), ask(store)
    spec = plan_spec(*(steps or (step("s1", DEPLOY, schedule=NIGHT),)), **fields)
    found = terms(spec, Catalogue(store.contracts()), here, authors=("ANN",), now=store.clock())
    store.propose(plan_id, spec, found, author="planner")
    return Bot(store, here, Everybody(), lambda trigger, view: None), plan_id


def click(bot: Bot, plan_id: int, user: str, action: str = "approve", key: str = "") -> str:
    view = bot.store.view(plan_id)
    value = {"p": plan_id, "r": view.revision, "d": view.digest[:16], "s": key}
    return on_click(bot, {"action": action, "user": user, "channel": "C1", "value": json.dumps(value)})


def configured(bot: Bot, **more: Any) -> Bot:
    """The bot as it runs with another signoff.toml."""
    return Bot(bot.store, SignoffConfig.model_validate(GIVEN | more), bot.people, bot.open_view)


def inventory(bot: Bot) -> Bot:
    bot.store.publish([DEPLOY.model_copy(update={"names": MOVED})])
    return bot


def upgrade(bot: Bot) -> Bot:
    bot.store.publish([DEPLOY.model_copy(update={"timeout": 60.0})])
    return bot


def policy(bot: Bot) -> Bot:
    return configured(bot, policy={"approvals": {"high": 2}})


def window(bot: Bot) -> Bot:
    return configured(bot, windows={"nightly": {"start": "03:00:00", "hours": 2, "zone": "UTC"}})


def no_window(bot: Bot) -> Bot:
    return configured(bot, windows={})


def holiday(bot: Bot) -> Bot:
    nightly = GIVEN["windows"]["nightly"] | {"closed": {"2026-11-16": "a holiday"}}
    return configured(bot, windows={"nightly": nightly})


def freeze(bot: Bot) -> Bot:
    return configured(bot, freezes={"x": SALES})


def morning(bot: Bot) -> Bot:
    bot.store.clock.advance(hours=5)
    return bot


SINCE: dict[str, tuple[Callable[[Bot], Bot], str]] = {
    "inventory": (inventory, "what a stands for in the inventory is another thing by now (s1)"),
    "contract": (upgrade, "ops.deploy takes or promises something else by now (s1)"),
    "policy": (policy, "the policy now asks for 2 approvals, and the card says 1"),
    "window": (window, "the window nightly does not open then any more (s1)"),
    "no window": (no_window, "there is no window 'nightly' any more (s1)"),
    "holiday": (holiday, "the window nightly does not open then any more (s1)"),
    "freeze": (freeze, "everything is frozen from Mon 16 Nov 01:00 UTC to Mon 16 Nov 19:00 UTC (sales)"),
    "time": (morning, "its time has passed (s1)"),
}


def drawn(bot: Bot, plan_id: int) -> str:
    """The card as the outbox draws it."""
    blocks = card(fresh(bot, bot.store.view(plan_id)), bot.store.clock())[1]
    return json.dumps(blocks, ensure_ascii=False)


@pytest.mark.authorize
@pytest.mark.parametrize("since", SINCE)
def test_what_has_changed_since_it_was_proposed_is_on_the_card_and_nobody_approves_it(lite, since):
    changes, said = SINCE[since]
    bot, plan_id = made(lite)
    assert '"approve"' in drawn(bot, plan_id)
    assert "Out of date" not in drawn(bot, plan_id)
    bot = changes(bot)

    with pytest.raises(NotAllowed, match="out of date") as refused:
        click(bot, plan_id, "BOB")

    assert said in str(refused.value)
    assert lite.view(plan_id).approved_by == ()
    assert lite.events(plan_id)[-2].verb == "refuse"
    assert said in lite.view(plan_id).outdated[0]
    text = drawn(bot, plan_id)
    assert "*Out of date:*" in text
    assert '"approve"' not in text
    assert '"action_id": "update"' in text


def test_what_policy_refused_is_brought_up_to_date_once_policy_allows_it(lite):
    never = {"name": "never", "reason": "audit", "when": {"effect": "changes"}, "deny": True}
    bot, plan_id = made(lite, config=GIVEN | {"policy": {"rules": [never]}})
    assert "not allowed by policy" in drawn(bot, plan_id)
    assert "Out of date" not in drawn(bot, plan_id)  # it is as it was, and that is said already

    bot = configured(bot)
    assert "the policy allows it now" in drawn(bot, plan_id)
    click(bot, plan_id, "CAROL", "update")
    click(bot, plan_id, "BOB")

    assert lite.view(plan_id).approved_by == ("BOB",)


@pytest.mark.parametrize("since", [name for name in SINCE if name != "no window"])
def test_brought_up_to_date_it_is_a_revision_with_its_difference_that_can_be_approved(lite, since):
    bot, plan_id = made(lite)
    bot = SINCE[since][0](bot)

    click(bot, plan_id, "CAROL", "update")

    view = lite.view(plan_id)
    assert (view.revision, view.state, view.approved_by) == (2, PlanState.proposed, ())
    assert view.changes[0].startswith("brought up to date: ")
    assert "Out of date" not in drawn(bot, plan_id)
    click(bot, plan_id, "CAROL")
    assert lite.view(plan_id).approved_by == ("CAROL",)


def test_it_makes_nobody_an_author_and_keeps_those_it_had(lite):
    bot, plan_id = made(lite)
    inventory(bot)

    click(bot, plan_id, "BOB", "update")

    view = lite.view(plan_id)
    assert (view.authors, view.author) == (("ANN",), "BOB")
    with pytest.raises(NotAllowed, match="You asked for this plan"):
        click(bot, plan_id, "ANN")


@pytest.mark.authorize
def test_only_those_who_may_change_a_plan_bring_it_up_to_date(lite):
    bot, plan_id = made(lite)
    inventory(bot)

    with pytest.raises(NotAllowed):
        click(bot, plan_id, "EVE", "update")

    assert lite.view(plan_id).revision == 1


def test_where_nothing_has_changed_there_is_nothing_to_bring_up_to_date(lite):
    bot, plan_id = made(lite)

    with pytest.raises(SignoffError, match="It is up to date"):
        click(bot, plan_id, "BOB", "update")


def test_an_earlier_cards_button_brings_nothing_up_to_date(lite):
    bot, plan_id = made(lite)
    old = {"p": plan_id, "r": 1, "d": lite.view(plan_id).digest[:16]}
    click(inventory(bot), plan_id, "BOB", "update")

    with pytest.raises(Conflict, match="newest card"):
        on_click(bot, {"action": "update", "user": "BOB", "channel": "C1", "value": json.dumps(old)})


def test_the_card_hears_of_a_change_while_nobody_clicks_and_of_its_end(lite):
    bot, plan_id = made(lite)
    inventory(bot)
    shown = lite.card_of(plan_id).wanted

    compare(bot)
    compare(bot)

    assert "stands for" in lite.view(plan_id).outdated[0]
    assert verbs(lite, plan_id).count("outdate") == 1
    assert lite.card_of(plan_id).wanted > shown
    assert messages(lite, "outdated") == []
    lite.publish([DEPLOY])
    compare(bot)
    assert lite.view(plan_id).outdated == ()
    click(bot, plan_id, "BOB")
    assert lite.view(plan_id).state == PlanState.approved


def test_what_is_out_of_date_is_decided_by_no_form_either_and_nobody_is_reminded(lite):
    bot, plan_id = made(lite)
    lite.clock.advance(hours=20)
    lite.publish([DEPLOY])
    assert decision_form(lite.view(plan_id), "D1", lite.clock()).get("submit")
    inventory(bot)
    compare(bot)
    remind(bot)

    form = decision_form(lite.view(plan_id), "D1", lite.clock())
    assert form.get("submit") is None
    assert "Out of date" in json.dumps(form)
    assert [told for told in messages(lite, "tell") if told.key.startswith("half:")] == []


def test_a_name_that_nobody_knows_any_more_cannot_be_brought_up_to_date_and_says_so(lite):
    bot, plan_id = made(lite)
    others = {"service": {"b": Entry(binding="b-b", environment="production")}}
    lite.publish([DEPLOY.model_copy(update={"names": others})])

    with pytest.raises(SignoffError, match="cannot be brought up to date: 'a' is not in the inventory"):
        click(bot, plan_id, "BOB", "update")


def test_its_time_moves_to_the_next_opening_that_no_freeze_takes(lite):
    bot, plan_id = made(lite)

    click(freeze(bot), plan_id, "BOB", "update")

    (s1,) = lite.view(plan_id).spec.steps
    assert s1.schedule.not_before == NIGHT["not_before"] + timedelta(days=1)
    assert any("→" in line for line in lite.view(plan_id).changes)


def test_what_has_run_already_is_not_promised_again_by_the_card(lite):
    reads = [step(f"r{n}", READ) for n in range(LINES)]  # so many that they share a line
    save = step("save", BACKUP, depends_on=("r0",))
    bot, plan_id = made(lite, *reads, save, step("s1", DEPLOY, depends_on=("save",), schedule=NIGHT))
    assert "already" not in drawn(bot, plan_id)
    click(bot, plan_id, "BOB")
    for key in ("r0", "save"):
        permit(bot)
        succeed(lite, plan_id, key)
    click(inventory(bot), plan_id, "BOB", "update")

    view = lite.view(plan_id)
    reading, saving, deploying = step_lines(view, lite.clock())
    assert reading.endswith("· 1 of 15 done already, and not run again")
    assert saving.endswith("· done already, and not run again")
    assert "already" not in deploying
    assert in_full(view).count("Done already, and not run again.") == 2
    looked = replace(view.step("s1"), preview="3 pods", found=("3 pods change",))
    blocks = card(replace(view, steps=(*view.steps[:-1], looked)), lite.clock())[1]
    assert "not checked" not in json.dumps(blocks)


def test_a_time_that_only_an_instant_says_is_not_made_up(lite):
    instant = {name: NIGHT[name] for name in ("not_before", "not_after")}
    bot, plan_id = made(lite, step("s1", DEPLOY, schedule=instant))

    with pytest.raises(SignoffError, match="no words say when else"):
        click(morning(bot), plan_id, "BOB", "update")


def test_a_coming_freeze_stands_on_the_card_before_anybody_approves(lite):
    half = SALES | {"start": NOW + timedelta(hours=3, minutes=30), "environments": ["production"]}
    bot, plan_id = made(lite)
    bot = configured(bot, freezes={"x": half})

    text = drawn(bot, plan_id)

    assert "production is frozen from Mon 16 Nov 02:30 UTC" in text
    assert "s1 would wait" in text
    assert '"approve"' in text
    click(bot, plan_id, "BOB")


def test_a_freeze_that_takes_all_of_its_time_is_said_once(lite):
    bot, plan_id = made(lite)
    text = drawn(freeze(bot), plan_id)

    assert text.count("everything is frozen from") == text.count("Out of date") == 1
    assert ":snowflake:" not in text


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"environments": ["staging"]},
        {"start": NOW - timedelta(hours=9), "end": NOW + timedelta(hours=3)},
        {"start": NOW + timedelta(hours=5)},
    ],
    ids=["another environment", "over by then", "after it"],
)
def test_a_freeze_that_does_not_touch_it_is_not_on_its_card(lite, elsewhere):
    bot, plan_id = made(lite)

    assert "frozen" not in drawn(configured(bot, freezes={"x": SALES | elsewhere}), plan_id)


def test_what_starts_at_once_is_held_by_a_freeze_that_begins_while_it_waits_for_approval(lite):
    bot, plan_id = made(lite, step("s0"), step("s1", DEPLOY))

    assert "s1 would wait" in drawn(freeze(bot), plan_id)
    assert "s0" not in drawn(freeze(bot), plan_id).partition(":snowflake:")[2].partition("would wait")[0]


def test_who_may_break_the_glass_for_a_freeze_may_have_it_approved(lite):
    glass = {"name": "g", "reason": "emergencies", "break_glass": {"from": ["DAN"], "overrides": ["freeze"]}}
    rules = {"policy": {"rules": [glass]}}
    config = SignoffConfig.model_validate(GIVEN | rules)
    plan_id, spec = ask(lite), plan_spec(step("s1", DEPLOY, schedule=NIGHT))
    found = terms(spec, Catalogue(lite.contracts()), config, authors=("ANN",), now=lite.clock())
    lite.propose(plan_id, spec, found, author="planner")
    bot = Bot(lite, config, Everybody(), lambda trigger, view: None)

    click(configured(bot, freezes={"x": SALES}, **rules), plan_id, "BOB")

    assert lite.view(plan_id).state == PlanState.approved


# after the approval


def approved(store: Store, *steps: StepSpec, **fields: Any) -> tuple[Bot, int]:
    bot, plan_id = made(store, *steps, **fields)
    click(bot, plan_id, "BOB")
    return bot, plan_id


def offers(store: Store, key: str, contract: Contract, plan_id: int) -> Any:
    """A workers process that knows the action as it is now takes the step, or refuses it."""
    return store.claim(step_row(store, plan_id, key).id, taker(contract))


def asked(store: Store, plan_id: int, kind: str) -> str:
    """The newest message of that kind in the thread, with its buttons."""
    said = messages(store, kind)[-1]
    event = store.event(plan_id, said.seq)
    return json.dumps(message(kind, store.view(plan_id), event, store.clock()), ensure_ascii=False)


def test_after_the_approval_the_thread_says_it_long_before_the_step_is_due(lite):
    bot, plan_id = approved(lite)
    inventory(bot)

    compare(bot)

    assert "It does not go on as it is." in drawn(bot, plan_id)
    text = asked(lite, plan_id, "outdated")
    assert "what a stands for in the inventory" in text
    assert '"action_id": "update"' in text
    click(bot, plan_id, "CAROL", "update")
    assert lite.view(plan_id).state == PlanState.proposed
    assert states(lite, plan_id) == {"s1": "pending"}
    assert '"action_id": "update"' not in asked(lite, plan_id, "outdated")


@pytest.mark.parametrize("change", [inventory, upgrade])
def test_what_dispatch_refuses_since_things_have_changed_is_brought_up_to_date_in_the_thread(lite, change):
    bot, plan_id = approved(lite)
    change(bot)
    (now,) = [found for found in lite.contracts() if found.action == "deploy"]
    lite.clock.advance(hours=3, minutes=1)
    permit(bot)

    assert offers(lite, "s1", now, plan_id) is None
    view = lite.view(plan_id)
    assert view.state == PlanState.stalled
    assert view.step("s1").choices == ("update", "skip", "take_over", "abort")
    assert '"action_id": "answer_update"' in asked(lite, plan_id, "outcome")
    click(bot, plan_id, "BOB", "answer_update", "s1")

    view = lite.view(plan_id)
    assert (view.state, view.revision, view.needed) == (PlanState.proposed, 2, 1)
    assert '"action_id"' not in asked(lite, plan_id, "outcome")
    assert "Bring Up to Date" in asked_with_answer(lite, plan_id)
    click(bot, plan_id, "BOB")
    permit(bot)
    taken = offers(lite, "s1", now, plan_id)
    assert taken is not None
    assert lite.succeed(taken, ok(), actor="w1")
    assert lite.view(plan_id).outcome == "succeeded"


def asked_with_answer(store: Store, plan_id: int) -> str:
    said = messages(store, "outcome")[-1]
    event, answer = store.event(plan_id, said.seq), store.answer_to(plan_id, "s1", said.seq)
    made_ = message("outcome", store.view(plan_id), event, store.clock(), answer=answer)
    return json.dumps(made_, ensure_ascii=False)


def test_where_all_is_as_it_was_again_the_button_tries_again(lite):
    bot, plan_id = approved(lite)
    inventory(bot)
    lite.clock.advance(hours=3, minutes=1)
    permit(bot)
    offers(lite, "s1", DEPLOY.model_copy(update={"names": MOVED}), plan_id)
    lite.publish([DEPLOY])

    click(bot, plan_id, "BOB", "answer_update", "s1")

    assert lite.view(plan_id).revision == 1
    permit(bot)
    assert claim(lite, plan_id, "s1") is not None


def test_a_failed_step_whose_time_is_over_is_brought_up_to_its_next_time(lite):
    bot, plan_id = approved(lite)
    lite.clock.advance(hours=3, minutes=1)
    permit(bot)
    taken = take(lite, plan_id, "s1")
    lite.clock.advance(hours=2)
    assert lite.fail(taken, bad(), actor="w1")
    assert lite.view(plan_id).step("s1").choices == ("update", "skip", "take_over", "abort")

    click(bot, plan_id, "BOB", "answer_update", "s1")

    view = lite.view(plan_id)
    assert (view.state, view.revision) == (PlanState.proposed, 2)
    assert view.spec.steps[0].schedule.not_before == NIGHT["not_before"] + timedelta(days=1)


@pytest.mark.parametrize("change", [window, no_window, holiday])
def test_what_was_approved_keeps_its_instants_whatever_becomes_of_the_window(lite, change):
    bot, plan_id = approved(lite)
    compare(change(bot))

    assert lite.view(plan_id).outdated == ()


def test_what_has_run_stands_and_what_failed_is_tried_again_and_undone_with_the_rest(lite):
    steps = (step("s0", BACKUP), step("s1", DEPLOY, depends_on=("s0",)), step("s2", READ, depends_on=("s1",)))
    bot, plan_id = approved(lite, *steps, rollback=(undo("u1", "s1"),))
    permit(bot)
    succeed(lite, plan_id, "s0")
    permit(bot)
    assert lite.fail(take(lite, plan_id, "s1"), bad(), actor="w1")
    was = lite.view(plan_id).step("s0").spec
    inventory(bot)
    compare(bot)

    click(bot, plan_id, "BOB", "answer_update", "s1")
    assert "s1: is tried again" in lite.view(plan_id).changes
    click(bot, plan_id, "BOB")

    view = lite.view(plan_id)
    assert view.step("s0").spec == was
    assert states(lite, plan_id) == {"s0": "succeeded", "s1": "pending", "s2": "pending"}
    assert view.step("s1").attempt == 1
    assert len([event for event in lite.events(plan_id) if event.verb == "claim"]) == 2


def test_while_a_step_runs_a_plan_is_not_replaced(lite):
    bot, plan_id = approved(lite, step("s0", BACKUP), step("s1", DEPLOY, depends_on=("s0",)))
    permit(bot)
    take(lite, plan_id, "s0")
    inventory(bot)

    with pytest.raises(Conflict, match="Step s0 is under way"):
        click(bot, plan_id, "BOB", "update")


def test_where_policy_asks_for_nobody_it_goes_on_at_once(lite):
    bot, plan_id = made(lite, step("s1", READ))
    lite.publish([READ.model_copy(update={"names": MOVED})])
    assert offers(lite, "s1", READ.model_copy(update={"names": MOVED}), plan_id) is None

    click(bot, plan_id, "ANN", "answer_update", "s1")

    assert lite.view(plan_id).state == PlanState.approved
    assert offers(lite, "s1", READ.model_copy(update={"names": MOVED}), plan_id) is not None


def test_nobody_breaks_the_glass_for_what_has_changed(lite):
    from bot.plans.override import break_glass

    glass = {"name": "g", "reason": "e", "break_glass": {"from": ["DAN"], "overrides": ["approvals"]}}
    bot, plan_id = made(lite)
    spec = lite.view(plan_id).spec
    bot = inventory(configured(bot, policy={"rules": [glass]}))
    found = terms(spec, Catalogue([*CONTRACTS.values()]), bot.config, authors=("ANN",), now=lite.clock())
    lite.amend(plan_id, spec, found, author="ANN", after=1, changes=[])

    with pytest.raises(SignoffError, match="out of date"):
        break_glass(bot, lite.view(plan_id), "DAN", "now!")
