"""The board as people live it, in Chromium: a request appears, is approved and runs; every page."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from bot.local.shapes import TEAM_ID
from bot.tickets import Tickets, kept_key
from tests.support.browser import shot, visit
from tests.support.places import ROOT
from tests.support.world import DEPLOY, World

pytestmark = [pytest.mark.board, pytest.mark.browser]
PAGES = ("", "tonight", "plans", "plans/1", "fleet", "figures", "journal?verify=1", "report")
SIZES = {"wide": (1360, 900), "phone": (390, 844)}
AXE = ROOT / "tests" / "support" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world"), board=True) as made:
        yield made


@pytest.fixture(scope="module")
def carol(browser: Browser, world: World) -> Any:
    """Carol's session: she comes in once, as often as she is asked for."""
    with visit(browser, link(world, "U0CAROL"), *SIZES["wide"]) as page:
        enters(page)
        return page.context.storage_state()


def link(world: World, user: str) -> str:
    """What `/plan board` would whisper."""
    tickets = Tickets(f"http://127.0.0.1:{world.demo.seed.board}", kept_key(world.home))
    visit_ = world.store.find_visit(world.store.invite_visit(team=TEAM_ID, user=user))
    assert visit_
    return tickets.link(visit_)


def enters(page: Page) -> None:
    page.get_by_role("button", name="Open the board as").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Now")
    expect(page.locator(".live")).to_have_text("live")


def whispered(state: dict[str, Any]) -> str | None:
    """The link, as Bob alone is told it."""
    told = [said["text"] for said in state["ephemerals"] if "Open the board" in said["text"]]
    return told[-1].partition("<")[2].partition("|")[0] if told else None


def violations(page: Page) -> object:
    page.evaluate(f"{AXE.read_text(encoding='utf-8')};undefined")
    told = "found => found.violations.map(one => [one.id, one.nodes[0].html])"
    run = f"rules => axe.run(document, {{runOnly: rules}}).then({told})"
    return page.evaluate(run, RULES)


def test_an_evening_at_the_board(browser: Browser, world: World) -> None:
    assert world.bob.says("/plan board").acked
    address = world.workspace.wait(whispered, "the link")
    with visit(browser, address, *SIZES["wide"]) as page:
        enters(page)
        # A request appears without a reload, and is approved in Slack.
        page.evaluate("window.same = true")
        world.asks(DEPLOY)
        row = page.locator("#n-ask li", has_text="deploy auth-service v2.1.4")
        expect(row).to_contain_text("asks bob or carol")
        assert page.evaluate("window.same") is True
        row.locator("a.t").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("deploy auth-service v2.1.4")
        world.until(lambda plan: plan.card, "the card")
        assert world.bob.clicks("approve").acked
        expect(page.locator(".sub .s")).to_have_text("Done")
        expect(page.locator("#s-deploy")).to_contain_text("Succeeded")
        expect(page.get_by_text("every event follows from the one before")).to_be_visible()
        shot(page, "board-plan-done")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_seen_by_everybody(
    browser: Browser, world: World, carol: Any, theme: str, size: str
) -> None:
    board = f"http://127.0.0.1:{world.demo.seed.board}"
    with visit(browser, board, *SIZES[size], color_scheme=theme, storage_state=carol) as page:
        for name in PAGES:
            page.goto(f"{board}/{name}")
            shot(page, f"board-{name.partition('?')[0].replace('/', '-') or 'now'}-{theme}-{size}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            assert violations(page) == [], name


def test_without_javascript_the_pages_say_the_same(browser: Browser, world: World, carol: Any) -> None:
    board, said = f"http://127.0.0.1:{world.demo.seed.board}", []
    for script in (True, False):
        how: Any = {"java_script_enabled": script, "storage_state": carol}
        with visit(browser, board, *SIZES["wide"], **how) as page:
            said.append(
                [words(page, f"{board}/{name}") for name in ("plans", "plans/1", "figures", "journal")]
            )

    assert said[0] == said[1]


def words(page: Page, address: str) -> list[str]:
    page.goto(address)
    return page.locator("main h1, main h2, main td, main dd, main .t").all_inner_texts()
