"""Approve, then wait: whatever has changed by the time keeps the step back, and the thread says why."""

import json
import logging
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.cards.thread import message
from bot.context import OUTSIDE, Bot
from bot.inbox.clicks import on_click
from bot.planner.validate import Catalogue
from bot.plans.permits import case, forged, obstacles, permit, stricter, untimely
from bot.policy.authorize import terms
from storage.config import SignoffConfig
from storage.contract.demands import Demands
from storage.contract.spec import StepSpec
from storage.database.tables import Event
from storage.errors import SignoffError
from storage.journal.told import Told
from tests.support.fakes import (
    BACKUP,
    CONTRACTS,
    DEPLOY,
    NOW,
    Everybody,
    Remembering,
    ask,
    attempts,
    claim,
    contract,
    due,
    messages,
    ok,
    plan_spec,
    step,
    step_row,
    succeed,
    taker,
    tamper,
)
from tests.support.fakes import terms as terms_with
from tests.support.samples.second_factor import code, enrol, guarded, submit
from tests.support.store import Store

pytestmark = pytest.mark.authorize
GIVEN: dict[str, Any] = {"people": {"approvers": ["BOB", "CAROL", "SAPP"]}}
FREEZE = {"start": NOW, "end": NOW + timedelta(hours=8), "zone": "UTC", "reason": "sales"}
LATER = {"not_before": NOW + timedelta(hours=2), "not_after": NOW + timedelta(hours=6)}
NEVER = {"name": "never", "reason": "no more", "deny": True}
FACTOR = {"name": "two ways", "reason": "it is high", "require": {"second_factor": True}}
READ_FIRST = {"name": "read", "reason": "it is long", "require": {"read": True}}
DBAS = {"name": "dbas", "reason": "they know", "require": {"from": ["DAN"]}}
NIGHT = {"name": "night", "reason": "quiet", "require": {"window": "nightly"}}
WINDOWS = {"nightly": {"start": "04:00:00", "hours": 1, "zone": "UTC"}}


def waiting(store: Store, approver: str) -> tuple[Bot, int]:
    """A plan for two hours from now, approved by this person, with a click."""
    return clicked(store, approver, step("s1", DEPLOY, schedule=LATER))


def clicked(store: Store, approver: str, *steps: StepSpec) -> tuple[Bot, int]:
    """A plan of these steps, approved by this person, with a click."""
    bot, plan_id = proposed(store, {}, *steps)
    approve_by_click(bot, plan_id, approver)
    return bot, plan_id


def both_approved(store: Store, **policy: Any) -> tuple[Bot, int]:
    """A plan that wants two approvals by this policy, and has them."""
    bot, plan_id = proposed(store, {"policy": policy}, step("s1", DEPLOY))
    for user in ("BOB", "GRETA"):
        approve_by_click(bot, plan_id, user)
    return bot, plan_id


def proposed(store: Store, more: dict[str, Any], *steps: StepSpec) -> tuple[Bot, int]:
    config, plan_id, spec = SignoffConfig.model_validate(GIVEN | more), ask(store), plan_spec(*steps)
    found = terms(spec, Catalogue(store.contracts()), config, authors=("ANN",), now=store.clock())
    store.propose(plan_id, spec, found, author="planner")
    return Bot(store, config, Everybody(SAPP=["GRETA"]), lambda trigger, view: None), plan_id


def approve_by_click(bot: Bot, plan_id: int, user: str) -> None:
    value = {"p": plan_id, "r": 1, "d": bot.store.view(plan_id).digest[:16]}
    on_click(bot, {"action": "approve", "user": user, "channel": "C1", "value": json.dumps(value)})


def configured(bot: Bot, **more: Any) -> Bot:
    """The bot as it runs with another signoff.toml."""
    return Bot(bot.store, SignoffConfig.model_validate(GIVEN | more), bot.people, bot.open_view)


def leaves(bot: Bot) -> Bot:
    bot.people.barred["GRETA"] = "This account is deactivated."
    return bot


