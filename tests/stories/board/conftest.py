"""The product with a board: with a witness, a private channel, and somebody who leaves."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import bot.demo.run
from bot.local.shapes import TEAM_ID, Channel, Member
from bot.tickets import Tickets, kept_key
from tests.support.browser import visit
from tests.support.world import World, with_witness

WIDE, PHONE = (1360, 900), (390, 844)
PRIVATE = Channel("C0QUIET", "quiet", is_private=True, members=("U0BOB", "U0CAROL"))
LEAVES = Member("U0DAN", "dan", "Dan Dean")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bot.demo.run, "CHANNELS", (*bot.demo.run.CHANNELS, PRIVATE))
        patch.setattr(bot.demo.run, "MEMBERS", (*bot.demo.run.MEMBERS, LEAVES))
        with with_witness(tmp_path_factory.mktemp("world"), board=True) as made:
            yield made


def address(world: World) -> str:
    return f"http://127.0.0.1:{world.demo.seed.board}"


def link(world: World, user: str) -> str:
    """What `/plan board` would whisper."""
    tickets = Tickets(address(world), kept_key(world.home))
    found = world.store.find_visit(world.store.invite_visit(team=TEAM_ID, user=user))
    assert found
    return tickets.link(found)


def enters(page: Page) -> None:
    page.get_by_role("button", name="Open the board as").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Now")
    expect(page.locator(".live")).to_have_text("live")


def session(browser: Browser, world: World, user: str) -> Any:
    """Somebody's session: they come in once, as often as it is used."""
    with visit(browser, link(world, user), *WIDE) as page:
        enters(page)
        return page.context.storage_state()


@pytest.fixture(scope="module")
def carol(browser: Browser, world: World) -> Any:
    return session(browser, world, "U0CAROL")
