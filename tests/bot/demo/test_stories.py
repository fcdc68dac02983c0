"""The demo tells its story by itself: one button in a real browser, and three things that it refuses."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from bot.demo.run import live_yesterday
from bot.demo.stage import Stage
from storage.intention import Intention
from tests.support.browser import Recording, shot, visit
from tests.support.fakes import verbs
from tests.support.world import World, live_version

PICTURE = "story.webp"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("demo")) as found:
        live_yesterday(found.demo)
        yield found


def played(world: World, control: str) -> None:
    world.demo.player.stage.pace = 0.0
    world.workspace.run(control)
    world.demo.player.wait(120)
    assert not world.demo.player.playing


@pytest.mark.browser
def test_yesterday_lies_in_the_channel_and_one_button_plays_the_story(world: World, browser: Browser) -> None:
    world.demo.player.stage.pace = 0.6
    states = [str(plan.state) for plan in world.store.recent(3)]
    with visit(browser, world.demo.slack.page_url, 1180, 760) as page:
        expect(page.get_by_test_id("message").nth(2)).to_be_visible()
        shot(page, "demo-1-yesterday")
        recording = Recording(page)
        page.get_by_test_id("lead").click()
        while world.demo.player.playing:
            recording.look()
            time.sleep(0.15)
        recording.look()
        shot(page, "demo-2-played")
        expect(page.get_by_test_id("caption")).to_have_count(0)
        expect(page.get_by_test_id("channel")).to_contain_text("auth-service is v2.1.4 on production")
        recording.write(PICTURE)
    with visit(browser, world.demo.slack.page_url, 390, 844) as phone:
        expect(phone.get_by_test_id("lead")).to_be_visible()
        shot(phone, "demo-3-phone")

    assert states == ["proposed", "done", "done"]
    assert live_version(world) == "v2.1.4"
    assert [str(plan.outcome) for plan in world.store.recent(4)[2:]] == ["failed", "succeeded"]


def test_a_planner_that_lies_is_shown_as_what_it_does(world: World) -> None:
    played(world, "lie")
    (card,) = [body for body in world.workspace.messages() if body["ts"] == world.plan().card]

    assert "v6.6.6" in card["text"]
    assert "Deploy" in card["text"] or "deploy" in card["text"]
    assert str(world.plan().state) == "rejected"
    assert live_version(world) != "v6.6.6"


def test_a_story_in_which_somebody_else_decides_does_not_break_off(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, reject = list[str](), Intention.reject

    def late(store: Intention, plan_id: int, revision: int, *, user: str, reason: str) -> None:
        reject(store, plan_id, revision, user="U0CAROL", reason="I have seen it.")
        reject(store, plan_id, revision, user=user, reason=reason)

    monkeypatch.setattr(Intention, "reject", late)
    monkeypatch.setattr(Stage, "say", lambda stage, text, **where: said.append(text))
    played(world, "lie")

    assert world.plan().reason == "I have seen it."
    assert not [text for text in said if "broke off" in text]


@pytest.mark.parametrize("control", ["tamper", "leave"])
def test_what_was_tampered_with_or_lost_its_approver_gets_no_permit(
    world: World, control: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, cancel = list[bool](), Intention.cancel

    def watched(store: Intention, plan_id: int, *, user: str, reason: str) -> bool:
        bob = next(one for one in world.workspace.state()["members"] if one["id"] == "U0BOB")
        wrong.append(bool(store.tampered(plan_id) or bob["deleted"]))
        return cancel(store, plan_id, user=user, reason=reason)

    monkeypatch.setattr(Intention, "cancel", watched)
    played(world, control)
    plan = world.plan()

    assert wrong == [True]  # what is put right before the plan is over would run
    assert not world.store.tampered(plan.id)
    assert "withhold" in verbs(world.store, plan.id)
    assert not {"permit", "claim"} & {*verbs(world.store, plan.id)}
    assert str(plan.state) == "cancelled"
    world.workspace.wait(partial(drawn, plan.card, plan.reason), "the card to say why")
    assert not world.workspace.state()["caption"]["text"]


def drawn(card: str, text: str, state: dict[str, Any]) -> bool:
    """Whether the card says so."""
    return any(body["ts"] == card and text in body["text"] for body in state["messages"])