def removed(bot: Bot) -> Bot:
    bot.people.groups["SAPP"] = []
    return bot


def shared(bot: Bot) -> Bot:
    bot.people.shared = True
    return bot


def ruled(*rules: dict[str, Any]) -> Callable[[Bot], Bot]:
    return lambda bot: configured(bot, policy={"rules": [*rules]}, windows=WINDOWS)


BETWEEN: dict[str, tuple[Callable[[Bot], Bot], str]] = {
    "approver deactivated": (leaves, "an approval no longer holds: This account is deactivated."),
    "removed from the group": (removed, "an approval no longer holds: You may not approve this plan."),
    "the group struck from the list": (
        lambda bot: configured(bot, people={"approvers": ["BOB"]}), "an approval no longer holds",
    ),
    "more approvals": (
        lambda bot: configured(bot, policy={"approvals": {"high": 2}}), "the policy now asks for 2 approvals",
    ),
    "other approvers": (ruled(DBAS), "an approval no longer holds: You may not approve this plan."),
    "a second factor": (ruled(FACTOR), "the policy now asks for a second factor"),
    "to be read first": (ruled(READ_FIRST), "the policy now asks that a plan is read first"),
    "denied": (ruled(NEVER), "the policy does not allow it now: never: no more"),
    "a window": (ruled(NIGHT), "night: quiet; the window nightly opens Mon 16 Nov 04:00 UTC"),
    "a freeze": (lambda bot: configured(bot, freezes={"x": FREEZE}), "everything is frozen until"),
    "channel shared": (shared, OUTSIDE),
}  # fmt: skip


def told(store: Store, plan_id: int) -> str:
    """The newest words in the thread."""
    said = messages(store, "waits")[-1]
    return message("waits", store.view(plan_id), store.event(plan_id, said.seq), store.clock())[0]


def comes_due(store: Store) -> None:
    store.clock.advance(hours=2, minutes=1)


def test_what_others_put_on_record_meanwhile_is_no_forgery(lite, monkeypatch):
    """Another bot, or a worker, writes between any two of our looks."""
    bot, plan_id = waiting(lite, "BOB")
    comes_due(lite)
    read, stranger = lite.read, lite.stranger()

    @contextmanager
    def reading():
        with read() as t:
            yield t
        stranger.refuse(plan_id, "approve", user="DAVE", reason="too late")

    monkeypatch.setattr(lite, "read", reading)
    permit(bot)
    monkeypatch.undo()

    assert lite.view(plan_id).step("s1").withheld == ""
    assert step_row(lite, plan_id, "s1").permit_until > lite.clock()


@pytest.mark.parametrize("change", BETWEEN)
def test_what_changed_in_between_keeps_the_step_back_and_the_thread_says_which(lite, change):
    changed, said = BETWEEN[change]
    bot, plan_id = waiting(lite, "GRETA")
    comes_due(lite)

    permit(changed(bot))

    assert due(lite) == []
    assert attempts(lite) == []
    reason = lite.view(plan_id).step("s1").withheld
    assert said in reason.replace("production is frozen", "everything is frozen")
    assert reason.replace("<", "&lt;").partition("&")[0] in told(lite, plan_id)


# How a step may come to start within the minute after the click.
def at_once(store: Store) -> tuple[Bot, int]:
    return clicked(store, "GRETA", step("s1", DEPLOY))


def half_a_minute_later(store: Store) -> tuple[Bot, int]:
    found = clicked(store, "GRETA", step("s1", DEPLOY, schedule={"not_before": NOW + timedelta(seconds=30)}))
    store.clock.advance(30)
    return found


def after_another(store: Store) -> tuple[Bot, int]:
    first, then = step("s0", BACKUP), step("s1", DEPLOY, depends_on=("s0",))
    bot, plan_id = clicked(store, "GRETA", first, then)
    permit(bot)
    succeed(store, plan_id, "s0")
    return bot, plan_id


