"""The ways in, the home tab and what comes back, as people meet them: over real Socket Mode."""

import json
import os
import signal
import time
from collections.abc import Iterator

import pytest

from bot.local.client.person import Person
from bot.local.client.text import readable
from storage.audit.export import journal, last_checkpoint
from storage.audit.verify import check
from storage.reading.plan_view import PlanView
from tests.support.world import World

WISH = "deploy auth-service v2.1.4 to production"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for all stories: each looks at its own, newest plan."""
    with World(tmp_path_factory.mktemp("world")) as found:
        yield found


@pytest.fixture
def before(world: World) -> int:
    """The number of plans that there were before this story."""
    return len(world.store.recent(100))


def proposed(world: World, before: int) -> int:
    """Wait for a new plan that can be approved: its card stands there, and its previews are in."""

    def ready(plan: PlanView) -> bool:
        seen = plan.card and not any(step.previewing for step in plan.steps)
        return plan.id > before and plan.state == "proposed" and bool(seen)

    return world.until(ready, "a proposal").id


def approves(world: World, person: Person, plan_id: int) -> None:
    card = world.until(lambda plan: plan.id == plan_id and plan.card, "the card").card
    person.clicks("approve", message=card)


def test_a_direct_message_becomes_one_plan_and_its_approver_reviews_it_in_the_home_tab(
    world: World, before: int
) -> None:
    world.workspace.fault(duplicate=3)
    world.ann.writes(WISH)
    plan = proposed(world, before)
    world.bob.opens_home()
    world.bob.sees("Waiting for you")
    world.ann.opens_home()
    world.ann.sees("Nothing waits for you.")

    world.bob.clicks_at_home("home_review", block_id=f"home_plan_{before + 1}")
    shown = readable(world.bob.view())
    refused = world.bob.fills({"choice": "reject"})
    world.bob.fills({"choice": "approve"})

    assert world.plan().channel == world.ann.dm
    assert "Done only if" in shown
    assert "If it fails" in shown
    assert list(refused.errors) == ["text"]
    world.bob.sees(f"You approved plan {plan}, revision 1.")
    world.until(lambda view: view.state in {"approved", "done"}, "the approval")
    assert len(world.store.recent(100)) == before + 1
    world.ann.sees("<@U0BOB> approved revision 1")


def test_the_shortcut_plans_somebody_elses_words_in_their_thread(world: World, before: int) -> None:
    said = world.bob.says(WISH).payload["ts"]
    world.workspace.fault(duplicate=1)
    world.ann.uses("plan_this", message=said)

    proposed(world, before)

    assert (world.plan().requester, world.plan().thread) == ("U0ANN", said)
    assert len(world.store.recent(100)) == before + 1


def test_a_mention_in_a_thread_is_planned_there_and_the_bots_own_words_are_not_wishes(
    world: World, before: int
) -> None:
    root = world.ann.says("who deploys today?").payload["ts"]
    world.asks("plain talk is not for the bot")
    world.ann.says(f"@Signoff {WISH}", thread=root)
    proposed(world, before)
    world.ann.writes("help")

    world.ann.sees("Say what you need")

    assert world.plan().thread == root
    assert len(world.store.recent(100)) == before + 1


def test_words_in_the_thread_change_the_plan_and_never_approve_it(world: World, before: int) -> None:
    world.asks(f"/plan {WISH}")
    proposed(world, before)
    card = world.plan().card
    world.workspace.fault(duplicate=2)
    world.bob.says("move step 3 to 2am ET", thread=card)
    world.ann.sees("<@U0BOB> *changed*")
    world.workspace.wait(lambda state: "ok_hand" in json.dumps(state["messages"]), "a sign that it was heard")
    world.bob.says("lgtm", thread=card)
    world.bob.sees("Words don't approve here, the button does")
    world.gus.says("use canary instead", thread=card)
    world.bob.says("use frobnication instead", thread=card)
    told = world.bob.sees("I did not get “frobnication”. I understand, for example: “move step 3 to 2am”")

    world.bob.clicks("edit", message=told["ts"])

    assert world.bob.view()["callback_id"] == "edit"
    assert world.plan().revision == 2
    assert world.plan().step("deploy").spec.schedule.at == "2am et"
    world.bob.closes()


def test_runbooks_and_windows_are_told(world: World) -> None:
    world.asks("/plan runbooks")
    world.ann.sees("`/plan deploy")
    world.asks("/plan windows")

    world.ann.sees("nightly for production: ")


def test_the_home_tab_asks_follows_and_holds_the_switch(world: World, before: int) -> None:
    world.ann.opens_home()
    assert "home_stop" not in json.dumps(world.ann.home())
    world.ann.clicks_at_home("home_plan")
    assert world.ann.fills({"text": "  "}).errors
    world.ann.fills({"text": "run the full tests on staging"})
    world.until(lambda plan: plan.id > before and plan.state == "done", "the end of the plan")
    world.ann.opens_home()
    world.ann.sees(f"· plan {world.plan().id}")
    world.carol.opens_home()
    world.carol.clicks_at_home("home_stop")
    world.carol.fills({"text": "strange noises"})
    world.carol.sees("is stopped by <@U0CAROL>: strange noises")
    assert [stop.scope for stop in world.store.stops()] == ["everything"]
    world.bob.opens_home()
    world.bob.sees("strange noises")
    assert "home_resume" not in json.dumps(world.bob.home())

    world.carol.clicks_at_home("home_resume")

    world.workspace.wait(lambda state: "home_stop" in json.dumps(state["homes"]), "the switch again")
    assert world.store.stops() == []


def test_nobody_does_at_the_home_tab_what_they_may_not(world: World, before: int) -> None:
    world.gus.opens_home()
    world.gus.sees("Guests may not")
    world.asks(f"/plan {WISH}")
    proposed(world, before)
    world.bob.opens_home()
    world.bob.clicks_at_home("home_review", block_id=f"home_plan_{before + 1}")
    world.bob.view()
    approves(world, world.carol, before + 1)
    world.until(lambda plan: plan.state != "proposed", "the approval")

    world.bob.fills({"choice": "approve"})

    world.bob.sees("<@U0CAROL> was first")
    assert world.plan().approved_by == ("U0CAROL",)


def test_the_end_has_a_picture_and_a_failure_has_its_log(world: World, before: int) -> None:
    world.workspace.run("break", on=True)
    world.asks(f"/plan {WISH}")
    approves(world, world.bob, proposed(world, before))
    world.ends()
    world.workspace.run("break", on=False)

    picture = world.ann.file(f"plan-{world.plan().id}-timeline.png")
    log = next(
        file
        for message in world.workspace.wait(
            lambda state: [m for m in state["messages"] if ".txt" in json.dumps(m.get("files", []))], "a log"
        )
        for file in message["files"]
    )

    assert (picture["mimetype"], picture["original_w"]) == ("image/png", 1500)
    assert "failed" in log["preview"] or log["lines_more"] > 0


def test_a_bot_that_is_told_to_stop_anchors_what_has_happened_since_the_last_time(world: World) -> None:
    def unanchored() -> int:
        anchored = last_checkpoint(world.home / "checkpoints.jsonl")
        return check(journal(world.store.engine), anchored.heads if anchored else {}).newer

    world.store.adopt("another policy", {}, actor="test")
    bot, before = world.pid("bot"), unanchored()
    os.kill(bot, signal.SIGTERM)
    end = time.monotonic() + 30
    while world.pid("bot") == bot and unanchored() and time.monotonic() < end:
        time.sleep(0.05)

    assert (before > 0, unanchored(), world.pid("bot")) == (True, 0, bot)  # and not by its successor
