"""Every page in light and dark, wide and on a phone; by keyboard, and without JavaScript."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.stories.board.conftest import PHONE, WIDE, address
from tests.support.browser import shot, visit
from tests.support.places import ROOT
from tests.support.world import DEPLOY, World

pytestmark = [pytest.mark.board, pytest.mark.browser]
PAGES = ("", "tonight", "plans", "plans/1", "plans/2", "fleet", "figures", "journal?verify=1", "report")
SIZES = {"wide": WIDE, "phone": PHONE}
AXE = ROOT / "tests" / "support" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
FOCUSED = "e => e.matches(':focus-visible') && getComputedStyle(e).outlineStyle"


@pytest.fixture(scope="module", autouse=True)
def evening(world: World) -> None:
    """Something to see: a plan that has ended, one that waits for a person."""
    world.asks(DEPLOY)
    assert world.bob.clicks("approve").acked
    world.ends()
    world.asks("/plan back up auth_prod tonight at 2am ET")
    world.until(lambda plan: plan.id == 2 and plan.card, "the second plan")


def violations(page: Page) -> object:
    page.evaluate(f"{AXE.read_text(encoding='utf-8')};undefined")
    told = "found => found.violations.map(one => [one.id, one.nodes[0].html])"
    run = f"rules => axe.run(document, {{runOnly: rules}}).then({told})"
    return page.evaluate(run, RULES)


@pytest.mark.parametrize(("theme", "size"), [("light", "phone"), ("dark", "wide")])
def test_every_page_is_seen_by_everybody(
    browser: Browser, world: World, carol: Any, theme: str, size: str
) -> None:
    with visit(browser, address(world), *SIZES[size], color_scheme=theme, storage_state=carol) as page:
        for name in PAGES:
            page.goto(f"{address(world)}/{name}")
            assert violations(page) == [], name
            for look in SIZES:
                page.set_viewport_size(dict(zip(("width", "height"), SIZES[look], strict=True)))
                shot(page, f"board-{name.partition('?')[0].replace('/', '-') or 'now'}-{theme}-{look}")
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            page.set_viewport_size(dict(zip(("width", "height"), SIZES[size], strict=True)))


def test_by_keyboard_every_link_is_reached_and_shows_it(browser: Browser, world: World, carol: Any) -> None:
    with visit(browser, address(world), *WIDE, storage_state=carol) as page:
        reached = []
        for _ in range(8):
            page.keyboard.press("Tab")
            assert page.locator(":focus").evaluate(FOCUSED) not in (False, "none")
            reached.append(page.locator(":focus").text_content())

    assert reached[0] == "Skip to the content"
    assert [word.rstrip("0123456789") for word in reached[2:8]] == [
        "Now", "Tonight", "Plans", "Fleet", "Figures", "Journal",
    ]  # fmt: skip


def test_without_javascript_the_pages_say_the_same(browser: Browser, world: World, carol: Any) -> None:
    said = []
    for script in (True, False):
        how: Any = {"java_script_enabled": script, "storage_state": carol}
        with visit(browser, address(world), *WIDE, **how) as page:
            said.append([words(page, f"{address(world)}/{name}") for name in PAGES[1:]])

    assert said[0] == said[1]


def words(page: Page, address: str) -> list[str]:
    """All that does not tell how long ago something was."""
    page.goto(address)
    return page.locator(
        "main h1, main h2, main td:not(.ago), main dd, main .t, main summary b"
    ).all_inner_texts()
