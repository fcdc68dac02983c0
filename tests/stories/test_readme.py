"""The README's story through the local workspace, over real Socket Mode, on both databases."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bot.local.client.text import readable
from storage.journal.chain import broken_link
from tests.support.postgres import fresh_database, workers_role
from tests.support.world import DEPLOY, World, live_version, with_witness


@pytest.fixture(
    params=["sqlite", *(pytest.param(name, marks=pytest.mark.postgres) for name in ("postgres", "role"))]
)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """On each database; and on PostgreSQL with workers that have only the rights of execution."""
    url = "" if request.param == "sqlite" else fresh_database(request.getfixturevalue("postgres"))
    made = World(tmp_path, database_url=url)
    if request.param == "role":
        made.use({"SIGNOFF_DATABASE_URL": workers_role(url)}, only="workers")
    with made as found:
        yield found


@pytest.fixture
def small(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


@pytest.fixture
def stumbling(tmp_path: Path) -> Iterator[World]:
    with with_witness(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for all wishes that never become a plan."""
    with with_witness(tmp_path_factory.mktemp("idle")) as found:
        yield found


def test_a_deploy_is_planned_edited_approved_and_runs_in_its_window(world: World) -> None:
    world.asks(DEPLOY)
    card = world.ann.sees("can approve")
    assert {block["type"] for block in card["blocks"]} == {"section", "actions", "context"}
    world.ann.clicks("approve")
    world.ann.sees("somebody else must approve it: <@U0BOB> or <@U0CAROL>")
    world.bob.clicks("edit")
    assert (
        world.bob.fills({"when:deploy": "99 o'clock"}).errors["when:deploy"].startswith("I do not understand")
    )
    world.bob.fills({"when:deploy": "2AM ET"})
    world.ann.sees("plan 1, revision 2")  # on the card: from now on its buttons are those of revision 2
    world.bob.clicks("approve")
    world.ann.sees("9 passed")
    world.ann.sees("auth_prod backed up: ")
    world.ann.sees("Waits until")
    assert live_version(world) == "v2.1.3"
    waiting = world.plan()

    assert world.workspace.run("jump").startswith("It is")
    done = world.ends()

    assert done.outcome == "succeeded"
    assert [step.state for step in waiting.steps] == ["succeeded", "succeeded", "pending"]
    assert done.step("deploy").started_at >= done.step("deploy").not_before  # type: ignore[operator] # both are set
    assert live_version(world) == "v2.1.4"
    assert (world.home / "backups").exists()
    world.ann.sees("done in")
    outcomes = [line for line in world.told() if line.startswith(":white_check_mark:")]
    assert len(outcomes) == 5
    assert len(world.workspace.messages()) == 1
    assert broken_link(world.store.events(done.id)) is None


def test_a_failing_suite_aborts_before_the_backup_and_offers_to_plan_again(small: World) -> None:
    small.workspace.run("break", on=True)
    small.asks(DEPLOY)
    small.bob.clicks("approve")

    failed = small.ends()

    assert failed.outcome == "failed"
    assert failed.step("backup").state == "skipped"
    assert list(small.home.glob("backups/*")) == []
    small.ann.sees("tests failed")
    small.workspace.run("break", on=False)
    small.ann.clicks("plan_again")
    small.until(lambda plan: plan.id > failed.id and plan.state == "proposed", "the new plan")


def test_a_failing_step_that_asks_goes_on_as_a_person_says(stumbling: World) -> None:
    stumbling.asks("/plan stumble")
    stumbling.bob.clicks("approve")
    asked = readable(stumbling.ann.sees("The plan waits for an answer."))
    assert asked.startswith("<@U0BOB> <@U0ANN>  *")
    assert "failed:*" in asked
    assert "heal it first" in asked
    assert "*Try Again*: runs it once more" in asked
    assert "[Try Again] [Go On Without It]" in asked
    stumbling.gus.clicks("answer_retry")
    stumbling.gus.sees("Guests may not")
    (stumbling.home / "healed").touch()

    stumbling.ann.clicks("answer_retry")

    assert stumbling.ends().outcome == "succeeded"
    stumbling.workspace.wait(lambda state: "answer_retry" not in json.dumps(state), "the buttons to go")