def when_its_target_is_free(store: Store) -> tuple[Bot, int]:
    before, earlier = clicked(store, "GRETA", step("s0", DEPLOY))
    permit(before)
    held = claim(store, earlier, "s0")
    bot, plan_id = clicked(store, "GRETA", step("s1", DEPLOY))
    permit(bot)
    store.succeed(held, ok(), actor="w1")
    return bot, plan_id


SOON = [at_once, half_a_minute_later, after_another, when_its_target_is_free]


@pytest.mark.parametrize("begin", SOON, ids=lambda begin: begin.__name__)
@pytest.mark.parametrize("change", BETWEEN)
def test_what_changed_within_the_minute_after_the_click_is_seen_however_soon_it_starts(lite, change, begin):
    changed, said = BETWEEN[change]
    bot, plan_id = begin(lite)

    permit(changed(bot))

    assert due(lite) == []
    assert said in lite.view(plan_id).step("s1").withheld.replace("production is", "everything is")


@pytest.mark.parametrize("begin", SOON, ids=lambda begin: begin.__name__)
def test_unchanged_it_starts_within_that_minute_once_it_was_looked_at(lite, begin):
    bot, plan_id = begin(lite)
    before = due(lite)

    permit(bot)

    assert before == []
    assert due(lite) == [step_row(lite, plan_id, "s1").id]


def test_a_plan_whose_steps_start_together_asks_slack_once_for_all_of_them(lite):
    bot, _ = clicked(lite, "GRETA", *(step(f"s{n}", BACKUP) for n in range(5)))
    bot.people.asked.clear()

    permit(bot)

    assert len(due(lite)) == 5
    assert bot.people.asked == ["GRETA"]


def test_who_counts_for_no_quorum_any_more_leaves_the_approvals_short(lite):
    """Both may still approve; but policy asks for one of the group, and nobody of it has."""
    group = {"name": "group", "reason": "they know", "require": {"from": ["SAPP"]}}
    both = {"name": "both", "reason": "four eyes", "require": {"from": ["BOB", "GRETA"], "approvals": 2}}
    bot, plan_id = both_approved(lite, rules=[group, both])

    permit(removed(bot))

    assert due(lite) == []
    said = "the approvals no longer suffice: 1 needed from <!subteam^SAPP>"
    assert lite.view(plan_id).step("s1").withheld == said


@pytest.mark.parametrize(
    ("changed", "said"), [(leaves, "deactivated"), (shared, OUTSIDE)], ids=["who", "where"]
)
def test_slack_is_asked_afresh_whatever_it_said_before(lite, changed, said):
    bot, plan_id = waiting(lite, "GRETA")
    comes_due(lite)

    permit(changed(replace(bot, people=Remembering(SAPP=["GRETA"]))))

    assert said in lite.view(plan_id).step("s1").withheld


@pytest.mark.parametrize(
    ("persons", "said"),
    [
        ({}, ""),
        ({"BOB": "bob@example", "GRETA": "greta@example"}, ""),
        ({"BOB": "bob@example", "GRETA": "bob@example"}, "two of its approvals are by one person"),
    ],
    ids=["unknown", "two", "one"],
)
def test_two_approvals_are_by_two_people_as_far_as_slack_knows(lite, persons, said):
    bot, plan_id = both_approved(lite, approvals={"high": 2})
    bot.people.persons |= persons

    permit(bot)

    assert lite.view(plan_id).step("s1").withheld[: len(said) or None] == said
    assert len(due(lite)) == (0 if said else 1)


def test_a_step_that_must_wait_for_its_time_hides_nothing_from_the_others(lite):
    """One waits for its window; the other does not, and its approver is gone."""
    bot, plan_id = clicked(lite, "GRETA", step("s1", BACKUP), step("s2", DEPLOY))
    night = NIGHT | {"when": {"action": "deploy"}}

    permit(ruled(night)(leaves(bot)))

    view = lite.view(plan_id)
    assert "deactivated" in view.step("s1").withheld
    assert "the window nightly opens" in view.step("s2").withheld


