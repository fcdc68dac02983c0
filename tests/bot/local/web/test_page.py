"""The page in a real browser, with a real Bolt app behind it."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from slack_bolt import App
from slack_sdk import WebClient

from bot.local.client.person import WorkspaceClient
from bot.local.server import LocalSlack
from bot.local.shapes import Control
from tests.support.browser import visit
from tests.support.local_kit import ANN, BOB, answering, plain
from tests.support.ports import ports

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='owned'\"> <javascript:alert(1)|press me> <!here>"


def rich(text: str) -> dict[str, Any]:
    line = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [line]}


def card(*statuses: str) -> list[dict[str, Any]]:
    tasks = [
        {"task_id": f"step-{n}", "title": f"Step {n}", "status": status, "details": rich(f"does {n}")}
        for n, status in enumerate(statuses, 1)
    ]
    asks = {"type": "mrkdwn", "text": "Needs an approval of <@U0BOB> at <!date^1767225600^{date_num}|then>."}
    return [
        {"type": "plan", "block_id": "plan", "title": "Deploy auth-service", "tasks": tasks},
        {"type": "section", "block_id": "asks", "text": asks},
    ]


def buttons() -> dict[str, Any]:
    sure = {
        "title": plain("Sure?"),
        "text": plain("It changes production."),
        "confirm": plain("Yes"),
        "deny": plain("No"),
    }
    return {
        "type": "actions",
        "block_id": "decide",
        "elements": [
            {
                "type": "button",
                "action_id": "approve",
                "text": plain("Approve"),
                "style": "primary",
                "confirm": sure,
            },
            {"type": "button", "action_id": "edit", "text": plain("Edit")},
            {"type": "button", "action_id": "lost", "text": plain("Lost")},
        ],
    }


VIEW = {
    "type": "modal",
    "callback_id": "change",
    "title": plain("Change"),
    "submit": plain("Change"),
    "blocks": [
        {
            "type": "input",
            "block_id": "when",
            "label": plain("When"),
            "element": {"type": "plain_text_input", "action_id": "text"},
        }
    ],
}


def listen(app: App) -> None:
    def on_plan(ack: Any, body: Any, client: WebClient) -> None:
        ack("Planning")
        client.chat_postMessage(
            channel=body["channel_id"], text="A plan", blocks=[*card("pending", "pending"), buttons()]
        )

    def on_approve(ack: Any, body: Any, client: WebClient) -> None:
        ack()
        place = {"channel": body["channel"]["id"], "ts": body["message"]["ts"]}
        client.chat_update(**place, text="Approved", blocks=card("complete", "in_progress"))
        client.chat_postMessage(
            channel=place["channel"], thread_ts=place["ts"], text=f"Approved by <@{body['user']['id']}>"
        )

    def on_edit(ack: Any, body: Any, client: WebClient) -> None:
        ack()
        client.views_open(trigger_id=body["trigger_id"], view=VIEW)

    def on_change(ack: Any, view: Any) -> None:
        if view["state"]["values"]["when"]["text"]["value"] == "never":
            ack(response_action="errors", errors={"when": "Say a time."})
        else:
            ack()

    app.command("/plan")(on_plan)
    app.action("approve")(on_approve)
    app.action("edit")(on_edit)
    app.view("change")(on_change)
    app.event("message")(lambda: None)


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    on: list[bool] = []

    def run(now: bool) -> str:
        on[:] = [now]
        return "The tests fail now."

    found = LocalSlack(
        members=[ANN, BOB],
        suggestions=["/plan deploy auth-service"],
        controls=[Control("fail", "Failing tests", "switch", run=run, state=lambda: {"on": on == [True]})],
        ack_timeout=2.0,
    )
    with answering(found, listen):
        yield found


@pytest.fixture
def page(slack: LocalSlack, workspace: WorkspaceClient, browser: Browser) -> Iterator[Page]:
    with visit(browser, slack.page_url) as found:
        yield found


def ask(page: Page) -> None:
    page.get_by_test_id("suggestion").click()
    page.get_by_test_id("composer").press("Enter")
    expect(page.get_by_test_id("plan")).to_be_visible()


def test_a_request_is_approved_by_somebody_else(page: Page) -> None:
    ask(page)
    expect(page.get_by_test_id("ephemeral")).to_contain_text("Only visible to you")
    page.get_by_test_id("message").get_by_role("button", name="@Bob Ray").click()
    expect(page.get_by_test_id("ephemeral")).to_have_count(0)
    page.get_by_role("button", name="Approve").click()
    page.get_by_test_id("confirm").get_by_role("button", name="Yes").click()

    expect(page.locator("[data-task-id=step-1]")).to_have_attribute("data-status", "complete")
    expect(page.get_by_test_id("button")).to_have_count(0)
    page.get_by_test_id("replies").click()
    expect(page.get_by_test_id("thread")).to_contain_text("Approved by @Bob Ray")


def test_a_plan_is_folded_as_slack_folds_it(page: Page) -> None:
    ask(page)

    expect(page.get_by_test_id("plan")).to_contain_text("Deploy auth-service")
    expect(page.get_by_test_id("task").first).to_be_hidden()
    page.get_by_test_id("plan").locator("summary").first.click()
    expect(page.get_by_test_id("task").first).to_be_visible()
    expect(page.get_by_text("does 1")).to_be_hidden()


def test_the_page_shows_how_often_it_rang(page: Page, slack: LocalSlack) -> None:
    api = WebClient(slack.bot_token, base_url=slack.api_url)
    bob = page.locator("[data-user=U0BOB][data-testid=member]")
    expect(bob).to_be_visible()
    expect(bob.get_by_test_id("notices")).to_have_count(0)
    ts = api.chat_postMessage(channel="C0OPS", text="<@U0BOB>, look")["ts"]
    api.chat_update(channel="C0OPS", ts=ts, text="<@U0BOB>, look again")

    expect(bob.get_by_test_id("notices")).to_have_text("1")


def test_a_form_shows_errors_at_the_field_and_escape_leaves_it(page: Page) -> None:
    ask(page)
    page.get_by_role("button", name="Edit").click()
    field = page.get_by_label("When")
    expect(field).to_be_focused()
    field.fill("never")
    field.press("Enter")
    expect(page.get_by_test_id("field-error")).to_have_text("Say a time.")
    expect(field).to_have_value("never")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("modal")).to_have_count(0)


def test_a_click_without_an_ack_is_marked(page: Page) -> None:
    ask(page)
    page.get_by_role("button", name="Lost").click()
    expect(page.get_by_role("button", name="Lost")).to_be_disabled()
    expect(page.get_by_test_id("failure")).to_contain_text("Signoff didn’t respond")
    expect(page.get_by_role("button", name="Lost")).to_be_enabled()


def test_foreign_text_stays_text(page: Page, slack: LocalSlack) -> None:
    WebClient(slack.bot_token, base_url=slack.api_url).chat_postMessage(channel="C0OPS", text=HOSTILE)
    message = page.get_by_test_id("message")
    expect(message).to_contain_text("press me")

    assert message.locator("a, img:not(.avatar), script").count() == 0
    assert "owned" not in page.title()


def test_threads_and_members_are_reached_by_keyboard(page: Page, slack: LocalSlack) -> None:
    slack.client().person("U0ANN").says("hello")
    expect(page.get_by_test_id("message")).to_contain_text("hello")  # drawn anew, the channel loses a key
    page.get_by_test_id("channel").press("2")
    expect(page.locator("[data-user=U0BOB][data-testid=member]")).to_have_attribute("aria-pressed", "true")
    page.get_by_test_id("reply").press("Enter")
    page.get_by_test_id("thread-composer").fill("hello Ann")
    page.get_by_test_id("thread-composer").press("Enter")
    expect(page.get_by_test_id("replies")).to_contain_text("1 reply")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("thread")).to_be_hidden()


def test_a_switch_of_the_demo_says_what_it_did(page: Page) -> None:
    switch = page.get_by_role("switch", name="Failing tests")
    switch.click()
    expect(page.get_by_test_id("toast")).to_have_text("The tests fail now.")
    expect(switch).to_have_attribute("aria-checked", "true")


def test_the_page_finds_its_way_back_after_a_restart(browser: Browser) -> None:
    parts: dict[str, Any] = {"members": [ANN], "token": "same", "port": ports()}
    first = LocalSlack(**parts).start()
    page = browser.new_page()
    page.goto(first.page_url)
    expect(page.get_by_test_id("no-bot")).to_be_visible()
    first.stop()
    expect(page.get_by_test_id("reconnecting")).to_be_visible()
    with LocalSlack(**parts) as second:
        second.client().person("U0ANN").says("still here")
        expect(page.get_by_test_id("message")).to_contain_text("still here")
        page.close()


def test_a_phone_shows_one_thing_at_a_time(browser: Browser, slack: LocalSlack) -> None:
    slack.client().clear()
    with visit(browser, slack.page_url, 390, 844) as page:
        ask(page)
        page.get_by_role("button", name="Reply in thread").click()

        assert page.get_by_test_id("thread").bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
        assert page.evaluate("document.documentElement.scrollWidth") == 390