def test_skipping_and_aborting_are_answers_too(stumbling: World) -> None:
    stumbling.asks("/plan stumble")
    stumbling.bob.clicks("approve")
    stumbling.ann.clicks("answer_skip")
    first = stumbling.ends()
    stumbling.asks("/plan stumble again")
    stumbling.ann.sees("I do not know what “again” means here")
    stumbling.asks("/plan stumble")
    stumbling.until(lambda plan: plan.state == "proposed", "the second plan")
    stumbling.bob.clicks("approve")
    stumbling.until(lambda plan: plan.state == "stalled", "the question")
    stumbling.ann.clicks("answer_abort")
    second = stumbling.ends()

    assert (first.outcome, second.outcome) == ("incomplete", "failed")


def test_two_people_approve_at_once_and_the_second_is_told_who_was_first(small: World) -> None:
    small.asks(DEPLOY)
    buttons = [(person, person.button("approve")) for person in (small.bob, small.carol)]
    with ThreadPoolExecutor(2) as pool:
        clicked = list(pool.map(lambda pair: pair[0].clicks(pair[1]).acked, buttons))
    small.until(lambda plan: plan.state != "proposed", "the approval")
    winner = small.plan().approved_by
    loser = small.carol if winner == ("U0BOB",) else small.bob

    loser.sees(f"<@{winner[0]}> was first")

    assert clicked == [True, True]
    assert len(winner) == 1
    assert [event.verb for event in small.store.events(small.plan().id)].count("approve") == 1


def test_a_button_of_an_old_revision_is_refused_with_a_sentence(small: World) -> None:
    small.asks(DEPLOY)
    old = small.carol.button("approve")
    small.bob.clicks("edit")
    small.bob.fills({"param:deploy:strategy": "rolling"})
    small.ann.sees("strategy ~blue-green~ → *rolling*")

    small.carol.clicks(old)

    small.carol.sees("That button belongs to revision 1; meanwhile there is revision 2")
    assert small.plan().state == "proposed"
    small.bob.clicks("approve")
    small.bob.sees("You asked for this plan or changed it")
    assert small.plan().approved_by == ()


def test_an_unknown_button_answers(small: World) -> None:
    small.asks(DEPLOY)
    button = small.bob.button("approve")
    odd = type(button)(button.message_ts, button.channel, button.block_id,
                       {**button.element, "action_id": "frobnicate"})  # fmt: skip

    assert small.bob.clicks(odd).acked
    small.bob.sees("This button does nothing (any more)")


def test_a_rejection_carries_its_reason_to_the_requester(small: World) -> None:
    small.asks(DEPLOY)
    small.bob.clicks("reject")
    small.bob.fills({"reason": "not during the sale"})

    small.ann.sees("“not during the sale”")

    assert small.plan().state == "rejected"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("/plan", "Say what you need"),
        ("/plan make me a sandwich", "I have no runbook for that"),
        ("/plan don't deploy auth-service v2.1.4 to production", "says not to"),
        ("/plan deploy auth-service to production", "Which version?"),
        ("/plan deploy auth-service v2.1.4 to production at full moon", "*You also said “moon”.*"),
        ("/plan deploy auth-service v2.1.4 to production after the big game",
         "*When? I could not use “after the big game”.*"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_planned_gets_a_sentence_and_nothing_to_approve(
    idle: World, said: str, answer: str
) -> None:
    idle.asks(said)

    told = idle.ann.sees(answer)

    assert told["to"] == "U0ANN"
    assert '"action_id": "approve"' not in json.dumps(told)
    assert idle.workspace.messages() == []


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("/plan use a ghost", "there is no worker 'ghost'"),
        ("/plan go in a circle", "these steps wait for each other"),
        ("/plan say it wrongly", "parameters: Additional properties are not allowed"),
    ],
)
def test_a_plan_that_is_not_valid_can_never_be_approved(idle: World, said: str, answer: str) -> None:
    idle.asks(said)

    told = idle.ann.sees(answer)

    assert told["to"] == "U0ANN"
    assert '"action_id": "approve"' not in json.dumps(told)
    assert idle.workspace.messages() == []
    assert idle.plan().state == "cancelled"