def test_while_all_must_wait_for_their_time_slack_is_not_asked(lite):
    bot, _ = waiting(lite, "GRETA")
    comes_due(lite)
    bot.people.asked.clear()

    permit(configured(bot, freezes={"x": FREEZE}))

    assert bot.people.asked == []


def test_nothing_that_came_between_is_nothing_to_say(lite):
    bot, plan_id = waiting(lite, "GRETA")
    comes_due(lite)
    view, row = lite.view(plan_id), step_row(lite, plan_id, "s1")

    assert forged(bot, view) == ""
    assert obstacles(bot, view, [row]) == {"s1": ""}


def test_a_plan_that_cannot_be_read_gets_no_permit_for_any_step(lite):
    bot, plan_id = clicked(lite, "GRETA", step("s1", DEPLOY), step("s2", BACKUP))
    rows = [step_row(lite, plan_id, key) for key in ("s1", "s2")]
    unread = replace(lite.view(plan_id), spec=None)

    why = "the stored plan cannot be read"
    assert obstacles(bot, unread, rows) == {"s1": why, "s2": why}


def test_a_freeze_says_what_is_frozen_and_an_override_of_the_window_leaves_nothing_to_wait_for(lite):
    bot, plan_id = clicked(lite, "GRETA", step("s1", DEPLOY))
    frozen, closed = configured(bot, freezes={"x": FREEZE}), ruled(NIGHT)(bot)
    view = lite.view(plan_id)
    found = case(frozen, view.spec, view)
    nowhere = replace(found, facts=tuple(replace(fact, environment="") for fact in found.facts))

    assert untimely(frozen, found, "s1", 600.0).startswith("production is frozen until ")
    assert untimely(frozen, nowhere, "s1", 600.0).startswith("everything is frozen until ")
    assert untimely(closed, case(closed, view.spec, view), "s1", 600.0, ("window",)) == ""


def later_by(store: Store, plan_id: int, **parts: float) -> None:
    """Somebody moves the plan later; its approval stays."""
    view = store.view(plan_id)
    when = {name: moment + timedelta(**parts) for name, moment in LATER.items()}
    spec = plan_spec(step("s1", DEPLOY, schedule=when))
    store.postpone(plan_id, spec, user="ANN", after=view.revision, wait=timedelta(days=7), changes=["later"])


def test_an_approval_holds_however_often_the_plan_was_moved_later(lite):
    bot, plan_id = waiting(lite, "GRETA")
    for hours in (1, 2, 3):
        later_by(lite, plan_id, hours=hours)
    lite.clock.advance(hours=5, minutes=1)

    permit(bot)

    assert lite.view(plan_id).step("s1").withheld == ""
    assert len(due(lite)) == 1


def test_what_the_bot_looked_at_is_on_record_and_so_is_what_it_found(lite):
    bot, plan_id = waiting(lite, "GRETA")
    comes_due(lite)
    frozen = configured(bot, freezes={"x": FREEZE})
    permit(frozen)
    withheld = lite.events(plan_id)[-1]
    permit(bot)
    given = lite.events(plan_id)[-1]

    assert (withheld.verb, withheld.actor) == ("withhold", "bot")
    assert (given.verb, given.actor) == ("permit", "bot")
    assert given.data == {"step": "s1", "policy": bot.config.version(), "approvers": ["GRETA"]}


def test_unchanged_it_gets_its_permit_and_runs(lite):
    bot, plan_id = waiting(lite, "GRETA")
    comes_due(lite)

    permit(bot)

    assert len(due(lite)) == 1
    assert lite.claim(step_row(lite, plan_id, "s1").id or 0, taker(*CONTRACTS.values())) is not None


def test_a_check_that_slack_does_not_answer_gives_no_permit(lite):
    bot, plan_id = waiting(lite, "GRETA")
    comes_due(lite)
    bot.people.silent = True

    permit(bot)

    assert due(lite) == []
    assert "I could not check" in lite.view(plan_id).step("s1").withheld


