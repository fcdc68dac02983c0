"""Machines ask in the name of a person, who is an author; what they want changed needs another person."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from bot.cards.card import card
from bot.machines.asking import cancel, own_plan, status, take_in
from bot.machines.principal import OutOfScope
from bot.machines.wire import Asked
from bot.policy.authorize import ROLES, Allowed, authorize
from storage.config import SignoffConfig
from storage.errors import Conflict, InvalidPlan, NotAllowed, NotFound, SignoffError
from storage.plans.lifecycle import agreed
from tests.support.doors.asking import CHANGE, CI, READ, asks
from tests.support.fakes import real_contracts
from tests.support.room import Room, handle_all
from tests.support.samples.cards import markup
from tests.support.store import Store

pytestmark = pytest.mark.machines


@pytest.fixture
def room(lite: Store) -> Room:
    lite.publish(real_contracts())
    return Room(lite)


def lenient(room: Room, **then: object) -> None:
    """Rules that let everything through, and authors approve."""
    rule = {"name": "anything goes", "reason": "trust", "when": {"risk": ["low", "medium"]}} | then
    policy = {"rules": [rule], "production": ["elsewhere"]}
    given = {"people": room.config.people.model_dump(), "inventory": room.config.inventory}
    room.bot = replace(room.bot, config=SignoffConfig.model_validate(given | {"policy": policy}))


def test_a_machine_s_wish_is_planned_with_its_owner_as_author(room):
    found = asks(room, text="restart auth-service in production")

    view = room.view()
    assert (found.plan, found.state, view.machine) == (1, "proposed", "token:ci")
    assert (view.requester, view.authors, view.needed) == ("ANN", ("ANN",), 1)


def test_a_runbook_with_its_slots_needs_no_words(room):
    found = asks(
        room, runbook="restart-service", slots={"service": "auth-service", "environment": "production"}
    )

    assert found.state == "proposed", found
    assert found.steps[0].title


def test_a_whole_plan_is_put_before_people(room):
    assert asks(room, plan=CHANGE).state == "proposed"


def test_a_plan_that_is_none_is_refused_with_every_problem_before_a_row_is_written(room):
    with pytest.raises(InvalidPlan) as caught:
        asks(room, plan={"goal": "x", "steps": [{"id": "a", "worker": "nobody", "action": "none"}]})

    assert caught.value.issues
    assert room.store.recent(1) == []


@pytest.mark.parametrize("given", [{}, {"text": "x", "plan": READ}, {"runbook": "a", "plan": READ}])
def test_an_ask_is_one_of_three_things(room, given):
    with pytest.raises(InvalidPlan):
        asks(room, **given)


def test_the_same_key_finds_the_same_plan_and_another_ask_under_it_is_refused(room):
    first = asks(room, text="restart auth-service in production")

    assert asks(room, text="restart auth-service in production").plan == first.plan
    with pytest.raises(Conflict):
        asks(room, text="restart auth-service in staging")
    assert len(room.store.recent(9)) == 1


def test_neither_its_name_nor_its_key_is_taken_for_a_secret(room):
    machines = [replace(CI, name=f"token:gha-prod-{n}-2024") for n in (1, 2)]
    first, second = (
        asks(room, key=f"build-{n}-0123456789", machine=machine, plan=CHANGE)
        for n, machine in enumerate(machines)
    )

    assert [first.plan, second.plan] == [1, 2]
    assert [view.machine for view in room.store.recent(2)] == [machines[1].name, machines[0].name]
    assert status(room.bot, machines[0], 1).state == "proposed"
    with pytest.raises(NotFound):
        status(room.bot, machines[0], 2)
    cancel(room.bot, machines[0], 1, "", "api")
    told = [event for event in room.store.events(1) if event.verb in {"request", "cancel"}]
    assert [(event.data.get("machine") or event.actor) for event in told] == [machines[0].name] * 2


def test_what_is_missing_is_said_as_data_and_answered_under_the_same_key(room):
    found = asks(room, runbook="deploy-service", slots={"service": "auth-service"})

    assert found.state == "planning"
    assert [need.name for need in found.needs] != []
    assert room.whispers("ANN") == []
    with pytest.raises(InvalidPlan):
        asks(
            room, runbook="deploy-service", slots={"service": "auth-service"}, answers={"version": "not one"}
        )
    answers = {need.name: "v2.1.4" if need.name == "version" else need.choices[0] for need in found.needs}
    again = asks(room, runbook="deploy-service", slots={"service": "auth-service"}, answers=answers)
    assert (again.plan, again.state) == (found.plan, "proposed")


@pytest.mark.parametrize("then", [{"allow": True}, {"require": {"approvals": 1, "authors": True}}])
def test_a_change_needs_a_person_who_is_not_behind_it_whatever_rules_say(room, then):
    lenient(room, **then)

    found = asks(room, plan=CHANGE)
    view = room.view()

    assert (found.state, view.needed, view.demands.authors) == ("proposed", 1, False)
    ann = room.people.actor("ANN")
    everybody = room.bot.config.model_copy(
        update={"people": room.config.people.model_copy(update={"approvers": ("ANN", "BOB")})}
    )
    assert authorize(ann, "approve", view, everybody) != Allowed()


def test_a_read_runs_by_itself_as_a_person_s_would(room):
    assert asks(room, plan=READ).state == "approved"


def test_the_store_approves_no_change_of_a_machine_by_policy_alone(room):
    asks(room, plan=CHANGE)
    view = room.view()
    assert view.spec
    with room.store.read() as t:
        loose = replace(agreed(t.revision(t.plan(view.id))), needed=0)
    with pytest.raises(NotAllowed, match="needs a person"):
        room.store.amend(view.id, view.spec, loose, author="ANN", after=1, changes=[])


def test_an_author_elsewhere_whom_nobody_knows_keeps_a_change_from_being_approved(room):
    asks(room, plan=CHANGE, on_behalf_of=["github:octocat"])

    assert "github:octocat" in room.view().demands.denied[0]
    assert "[people.github]" in room.view().demands.denied[0]


def test_a_machine_whose_plan_nobody_may_approve_is_told_why(room):
    found = asks(room, plan=CHANGE, on_behalf_of=["github:octocat"])

    assert found.said.startswith("not allowed by policy: nobody here knows who github:octocat is")


def test_an_author_elsewhere_who_is_known_may_not_approve(room):
    room.bot = replace(
        room.bot,
        config=room.config.model_copy(
            update={"people": room.config.people.model_copy(update={"github": {"octocat": "BOB"}})}
        ),
    )
    asks(room, plan=CHANGE, on_behalf_of=["github:Octocat"])

    assert room.view().authors == ("ANN", "BOB")
    with pytest.raises(NotAllowed, match="You asked for this plan"):
        room.bot.demand("BOB", "approve", room.view())
    room.bot.demand("CAROL", "approve", room.view())


@pytest.mark.parametrize(
    "name", ["octocat", "gitlab:x", "<@BOB>", "bob:", "U1 U2", "github:", "github:a b", "github:<!channel>"]
)
def test_a_claim_that_names_nobody_is_refused(room, name):
    with pytest.raises(SignoffError, match="is nobody"):
        asks(room, plan=READ, on_behalf_of=[name])


def test_an_author_whom_slack_does_not_know_is_none(room, clock):
    room.people.unknown.add("UTYPO")
    take_in(room.bot, CI, Asked(plan=CHANGE, on_behalf_of=("UTYPO",)), "k1")
    handle_all(room.bot)
    clock.advance(minutes=1)
    found = asks(room, plan=CHANGE, on_behalf_of=["UTYPO"])

    assert (found.state, found.said) == (
        "refused",
        "Slack does not say who UTYPO is, so nothing was asked for.",
    )


@pytest.mark.parametrize(
    "given",
    [
        {"runbook": "restart-service", "slots": {"service": "auth-service\x00"}},
        {"plan": CHANGE | {"goal": "a\x00b"}},
        {"plan": CHANGE | {"a\x07": 1}},
        {"text": "x", "channel": "C1\x00"},
        {"text": "x\x1b[31m"},
    ],
)
def test_what_no_row_can_hold_is_refused_at_the_door(given):
    with pytest.raises(ValidationError, match="control characters"):
        Asked.model_validate(given)


def test_a_read_of_an_unknown_author_runs(room):
    assert asks(room, plan=READ, on_behalf_of=["github:octocat"]).state == "approved"


def test_another_machine_does_not_even_learn_that_the_plan_is_there(room):
    asks(room, plan=CHANGE)
    other = replace(CI, name="token:other")

    with pytest.raises(NotFound) as caught:
        own_plan(room.bot, other, 1, "look")
    with pytest.raises(NotFound) as missing:
        own_plan(room.bot, other, 99, "look")
    assert str(caught.value) == str(missing.value).replace("99", "1")
    with pytest.raises(NotFound):
        cancel(room.bot, other, 1, "", "api")


def test_a_person_s_plan_is_no_machine_s(room):
    room.store.request("x", team="T1", user="ANN", channel="C1")

    with pytest.raises(NotFound):
        status(room.bot, CI, 1)


def test_it_cancels_its_own(room):
    asks(room, plan=CHANGE)

    assert cancel(room.bot, CI, 1, "never mind", "api").state == "cancelled"
    assert cancel(room.bot, CI, 1, "again", "api").state == "cancelled"
    assert [event.actor for event in room.store.events(1) if event.verb == "cancel"] == ["token:ci"]


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"environments": ("staging",)}, "staging"),
        ({"runbooks": ("deploy-service",)}, "deploy-service"),
    ],
)
@pytest.mark.parametrize("given", [{"plan": CHANGE}, {"text": "restart auth-service in production"}])
def test_a_token_asks_only_for_what_it_names(room, limits, why, given):
    found = asks(room, machine=replace(CI, **limits), **given)

    assert found.state == "refused"
    assert why in found.said


@pytest.mark.parametrize("channel", ["C2", "D1"])
def test_a_token_asks_only_where_it_may(room, channel):
    with pytest.raises(OutOfScope):
        take_in(room.bot, CI, Asked(text="x", channel=channel), "k")


def test_a_scope_that_it_does_not_have_is_refused(room):
    looker = replace(CI, scopes=("look",))
    with pytest.raises(OutOfScope):
        take_in(room.bot, looker, Asked(text="x"), "k")
    asks(room, plan=CHANGE)
    with pytest.raises(OutOfScope):
        cancel(room.bot, looker, 1, "", "api")


def test_whoever_is_behind_it_and_may_ask_no_more_takes_it_with_them(room):
    room.people.barred["ANN"] = "This account is deactivated."

    assert "deactivated" in asks(room, plan=READ).said


@pytest.mark.parametrize(
    "text", ["every day at 3am restart auth-service in production", "frobnicate the moon"]
)
def test_what_leaves_no_plan_is_refused_with_its_reason(room, text):
    found = asks(room, text=text)

    assert found.state == "refused"
    assert found.said


@pytest.mark.parametrize("text", ["approve 1", "stop everything now", "cancel 1", "break-glass 1 because"])
def test_our_own_words_are_words_of_people(room, text):
    asks(room, key="k0", plan=CHANGE)
    asks(room, text=text)

    assert room.store.view(1).state == "proposed"
    assert room.store.stops() == []


def test_a_machine_has_no_verb_but_three(room):
    asks(room, plan=CHANGE)
    actor = room.bot.machine("token:ci", "CAROL")  # who is an approver and an admin herself
    view = room.view()

    may = {verb for verb in ROLES if authorize(actor, verb, view, room.config) == Allowed()}
    assert may == {"request", "look", "cancel"}


def test_too_many_asks_of_one_machine_are_refused_and_its_owner_is_not(room):
    limits = room.config.policy.limits.model_copy(update={"plans_per_hour": 1})
    policy = room.config.policy.model_copy(update={"limits": limits})
    room.bot = replace(room.bot, config=room.config.model_copy(update={"policy": policy}))
    asks(room, plan=READ)

    assert "within the last hour" in asks(room, key="k2", plan=READ).said
    room.bot.demand("ANN", "request", None)


def test_a_secret_in_an_ask_is_nowhere(room):
    secret = "xoxb-123456789012-abcdefghijkl"
    asks(room, runbook="restart-service", slots={"service": secret, "environment": "production"})

    with room.store.engine.connect() as connection:
        dump = "\n".join(connection.connection.driver_connection.iterdump())  # type: ignore[union-attr]
    assert secret not in dump


def test_the_card_says_which_machine_asked_and_for_whom(room):
    asks(room, plan=CHANGE)
    view = room.view()
    checked = replace(view, steps=tuple(replace(step, previewing=False) for step in view.steps))

    assert "the machine ci, for <@ANN>, asked" in str([*markup(card(checked, room.store.clock())[1])])