def test_a_plan_that_changes_nothing_runs_at_once(small: World) -> None:
    small.asks("/plan run the full tests on staging")

    assert small.ends().outcome == "succeeded"
    assert small.plan().approved_by == ()
    small.ann.sees("no approval needed")


def test_a_mention_is_planned_once_however_often_it_is_delivered(small: World) -> None:
    small.workspace.fault(duplicate=3)
    small.asks("@Signoff deploy auth-service v2.1.4 to production")
    small.ann.sees("can approve")

    assert len(small.store.recent()) == 1


def test_slack_saying_no_for_a_while_loses_and_doubles_nothing(small: World) -> None:
    small.workspace.fault(rate_limit=4)
    small.asks(DEPLOY)
    small.bob.clicks("approve")
    small.ends()
    small.ann.sees("done in")

    assert len(small.workspace.messages()) == 1
    assert len([line for line in small.told() if line.startswith(":white_check_mark:")]) == 5


def test_an_admin_stops_and_resumes_everything(small: World) -> None:
    small.asks("/plan stop because", small.bob)
    small.bob.sees("You may not stop. Those who may: <@U0CAROL>")
    small.asks("/plan stop", small.carol)
    small.carol.sees("Please say why")
    small.asks("/plan stop strange noises in the cellar", small.carol)
    small.ann.sees("<@U0CAROL> stopped everything: strange noises in the cellar")
    small.asks(DEPLOY)
    small.bob.clicks("approve")
    small.ann.sees("on production*\n*Stopped*")
    held = small.plan()
    small.asks("/plan resume", small.carol)
    small.ann.sees("<@U0CAROL> resumed everything")
    record = [(event.verb, event.actor) for event in small.store.events(0) if event.actor != "bot"]

    assert record == [("refuse", "U0BOB"), ("stop", "U0CAROL"), ("resume", "U0CAROL")]
    assert [step.state for step in held.steps] == ["pending"] * 3
    assert small.ends().outcome == "succeeded"


def test_plans_are_listed_shown_and_cancelled(small: World) -> None:
    small.asks(DEPLOY)
    small.ann.button("approve")
    small.asks("/plan list", small.bob)
    small.bob.sees("1: Back up auth_prod and deploy auth-service v2.1.4 on production — waiting for approval")
    small.asks("/plan show 1", small.bob)
    small.bob.sees("2. [pending] Back up auth_prod (after test)")
    small.asks("/plan show seven", small.bob)
    small.bob.sees("name the plan by its number")
    small.asks("/plan cancel 1 no longer needed", small.gus)
    small.gus.sees("There is no plan 1 that you can see.")
    small.asks("/plan cancel 1 no longer needed")
    small.ann.sees("cancelled it: “no longer needed”")

    assert small.plan().state == "cancelled"


@pytest.mark.authorize
def test_an_approval_whose_giver_has_left_is_not_spent(small: World) -> None:
    small.asks("/plan deploy auth-service v2.1.4 to production tonight at 2am ET")
    small.bob.clicks("approve")
    small.until(lambda plan: plan.step("backup").state == "succeeded", "the backup")
    small.workspace.change_member("U0BOB", deleted=True)

    small.workspace.run("jump")

    small.ann.sees("waits and does not start: an approval no longer holds: This account is deactivated.")
    assert live_version(small) == "v2.1.3"
    small.workspace.change_member("U0BOB", deleted=False)
    assert small.ends().outcome == "succeeded"