def test_a_plan_edited_in_between_has_no_approval_any_more(lite):
    bot, plan_id = waiting(lite, "GRETA")
    two = configured(bot, policy={"approvals": {"high": 2}})
    other, spec = ask(lite), plan_spec(step("s1", DEPLOY, schedule=LATER))
    found = terms(spec, two.catalogue(), two.config, authors=("ANN",), now=lite.clock())
    lite.propose(other, spec, found, author="planner")
    lite.approve(other, 1, spec.digest(), team="T1", user="BOB", policy="p")
    edit = plan_spec(step("s1", DEPLOY, schedule=LATER, parameters={"service": "b"}))
    lite.amend(other, edit, found, author="CAROL", after=1, changes=["service"])
    comes_due(lite)

    permit(two)

    assert lite.view(other).approved_by == ()
    assert lite.view(other).state == "proposed"
    assert [row.plan_id for row in lite.unpermitted()] == [plan_id]


NAMES = {name: {"binding": f"other-{name}", "environment": "production"} for name in "abc"}


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (
            contract("deploy", undo="restore", names={"service": NAMES}),
            "what its names stand for in signoff.toml",
        ),
        (contract("deploy", undo="restore", timeout=601.0), "ops.deploy has changed since it was approved"),
    ],
    ids=["inventory entry", "command definition"],
)
def test_an_edited_definition_is_refused_at_dispatch(lite, now, said, caplog):
    bot, plan_id = waiting(lite, "GRETA")
    comes_due(lite)
    permit(bot)

    claimed = lite.claim(step_row(lite, plan_id, "s1").id or 0, taker(now))

    view = lite.view(plan_id)
    assert claimed is None
    assert attempts(lite) == []
    assert said in view.step("s1").report.summary
    event = next(event for event in lite.events(plan_id) if event.verb == "fail")
    assert said in message("outcome", view, event, NOW)[0]
    assert "ALARM" in caplog.text


# what somebody with a database shell may try


OTHER = plan_spec(step("s1", DEPLOY, schedule=LATER, parameters={"service": "b"}))
FORGED = {"spec": OTHER.model_dump_json(), "digest": OTHER.digest(), "step": OTHER.steps[0].digest()}


@pytest.mark.hostile
@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE revision SET spec = :spec, digest = :digest", "UPDATE approval SET digest = :digest",
         "UPDATE step SET digest = :step, target = 'service:b'"],
        ["UPDATE approval SET \"user\" = 'CAROL'"],
        ["UPDATE approval SET \"user\" = 'ANN'"],
        ["UPDATE approval SET \"user\" = 'planner'"],
        ["UPDATE event SET data = '{}' WHERE verb = 'approve'"],
        ["UPDATE event SET data = '{\"digest\": \"\"}' WHERE verb = 'approve'"],
        ["DELETE FROM event WHERE verb = 'approve'"],
        ["UPDATE event SET actor = 'CAROL' WHERE verb = 'approve'"],
    ],
    ids=[
        "all rows alike", "another approver", "who asked", "who planned", "journal emptied",
        "journal of no digest", "journal cut", "journal rewritten",
    ],
)  # fmt: skip
@pytest.mark.parametrize("looked", [False, True], ids=["never looked at", "verified a moment ago"])
def test_rows_that_the_journal_does_not_bear_out_get_no_permit_and_raise_the_alarm(
    lite, statements, caplog, looked
):
    bot, plan_id = waiting(lite, "GRETA")
    assert not (looked and forged(bot, lite.view(plan_id)))
    for statement in statements:
        tamper(lite, statement, **{name: FORGED[name] for name in FORGED if f":{name}" in statement})
    comes_due(lite)
    with caplog.at_level(logging.ERROR):
        permit(bot)

    assert due(lite) == []
    assert "changed behind the bot's back" in lite.view(plan_id).step("s1").withheld
    assert f"ALARM plan={plan_id} step=s1 gets no permit" in caplog.text


