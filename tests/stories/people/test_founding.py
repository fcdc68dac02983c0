"""The founding story as people see it: how tall its card is, and how often each of them is called."""

from collections import Counter
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from bot.local.client.person import Person
from tests.support.browser import shot, visit
from tests.support.world import DEPLOY, World

SIZES = {"desktop": (1360, 900), "laptop": (1280, 720), "phone": (390, 844)}
PROPOSED = {"desktop": 320, "laptop": 320, "phone": 420}
CHANGED = {"desktop": 350, "laptop": 350, "phone": 530}  # a longer weekday may take a line more
DONE = {"desktop": 200, "laptop": 200, "phone": 320}
MOVE = "Modify step-3 to schedule for 2AM EST"
MOST = {"ann": 3, "bob": 2, "carol": 1, "gus": 0}  # who asks, decides, could decide, stands by


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("founding")) as found:
        yield found


def fits(browser: Browser, world: World, name: str, most: dict[str, int]) -> None:
    """The card's blocks are so tall at each size; title and first button stand in sight, unscrolled."""
    found = {}
    for size, (width, height) in SIZES.items():
        with visit(browser, world.demo.slack.page_url, width, height) as page:
            found[size] = tall(page)
            shot(page, f"founding-{name}-{size}")
    print(f"{name}: {found}")  # noqa: T201 # the figures, for whoever asks with -s
    assert {size: px for size, px in found.items() if px > most[size]} == {}


def tall(page: Page) -> float:
    body = page.locator(".message-body", has=page.locator('[data-action-id="details"]')).first
    blocks, log = body.locator("> .block"), page.locator("#channel-log")
    expect(blocks.first).to_be_visible()
    first, last, box = blocks.first.bounding_box(), blocks.last.bounding_box(), log.bounding_box()
    button = body.get_by_test_id("button").first.bounding_box()
    assert first
    assert last
    assert box
    assert button
    assert first["y"] >= box["y"]
    assert button["y"] + button["height"] <= box["y"] + box["height"]
    return last["y"] + last["height"] - first["y"]


def calls(person: Person) -> Counter[str]:
    """Why this person was notified, and how often. A reply in a thread that they follow calls nobody."""
    return Counter(notice["why"] for notice in person.notices())


@pytest.mark.browser
def test_the_founding_card_is_small_and_nobody_is_called_too_often(world: World, browser: Browser) -> None:
    world.asks(DEPLOY)
    world.bob.sees("can approve")
    fits(browser, world, "proposed", PROPOSED)
    world.bob.says(MOVE, thread=world.plan().card)
    world.until(lambda plan: plan.revision == 2, "the revision")
    world.bob.sees("plan 1, revision 2")
    fits(browser, world, "changed", CHANGED)
    world.until(lambda plan: world.bob.button("approve", message=plan.card), "something to approve")
    world.bob.clicks("approve")
    world.until(lambda plan: plan.step("backup").state == "succeeded", "the backup")
    world.ann.sees("Waits until")
    fits(browser, world, "waiting", PROPOSED)
    world.workspace.run("jump")
    assert world.ends().outcome == "succeeded"
    world.ann.sees("done in")
    fits(browser, world, "done", DONE)
    people = {"ann": world.ann, "bob": world.bob, "carol": world.carol, "gus": world.gus}
    told = {name: calls(person) for name, person in people.items()}

    print({name: dict(n) for name, n in told.items()})  # noqa: T201
    assert {name: n for name, n in told.items() if n["direct"] + n["mention"] > MOST[name]} == {}
