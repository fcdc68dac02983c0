"""The story once more, as a person has it: in Chromium, clicking. Screenshots stay in tests/artifacts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import shot, visit
from tests.support.world import World

pytestmark = pytest.mark.browser


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


@pytest.fixture
def page(world: World, browser: Browser) -> Iterator[Page]:
    with visit(browser, world.demo.slack.page_url, 1440, 1000) as found:
        yield found


def act_as(page: Page, user: str) -> None:
    page.locator(f'[data-testid="member"][data-user="{user}"]').click()


def press(page: Page, action: str) -> None:
    page.locator(f'[data-testid="button"][data-action-id="{action}"]').last.click()


def test_the_story_in_a_browser(page: Page, world: World, browser: Browser) -> None:
    shot(page, "story-1-empty")
    page.get_by_test_id("suggestion").first.click()
    page.get_by_test_id("send").first.click()
    expect(page.get_by_test_id("message").first).to_contain_text("can approve")
    expect(page.get_by_test_id("message").first).to_contain_text(
        "Deploy auth-service v2.1.3 → v2.1.4 on production"
    )
    shot(page, "story-2-card")
    press(page, "approve")
    expect(page.get_by_test_id("ephemeral")).to_contain_text("somebody else must approve it")
    shot(page, "story-3-refused")

    page.get_by_test_id("ephemeral").get_by_test_id("mention").first.click()
    if page.get_by_test_id("act-as").count():
        page.get_by_test_id("act-as").first.click()
    press(page, "edit")
    expect(page.get_by_test_id("modal")).to_be_visible()
    page.locator('[data-block-id="when:deploy"] input, [data-block-id="when:deploy"] textarea').fill(
        "teatime"
    )
    page.get_by_test_id("modal-submit").click()
    expect(page.get_by_test_id("field-error")).to_contain_text("I do not understand the time")
    shot(page, "story-4-edit")
    page.locator('[data-block-id="when:deploy"] input, [data-block-id="when:deploy"] textarea').fill("2AM ET")
    page.get_by_test_id("modal-submit").click()
    expect(page.get_by_test_id("modal")).to_have_count(0)
    expect(page.get_by_test_id("message").first).to_contain_text("revision 2")
    press(page, "approve")
    expect(page.get_by_test_id("message").first).to_contain_text("Waits until")
    page.get_by_test_id("replies").first.click()
    expect(page.get_by_test_id("thread")).to_contain_text("9 passed")
    shot(page, "story-5-waits")

    page.locator('[data-testid="control"][data-control="jump"]').first.click()
    expect(page.get_by_test_id("thread")).to_contain_text("done in")
    expect(page.get_by_test_id("message").first).to_contain_text("auth-service is v2.1.4 on production")
    shot(page, "story-6-done")
    page.set_viewport_size({"width": 390, "height": 844})
    shot(page, "story-7-phone")

    assert world.plan().outcome == "succeeded"
    # Not by `visit`: a page without an icon is an error in Chromium's eyes.
    practice = browser.new_page(viewport={"width": 900, "height": 700})
    practice.goto(f"http://127.0.0.1:{world.demo.seed.practice}/")
    expect(practice.locator("body")).to_contain_text("v2.1.4")
    shot(practice, "story-8-practice")


def test_a_failing_suite_in_a_browser(page: Page, world: World) -> None:
    page.locator('[data-testid="control"][data-control="break"]').first.click()
    page.get_by_test_id("suggestion").first.click()
    page.get_by_test_id("send").first.click()
    act_as(page, "U0CAROL")
    press(page, "approve")
    page.get_by_test_id("replies").first.click()
    expect(page.get_by_test_id("thread")).to_contain_text("tests failed")
    expect(page.get_by_test_id("message").first).to_contain_text("not run")
    shot(page, "story-9-failed")
    page.locator('[data-testid="control"][data-control="kill"]').first.click()
    expect(page.get_by_test_id("toast").last).to_contain_text("was killed")
    press(page, "plan_again")

    world.until(lambda plan: plan.id == 2 and plan.state == "proposed", "the new plan")