YES = Event(verb="approve", actor="GRETA", data={"digest": ""})


@pytest.mark.hostile
@pytest.mark.parametrize(
    "ways", [[], ["first"], ["first", "second"]], ids=["no way", "there and back", "a circle"]
)
def test_a_journal_that_leads_nowhere_bears_out_no_approval(lite, monkeypatch, ways):
    """Whoever rewrites all of it may say yes to nothing, or let what was moved later go round in a circle."""
    bot, plan_id = waiting(lite, "GRETA")
    view = lite.view(plan_id)
    round_trip = zip([view.digest, *ways], [*ways, view.digest], strict=True)
    moves = [
        Event(verb="postpone", data={"digest": new, "earlier": old, "revision": 2}) for new, old in round_trip
    ]
    told = Told().and_then([YES, *(moves if ways else [])])
    monkeypatch.setattr(lite, "borne_out", lambda plan_id: ("", told))

    assert "knows of no such approval" in forged(bot, view)


@pytest.mark.hostile
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE revision SET needed = 1",
        "UPDATE revision SET demands = '{}'",
        "UPDATE revision SET demands = ''",
        "UPDATE revision SET demands = 'nonsense'",
        "UPDATE revision SET authors = '[]', approvers = '[\"ANN\"]'",
    ],
)
def test_what_a_proposal_asks_for_cannot_be_talked_down_in_the_database(lite, statement):
    config = SignoffConfig.model_validate(GIVEN | {"policy": {"approvals": {"high": 2}, "rules": [FACTOR]}})
    plan_id, spec = ask(lite), plan_spec(step("s1", DEPLOY))
    found = terms(spec, Catalogue(lite.contracts()), config, authors=("ANN",), now=lite.clock())
    lite.propose(plan_id, spec, found, author="planner")
    bot = Bot(lite, config, Everybody(SAPP=[]), lambda trigger, view: None)
    tamper(lite, statement)
    value = {"p": plan_id, "r": 1, "d": spec.digest()[:16]}
    for user in ("ANN", "BOB", "EVE"):
        click = {
            "action": "approve",
            "user": user,
            "channel": "C1",
            "value": json.dumps(value),
            "trigger": "t",
        }
        with pytest.raises(SignoffError):
            on_click(bot, click)

    assert lite.view(plan_id).approved_by == ()
    assert due(lite) == []


def test_an_approval_that_somebody_wrote_into_the_database_without_a_factor_gets_no_permit(lite):
    enrol(lite)
    view = guarded(lite)
    submit(lite, view, code())
    asked = terms_with(demands=Demands(second_factor=True))
    assert stricter(asked, lite.view(view.id), 1) == ""
    tamper(lite, "UPDATE approval SET factor = ''")

    assert "second factor" in stricter(asked, lite.view(view.id), 1)


@pytest.mark.parametrize(
    ("before", "factors", "enough"),
    [
        (True, ("code", "signature"), True),
        (True, ("code", ""), False),
        (True, ("", ""), False),
        (False, ("code", "code"), False),
        (False, (), False),
    ],
)
def test_a_second_factor_is_shown_by_everybody_to_a_plan_that_asked_for_one(lite, before, factors, enough):
    asked = terms_with(demands=Demands(second_factor=True))
    view = replace(lite.view(guarded(lite).id), demands=Demands(second_factor=before), factors=factors)

    assert ("second factor" not in stricter(asked, view, 2)) is enough


@pytest.mark.parametrize(("before", "enough"), [(True, True), (False, False)])
def test_who_approved_where_reading_was_asked_for_has_read_it(lite, before, enough):
    """The store took their approval only after they had opened it."""
    asked = terms_with(demands=Demands(read=True))
    view = replace(lite.view(guarded(lite).id), demands=Demands(read=before))

    assert ("read first" not in stricter(asked, view, 2)) is enough
