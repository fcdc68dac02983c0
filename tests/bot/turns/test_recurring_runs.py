"""Recurring plans: one run per local date, and approvals that stand as long as they may."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from bot.cards.blocks import PREFIX
from bot.cards.card import card
from bot.cards.thread import message
from bot.context import Bot
from bot.inbox.clicks import on_click
from bot.policy.authorize import Actor
from bot.turns.recurring_runs import _forbidden, changed, invite, question, recur, stand_in
from storage.config import Approvals, PolicyConfig, StandingPolicy
from storage.contract.demands import Demands
from storage.contract.states import PlanState
from storage.database.tables import Recurring
from storage.errors import Conflict, NotAllowed
from storage.reading.plan_view import PlanView, StepView
from tests.support.fakes import (
    BACKUP,
    DEPLOY,
    NOW,
    approve,
    claim,
    messages,
    permitted,
    plan_spec,
    step,
    strangers,
    together,
)
from tests.support.room import think
from tests.support.samples.recurring import CONFIG, Desk, first_run, next_day
from tests.support.store import Store


@pytest.fixture
def desk(lite: Store) -> Desk:
    return Desk(lite)


def test_a_run_is_asked_for_when_its_time_comes_and_not_before(desk, clock):
    clock.now = desk.sets_up() - timedelta(seconds=1)
    desk.turn()
    assert desk.store.recent() == []

    clock.advance(1)
    desk.turn()
    desk.turn()
    (plan,) = desk.store.recent()

    assert (plan.state, plan.requester, plan.text) == (PlanState.proposed, "ANN", "deploy a")
    assert desk.store.recurring()[0].next_at == clock.now + timedelta(days=1)
    assert desk.store.events(plan.id)[0].data["recurring"] == 1


def test_a_run_that_was_missed_is_a_question_and_never_a_late_run(desk, clock):
    clock.now = desk.sets_up() + timedelta(days=2, hours=1)
    desk.turn()

    assert desk.store.recent() == []
    (question,) = messages(desk.store, "recurring")
    assert "I was not running" in question.text
    assert "and 2 before it" in question.text
    assert "/plan deploy a" in question.text
    assert [e.verb for e in desk.store.events(0)] == ["recur", "miss"]


def test_after_missed_runs_one_that_is_due_now_runs(desk, clock):
    clock.now = desk.sets_up() + timedelta(days=2, seconds=30)
    desk.turn()

    assert len(desk.store.recent()) == 1
    assert "and 1 before it" in messages(desk.store, "recurring")[0].text


def test_a_run_in_a_gap_of_its_zone_asks(desk, clock):
    clock.now = datetime(2027, 3, 13, 12, tzinfo=UTC)
    clock.now = desk.sets_up("every day at 02:30 in New York deploy a")
    desk.turn()

    assert desk.store.recent() == []
    assert "does not exist" in messages(desk.store, "recurring")[0].text


def test_a_run_happens_once_per_local_date_whoever_asks_for_it(store, clock):
    desk = Desk(store)
    clock.now = desk.sets_up()
    (one,) = store.recurring()
    later = clock.now + timedelta(days=1)
    others = strangers(store, 4)
    made = together([lambda s=s: s.run(one, date(2026, 11, 16), later) for s in others])

    assert len([plan for plan in made if plan]) == 1
    again = store.recurring()[0]
    assert store.run(again, date(2026, 11, 16), later + timedelta(days=1)) is None  # the same date
    assert len(store.recent()) == 1


def test_whoever_may_not_ask_any_more_has_nothing_run_in_their_name(desk, clock):
    clock.now = desk.sets_up()
    desk.people.barred["ANN"] = "This account is deactivated."
    desk.turn()

    assert desk.store.recent() == []
    assert desk.store.recurring()[0].state == "paused"
    assert "deactivated" in messages(desk.store, "recurring")[0].text


def test_a_standing_approval_covers_as_many_runs_as_it_was_given_for(desk, clock):
    first_run(desk, clock)
    said = desk.says("schedules approve 1 for 2 runs", user="BOB")

    assert "2 more runs" in said
    for _ in range(2):
        plan = next_day(desk, clock)
        assert (plan.state, plan.approved_by) == (PlanState.approved, ("BOB",))
    plan = next_day(desk, clock)
    assert plan.state == PlanState.proposed
    assert "all of its runs have been used" in messages(desk.store, "recurring")[-1].text
    (told,) = [e for e in desk.store.events(plan.id - 1) if e.verb == "approve"]
    assert (told.data["standing"], told.data["left"]) == (1, 0)
    text, _ = message("decision", desk.store.view(plan.id - 1), told, clock())
    assert "<@BOB> approved revision 1, the last run that this was good for; <@ANN>" in text
    assert [e.verb for e in desk.store.events(0)] == ["recur", "stand", "void"]


def test_an_edited_plan_voids_the_standing_approval(desk, clock):
    first_run(desk, clock)
    desk.says("schedules approve 1", user="BOB")
    desk.spec = plan_spec(step("s1", DEPLOY, parameters={"service": "b"}))

    assert next_day(desk, clock).state == PlanState.proposed
    assert "no longer the one that was approved" in messages(desk.store, "recurring")[-1].text
    assert desk.store.standings(1) == []


def test_a_standing_approval_ends_on_its_day(desk, clock):
    first_run(desk, clock)
    day = (clock.now + timedelta(days=1)).date()
    desk.says(f"schedules approve 1 until {day}", user="BOB")

    assert next_day(desk, clock).state == PlanState.proposed
    assert "it was given until" in messages(desk.store, "recurring")[-1].text


def test_a_standing_approval_falls_with_its_person_and_with_policy(lite, clock):
    for spoil in (
        lambda d: d.people.barred.update(BOB="This account is deactivated."),
        lambda d: setattr(
            d, "bot", Bot(d.store, CONFIG.model_copy(update={"policy": PolicyConfig()}), d.people,
                          lambda trigger, view: None, [], d._plan)
        ),
    ):  # fmt: skip
        desk = Desk(lite)
        clock.now = desk.sets_up()
        desk.turn()
        number = lite.recurring()[-1].id
        approve(lite, lite.recent(1)[0].id)
        desk.says(f"schedules approve {number}", user="BOB")
        spoil(desk)
        clock.now = lite.recurring()[-1].next_at
        desk.turn()

        assert lite.recent(1)[0].state == PlanState.proposed
        assert lite.standings(number) == []


@pytest.mark.parametrize(("late", "runs"), [(timedelta(minutes=5), 1), (timedelta(minutes=5, seconds=1), 0)])
def test_a_run_may_be_five_minutes_late_and_no_more(desk, clock, late, runs):
    clock.now = desk.sets_up() + late
    desk.turn()

    assert len(desk.store.recent()) == runs


def test_one_run_that_was_missed_has_none_before_it(desk, clock):
    clock.now = desk.sets_up() + timedelta(hours=1)
    desk.turn()

    assert "before it" not in messages(desk.store, "recurring")[0].text


def test_clocks_that_were_changed_by_law_are_said(desk):
    desk.sets_up()
    (one,) = desk.store.recurring()

    assert question(one, []).startswith("The clocks of America/New_York were changed by law")


def test_a_run_that_the_law_has_moved_is_said_once_and_comes_where_it_belongs_now(desk, clock):
    comes = desk.sets_up()
    with desk.store.write() as t:
        t.execute(update(Recurring).values(next_at=comes - timedelta(hours=1)))
    clock.now = comes - timedelta(hours=1)
    desk.turn()
    desk.turn()

    assert desk.store.recurring()[0].next_at == comes
    (said,) = [one.text for one in messages(desk.store, "recurring")]
    assert "were changed by law" in said


def test_who_is_barred_has_it_paused_by_the_rules(desk, clock):
    clock.now = desk.sets_up()
    desk.people.barred["ANN"] = "This account is deactivated."
    desk.turn()

    assert [(e.verb, e.actor) for e in desk.store.events(0)][-1] == ("pause", "rules")


def test_times_that_are_no_longer_taken_are_paused_with_the_reason_and_stop_no_others(desk, clock):
    due = desk.sets_up()
    desk.store.recur(
        "deploy b", said="", cron="0 2 * * R", zone="UTC", next_at=NOW, team="T", user="ANN", channel="C1"
    )
    clock.now = due
    desk.turn()

    assert [(one.text, one.state) for one in desk.store.recurring()] == [
        ("deploy a", "active"), ("deploy b", "paused"),
    ]  # fmt: skip
    assert [plan.text for plan in desk.store.recent()] == ["deploy a"]
    (told,) = messages(desk.store, "recurring")
    assert "“deploy b” did not run, and is paused: “0 2 * * R” is not cron" in told.text


def test_two_standing_approvals_are_two_people(desk, clock):
    first_run(desk, clock)
    two = CONFIG.policy.model_copy(update={"approvals": Approvals(high=2)})
    desk.bot = replace(desk.bot, config=CONFIG.model_copy(update={"policy": two}))
    for user in ("BOB", "CAROL"):
        desk.says("schedules approve 1", user=user)
    next_day(desk, clock)
    desk.turn()
    desk.turn()

    assert {*desk.store.recent(1)[0].approved_by} == {"BOB", "CAROL"}
    assert {found.runs_left for found in desk.store.standings(1)} == {2}


def test_a_person_who_stands_for_it_is_looked_up_afresh(desk, clock, monkeypatch):
    first_run(desk, clock)
    desk.says("schedules approve 1", user="BOB")
    clock.now = desk.store.recurring()[0].next_at
    recur(desk.bot)
    think(desk.bot)
    asked, right = [], desk.people.actor

    def actor(user: str, *, fresh: bool = False) -> Actor:
        asked.append((user, fresh))
        return right(user)

    monkeypatch.setattr(desk.people, "actor", actor)
    stand_in(desk.bot)

    assert asked == [("BOB", True)]


@pytest.mark.parametrize("previewing", [(True, False), (True, True)])
def test_nothing_stands_in_while_what_a_step_would_do_is_being_found_out(
    desk, clock, monkeypatch, previewing
):
    first_run(desk, clock)
    desk.says("schedules approve 1", user="BOB")
    right = desk.store.view
    steps = [StepView(step(f"s{n}"), previewing=found) for n, found in enumerate(previewing)]
    monkeypatch.setattr(desk.store, "view", lambda plan_id: replace(right(plan_id), steps=(*steps,)))
    clock.now = desk.store.recurring()[0].next_at
    desk.turn()
    monkeypatch.undo()

    assert desk.store.recent(1)[0].state == PlanState.proposed
    assert len(desk.store.standings(1)) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"cron": "0 3 * * *"}, "it recurs at other times now"),
        ({"zone": "UTC"}, "it recurs at other times now"),
        ({"runs_left": 0}, "all of its runs have been used"),
        ({"until": NOW}, "it was given until"),
        ({"until": NOW + timedelta(seconds=1)}, ""),
    ],
)
def test_what_has_changed_since_a_standing_approval_was_given_is_said(desk, clock, more, said):
    first_run(desk, clock)
    desk.says("schedules approve 1", user="BOB")
    (one,), (standing,) = desk.store.recurring(), desk.store.standings(1)
    for name, value in more.items():
        setattr(standing, name, value)

    why = changed(desk.store.recent(1)[0], one, standing, NOW)
    assert why.startswith(said) if said else why == ""


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"standing": StandingPolicy(runs=0, days=30, risks=("high",))}, "policy allows none for high risk"),
        ({"standing": StandingPolicy(runs=3, days=30, risks=("low",))}, "policy allows none for high risk"),
        ({"approvals": Approvals(high=2)}, "the policy now asks for 2 approvals"),
        ({}, ""),
    ],
)
def test_policy_may_forbid_what_stands(desk, clock, policy, said):
    first_run(desk, clock)
    rules = CONFIG.policy.model_copy(update=policy)
    bot = replace(desk.bot, config=CONFIG.model_copy(update={"policy": rules}))

    why = _forbidden(bot, desk.store.recent(1)[0])
    assert why.startswith(said) if said else why == ""


def test_what_needs_a_second_factor_each_time_is_forbidden(desk, clock):
    first_run(desk, clock)
    view = replace(desk.store.recent(1)[0], demands=Demands(second_factor=True))

    assert _forbidden(desk.bot, view) == "each approval needs a second factor"
    assert _forbidden(desk.bot, replace(view, demands=Demands(), spec=None)) == "it cannot be read"


AHEAD = CONFIG.model_copy(
    update={"policy": CONFIG.policy.model_copy(update={"recurring_ahead_hours": 12.0})},
)


def test_a_run_is_planned_and_shown_ahead_of_its_time_and_starts_at_it(lite, clock):
    desk = Desk(lite, AHEAD)
    at = desk.sets_up()
    clock.now = at - timedelta(hours=12, seconds=1)
    desk.turn()
    assert lite.recent() == []
    clock.now = at - timedelta(hours=11)
    desk.turn()
    (plan,) = lite.recent()
    text, _ = card(plan, clock.now)
    approve(lite, plan.id)
    permitted(lite, plan.id)
    early = claim(lite, plan.id, "s1")
    clock.now = at
    permitted(lite, plan.id)

    assert (plan.state, plan.starts_at) == (PlanState.proposed, at)
    assert "02:00 EST" in text
    assert "on approval" not in text
    assert early is None
    assert claim(lite, plan.id, "s1") is not None


def test_what_stands_speaks_for_a_run_that_is_planned_ahead(lite, clock):
    desk = Desk(lite, AHEAD)
    clock.now = desk.sets_up() - timedelta(hours=12)
    desk.turn()
    approve(lite, lite.recent(1)[0].id)
    desk.says("schedules approve 1 for 3 runs", "BOB")
    (one,) = lite.recurring()
    assert one.next_at
    clock.now = one.next_at - timedelta(hours=12)
    desk.turn()
    run = lite.recent(1)[0]

    assert (run.id, run.state, run.approved_by) == (2, PlanState.approved, ("BOB",))
    assert run.steps[0].not_before == one.next_at


def test_a_run_whose_time_passed_while_nobody_was_here_is_still_a_question(lite, clock):
    desk = Desk(lite, AHEAD)
    clock.now = desk.sets_up() + timedelta(hours=1)
    desk.turn()

    assert "I was not running" in messages(lite, "recurring")[0].text
    assert [plan.starts_at for plan in lite.recent()] == []


def invited(store: Store) -> list[Any]:
    return [*messages(store, "standing")]


def test_who_approved_a_run_is_asked_once_whether_that_shall_hold_for_the_next(desk, clock):
    first_run(desk, clock)
    desk.turn()
    (asked,) = invited(desk.store)
    plan = desk.store.view(asked.plan_id)
    text, blocks = message("standing", plan, desk.store.event(plan.id, asked.seq), clock.now)
    next_day(desk, clock)
    approve(desk.store, desk.store.recent(1)[0].id)
    desk.turn()

    assert "every day at 02:00 in America/New_York" in text
    assert "<@BOB>, shall your approval hold for the next 3 runs?" in text
    assert "Approve 3 More Runs" in str(blocks)
    assert len(invited(desk.store)) == 1


def stand(desk: Desk, plan: PlanView, user: str = "BOB", digest: str = "") -> str:
    value = json.dumps({"p": plan.id, "r": plan.revision, "d": digest or plan.digest[:PREFIX]})
    return on_click(desk.bot, {"action": "stand", "user": user, "channel": "C1", "value": value})


def test_the_button_lets_the_approval_stand_and_goes(desk, clock):
    first_run(desk, clock)
    desk.turn()
    plan = desk.store.recent(1)[0]
    said = stand(desk, plan)
    after = desk.store.view(plan.id)
    text, blocks = message("standing", after, desk.store.events(plan.id)[-1], clock.now)
    run = next_day(desk, clock)

    assert "approved for 3 more runs" in said
    assert after.stands == 3
    assert "It is approved for 3 more runs." in text
    assert "More Runs'" not in str(blocks)
    assert (run.state, run.approved_by) == (PlanState.approved, ("BOB",))


@pytest.mark.parametrize("user", ["ANN", "EVE"])
def test_nobody_lets_an_approval_stand_who_could_give_none(desk, clock, user):
    first_run(desk, clock)
    desk.turn()

    with pytest.raises(NotAllowed):
        stand(desk, desk.store.recent(1)[0], user)
    assert desk.store.standings(1) == []


def test_a_button_of_another_plan_lets_nothing_stand(desk, clock):
    first_run(desk, clock)
    desk.turn()

    with pytest.raises(Conflict, match="has changed since"):
        stand(desk, desk.store.recent(1)[0], digest="0" * PREFIX)
    assert desk.store.standings(1) == []


def test_where_policy_lets_no_approval_stand_nobody_is_asked(lite, clock):
    none = CONFIG.model_copy(update={"policy": PolicyConfig(recurring_ahead_hours=0)})
    desk = Desk(lite, none)
    first_run(desk, clock)
    desk.turn()

    assert invited(lite) == []


@pytest.mark.parametrize("why", ["times of its own", "given already", "risk", "unreadable"])
def test_nobody_is_asked_for_what_could_not_stand(desk, clock, monkeypatch, why):
    if why == "times of its own":
        desk.spec = plan_spec(step("s1", DEPLOY), step("s2", DEPLOY, schedule={"at": "in 2 hours"}))
    first_run(desk, clock)
    if why == "given already":
        desk.says("schedules approve 1", user="BOB")
    if why == "risk":
        few = CONFIG.policy.model_copy(update={"standing": StandingPolicy(runs=3, days=30, risks=("low",))})
        desk.bot = replace(desk.bot, config=CONFIG.model_copy(update={"policy": few}))
    if why == "unreadable":
        right = desk.store.view
        monkeypatch.setattr(desk.store, "view", lambda plan_id: replace(right(plan_id), spec=None))
    invite(desk.bot)

    assert invited(desk.store) == []


LONG = plan_spec(
    *(step(f"s{n}", (DEPLOY, BACKUP)[n % 2], parameters={"service": "ab"[n % 2]}) for n in range(20))
)


def filed(desk: Desk, plan_id: int) -> None:
    """Slack takes the file with all of the plan."""
    view = desk.store.view(plan_id)
    desk.store.file(plan_id, view.revision, view.digest, content="f", file="F1")


def test_a_standing_approval_waits_for_the_file_of_a_long_run(desk, clock):
    desk.spec, clock.now = LONG, desk.sets_up()
    desk.turn()
    filed(desk, desk.store.recent(1)[0].id)
    approve(desk.store, desk.store.recent(1)[0].id)
    desk.says("schedules approve 1", user="BOB")

    plan = next_day(desk, clock)
    assert (plan.lengthy, plan.state, desk.store.standings(1)[0].runs_left) == (True, PlanState.proposed, 3)
    filed(desk, plan.id)
    desk.turn()
    assert (desk.store.view(plan.id).state, desk.store.standings(1)[0].runs_left) == (PlanState.approved, 2)


def test_nobody_lets_an_approval_stand_for_what_is_shown_nowhere(desk, clock):
    desk.spec, clock.now = LONG, desk.sets_up()
    desk.turn()
    with pytest.raises(Conflict, match="Not all of its plan is before your eyes"):
        desk.says("schedules approve 1", user="BOB")

    assert desk.store.standings(1) == []


def test_a_standing_approval_says_nothing_to_what_is_out_of_date_or_was_reworded(desk, clock, monkeypatch):
    first_run(desk, clock)
    desk.says("schedules approve 1", user="BOB")
    for unlike in ({"outdated": lambda *_: ["what a stands for is another thing"]}, {}):
        with monkeypatch.context() as patch:
            for name, found in unlike.items():
                patch.setattr(f"bot.plans.up_to_date.{name}", found)
            if not unlike:
                patch.setattr(desk.store, "tampered", lambda plan_id: "somebody reworded it")
            plan = next_day(desk, clock)
        assert (plan.state, desk.store.standings(1)[0].runs_left) == (PlanState.proposed, 3)


def test_a_standing_approval_is_none_in_a_channel_that_others_read(desk, clock):
    first_run(desk, clock)
    desk.says("schedules approve 1", user="BOB")
    desk.people.shared = True

    assert next_day(desk, clock).state == PlanState.proposed
    assert desk.store.standings(1) == []
