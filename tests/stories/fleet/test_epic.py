"""The demo's epic in Chromium: approved, watched, a flagged change refused, and the rest integrated."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from storage.reading.plan_view import PlanView
from tests.support.browser import shot, visit
from tests.support.fleet.ground import boxed
from tests.support.world import World

pytestmark = [pytest.mark.browser, pytest.mark.fleet, boxed, pytest.mark.timeout(600)]
LONG = 240.0  # seconds for eight agents and their tests on a busy machine


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


@pytest.fixture
def page(world: World, browser: Browser) -> Iterator[Page]:
    with visit(browser, world.demo.slack.page_url, 1440, 1000) as found:
        found.set_default_timeout(LONG * 1000)
        yield found


def act_as(page: Page, user: str) -> None:
    page.locator(f'[data-testid="member"][data-user="{user}"]').click()


def press(page: Page, action: str) -> None:
    page.locator(f'[data-testid="button"][data-action-id="{action}"]').last.click()


def landing(plan: PlanView) -> bool:
    """Whether integrating is before people, with what it would change."""
    there = any(step.spec.action == "integrate" for step in plan.steps)
    return plan.state == "proposed" and there and not any(step.previewing for step in plan.steps)


def trailers(home: Path, name: str) -> list[str]:
    """Of the branch that was pushed to where the repository comes from."""
    shop = ["git", "-C", str(home / "shop")]
    listed = subprocess.run(
        [*shop, "branch", "--list", "signoff/*"], capture_output=True, text=True, check=True
    )
    branch = listed.stdout.split()[-1]
    words = ["log", f"--format=%(trailers:key={name},valueonly)", f"main..{branch}"]
    return subprocess.run([*shop, *words], capture_output=True, text=True, check=True).stdout.split()


def test_the_demos_epic_in_a_browser(page: Page, world: World) -> None:
    page.get_by_test_id("suggestion").filter(has_text="epic in shop").click()
    page.get_by_test_id("send").first.click()
    world.until(lambda plan: plan.state == "proposed" and plan.card, "a card", LONG)
    card = page.get_by_test_id("message").first
    expect(card).to_contain_text("boxed (namespaces)")
    expect(card).to_contain_text("at most 100 times")
    shot(page, "epic-1-mandate")
    act_as(page, "U0BOB")
    press(page, "approve")

    world.until(lambda plan: any(step.spec.action == "change" for step in plan.steps), "drafts", LONG)
    shot(page, "epic-2-at-work")
    world.until(landing, "what to integrate", LONG)
    expect(card).to_contain_text("6 of 6 go together")
    press(page, "details")
    expect(page.get_by_test_id("modal")).to_contain_text("+def price_0(count):")
    shot(page, "epic-3-difference")
    page.get_by_test_id("modal-close").click()
    press(page, "approve")

    world.until(lambda plan: any("decline" in step.choices for step in plan.steps), "the question", LONG)
    page.get_by_test_id("replies").first.click()
    expect(page.get_by_test_id("thread")).to_contain_text("“Price clocks” is green, and has")
    shot(page, "epic-4-flagged")
    press(page, "answer_decline")
    plan = world.ends(LONG)
    expect(page.get_by_test_id("thread")).to_contain_text("6 of 8 subtasks landed")
    expect(page.get_by_test_id("thread")).to_contain_text("“Price carpets”: its tests stay red")
    shot(page, "epic-5-done")

    assert plan.outcome == "incomplete"
    keys = trailers(world.home, "Signoff-Key")
    assert len(keys) == len({*keys}) == 6
    assert {*trailers(world.home, "Signoff-Step")} == {f"change-{number}" for number in (0, 1, 2, 3, 5, 7)}
    assert {*trailers(world.home, "Signoff-Plan")} == {"1"}
