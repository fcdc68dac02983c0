"""The board as people live it, in Chromium, over the running product."""

import time
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from storage.clock import wall
from storage.database.tables import Visit
from tests.stories.board.conftest import LEAVES, PRIVATE, WIDE, address, enters, link, session
from tests.support.browser import shot, visit
from tests.support.world import DEPLOY, World, effects, hold

pytestmark = [pytest.mark.board, pytest.mark.browser]
NIGHT = "/plan back up auth_prod tonight at 2am ET"


def whispered(state: dict[str, Any]) -> str | None:
    """The link, as Bob alone is told it."""
    told = [said["text"] for said in state["ephemerals"] if "Open the board" in said["text"]]
    return told[-1].partition("<")[2].partition("|")[0] if told else None


def test_a_request_appears_is_approved_and_runs_to_its_end(browser: Browser, world: World) -> None:
    assert world.bob.says("/plan board").acked
    given = world.workspace.wait(whispered, "the link")
    with visit(browser, given, *WIDE) as page:
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
        page.evaluate("window.same = true")
        assert world.bob.clicks("approve").acked
        expect(page.locator(".sub .s")).to_have_text("Done")
        expect(page.locator("#s-deploy")).to_contain_text("Succeeded")
        expect(page.get_by_text("every event follows from the one before")).to_be_visible()
        assert page.evaluate("window.same") is True
        shot(page, "board-plan-done")
    # The same link once more, with the button pressed.
    ticket = given.partition("t=")[2]
    again = browser.new_context().request
    assert "used already" in again.get(given).text()
    headers = {"Origin": address(world), "Sec-Fetch-Site": "same-origin"}
    refused = again.post(f"{address(world)}/enter", form={"t": ticket}, headers=headers, max_redirects=0)
    assert (refused.status, "set-cookie" in refused.headers) == (403, False)


def test_workers_that_are_killed_leave_an_unknown_which_stands_first(
    browser: Browser, world: World, carol: Any
) -> None:
    world.asks(NIGHT)  # which waits for an approval, and longer
    world.until(lambda plan: "auth_prod" in plan.text and plan.card, "the plan of the night")
    gate = hold(world, "before", "once")
    world.asks("/plan write notes")
    world.until(lambda plan: "notes" in plan.text and plan.card, "the card of the notes")
    assert world.bob.clicks("approve").acked
    with visit(browser, address(world), *WIDE, storage_state=carol) as page:
        expect(page.locator("#n-ask li").first).to_contain_text("back up auth_prod")
        world.until(lambda _: effects(world)["begin once"], "the step")
        world.kill("workers")
        gate.unlink()
        first = page.locator("#n-ask li").first
        expect(first).to_contain_text("Unknown")
        expect(first).to_contain_text("Did it run?")
        expect(page.locator("#n-ask li").nth(1)).to_contain_text("back up auth_prod")
        shot(page, "board-now-unknown")
        page.goto(f"{address(world)}/fleet")
        expect(page.get_by_text("Targets held")).to_be_visible()
    assert world.bob.clicks("resolve_ran").acked
    world.ends()


def test_who_cannot_read_a_private_channel_finds_nothing_of_its_plans(browser: Browser, world: World) -> None:
    world.bob.says(NIGHT.replace("2am", "3am"), channel=PRIVATE.id)
    plan = world.until(lambda plan: plan.channel == PRIVATE.id and plan.card, "the quiet plan")
    for user, sees in (("U0ANN", False), ("U0CAROL", True)):
        state = session(browser, world, user)
        with visit(browser, address(world), *WIDE, storage_state=state) as page:
            expect(page.locator("#n-ask li")).to_have_count(2 if sees else 1)
            expect(page.locator(f"#p{plan.id}")).to_have_count(int(sees))
            answer = page.context.request.get(f"{address(world)}/plans/{plan.id}")
            assert answer.status == (200 if sees else 404)
            page.goto(f"{address(world)}/tonight")
            expect(page.get_by_text("a private plan")).to_have_count(0 if sees else 1)
            expect(page.locator("rect.k-box")).to_have_count(0 if sees else 1)
            counted = page.context.request.get(f"{address(world)}/api/plans?state=open").json()
            assert (plan.id in [one["id"] for one in counted["plans"]]) is sees
            shot(page, f"board-tonight-{'seen' if sees else 'hidden'}")


def test_seven_pages_of_one_browser_are_all_live(browser: Browser, world: World, carol: Any) -> None:
    """A browser keeps six connections to one place: they share a stream, and who has it passes it on."""
    with visit(browser, address(world), *WIDE, storage_state=carol) as first:
        pages = [first, *(first.context.new_page() for _ in range(6))]
        for page in pages[1:]:
            page.goto(f"{address(world)}/plans")
            expect(page.locator(".live")).to_have_text("live")
        first.close()  # the one that had the stream
        world.asks("/plan run the full tests on staging")
        plan = world.until(lambda plan: "tests" in plan.text, "the plan")
        for page in pages[1:]:
            expect(page.locator(f"#p{plan.id}")).to_be_visible()


def test_who_is_barred_is_out_within_a_minute(browser: Browser, world: World) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(link(world, LEAVES.id))
        enters(page)
        left = wall()
        world.workspace.change_member(LEAVES.id, deleted=True)
        end = time.monotonic() + 75
        while not (visits := over(world)) and time.monotonic() < end:
            time.sleep(0.5)
        expect(page.get_by_text("This account is deactivated.")).to_be_visible()

    assert 0 <= (visits[0] - left).total_seconds() <= 60


def over(world: World) -> list[Any]:
    """When the visits of who has left ended."""
    with world.store.read() as t:
        return [visit.ended_at for visit in t.rows(Visit) if visit.user == LEAVES.id and visit.ended_at]
