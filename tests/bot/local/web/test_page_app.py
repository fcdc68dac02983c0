"""The page beyond a channel, in a real browser: home tab, direct messages, menus, stacked forms, files."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from slack_bolt import App
from slack_sdk import WebClient

from bot.local.client.person import WorkspaceClient
from bot.local.schema.blocks import MESSAGE_BLOCKS
from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Control, Group, Shortcut
from tests.support.browser import shot, visit
from tests.support.local_kit import (
    ANN,
    BOB,
    Json,
    actions,
    answering,
    button,
    field,
    home,
    modal,
    picture,
    plain,
)

pytestmark = pytest.mark.browser

LOG = "".join(f"line {number}\n" for number in range(1, 31))
CHOICE = {"type": "radio_buttons", "options": [{"text": plain("Back up"), "value": "backup"}]}
PEOPLE = {"type": "multi_users_select"}
WHEN = {"type": "datetimepicker"}


def header(text: str) -> Json:
    return {"type": "header", "text": plain(text)}


def form(*steps: str) -> Json:
    fields = [field(f"note-{name}", {"type": "plain_text_input"}, optional=True) for name in steps]
    more = [field("who", PEOPLE, optional=True), field("when", WHEN, optional=True)]
    return modal("Edit the plan", *fields, *more)


def on_home(event: Json, client: WebClient) -> None:
    if event["tab"] == "home":
        blocks = (header(f"Waiting for {event['user']}"), actions("edit"))
        client.views_publish(user_id=event["user"], view=home(*blocks))


def on_edit(ack: Any, body: Json, client: WebClient) -> None:
    ack()
    client.views_open(trigger_id=body["trigger_id"], view=form("one", "two"))


def on_form(ack: Any, body: Json) -> None:
    said = body["view"]["state"]["values"].get("note-one", {}).get("value", {}).get("value")
    answers = {
        "turn": {"response_action": "update", "view": form("two", "one")},
        "more": {"response_action": "push", "view": modal("Runbooks", field("runbook", CHOICE))},
    }
    ack(**answers.get(said, {}))


def on_shortcut(ack: Any, body: Json, client: WebClient) -> None:
    ack()
    where = {"channel": body["channel"]["id"], "thread_ts": body["message"]["ts"]}
    client.chat_postMessage(**where, text="Planning from this message")


def on_message(event: Json, client: WebClient) -> None:
    if event.get("channel_type") == "im" and "bot_id" not in event:
        client.chat_postMessage(channel=event["channel"], text=f"You wrote: {event['text']}")


def on_options(ack: Any, payload: Json) -> None:
    names = [f"web-{n}" for n in (1, 20, 21, 22) if payload["value"] in f"web-{n}"]
    ack(options=[{"text": plain(name), "value": name} for name in names])


def on_chosen(ack: Any, body: Json, client: WebClient) -> None:
    ack()
    chosen = body["actions"][0]["selected_option"]["value"]
    client.chat_postMessage(channel=body["channel"]["id"], text=f"chosen: {chosen}")


def listen(app: App) -> None:
    app.options("external_select")(on_options)
    app.action("external_select")(on_chosen)
    app.action("overflow")(on_chosen)
    app.event("app_home_opened")(on_home)
    app.event("message")(on_message)
    app.action("edit")(on_edit)
    app.shortcut("plan_this")(on_shortcut)
    app.view("form")(on_form)


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    found = LocalSlack(
        members=[ANN, BOB],
        channels=[Channel("C0OPS", "ops"), Channel("C0SHOP", "shop", is_ext_shared=True)],
        groups=[Group("S0ONCALL", "on-call", "On call", ("U0ANN",))],
        shortcuts=[Shortcut("plan_this", "Plan this")],
        controls=[Control("jump", "Jump", "button", run=lambda now: "It is 2 AM.")],
    )
    with answering(found, listen):
        yield found


@pytest.fixture
def page(slack: LocalSlack, workspace: WorkspaceClient, browser: Browser) -> Iterator[Page]:
    with visit(browser, slack.page_url) as found:
        expect(found.get_by_test_id("guide")).to_be_visible()
        yield found


def open_app(page: Page) -> None:
    page.locator("[data-room=app]").click()


def test_everybody_has_a_home_tab_of_their_own(page: Page) -> None:
    open_app(page)
    expect(page.get_by_test_id("home")).to_contain_text("Waiting for U0ANN")
    page.locator("[data-testid=member][data-user=U0BOB]").click()

    expect(page.get_by_test_id("home")).to_contain_text("Waiting for U0BOB")
    shot(page, "local-1-home")


def test_direct_messages_are_a_tab_of_the_app(page: Page) -> None:
    open_app(page)
    page.get_by_test_id("tab-home").press("ArrowRight")
    expect(page.get_by_test_id("tab-messages")).to_be_focused()
    page.get_by_test_id("composer").fill("back up auth_prod")
    page.get_by_test_id("composer").press("Enter")

    expect(page.get_by_test_id("message").last).to_contain_text("You wrote: back up auth_prod")
    page.locator("[data-testid=member][data-user=U0BOB]").click()
    expect(page.get_by_test_id("message")).to_have_count(0)


def test_what_came_elsewhere_is_counted(page: Page, api: WebClient) -> None:
    room = page.locator("[data-room=app]")
    expect(room).to_be_visible()
    api.chat_postMessage(channel="D0ANN", text="Your plan waits")

    expect(room).to_contain_text("1")
    room.click()
    page.get_by_test_id("tab-messages").click()
    expect(room.locator(".count")).to_have_count(0)


def test_a_link_to_a_message_leads_to_its_thread(page: Page, api: WebClient) -> None:
    root = api.chat_postMessage(channel="C0SHOP", text="The card")["ts"]
    reply = api.chat_postMessage(channel="C0SHOP", thread_ts=root, text="It is done")["ts"]
    page_of = f"https://local.slack.com/archives/C0SHOP/p{reply.replace('.', '')}"
    address = f"{page_of}?thread_ts={root}&cid=C0SHOP"
    api.chat_postMessage(channel="C0OPS", text=f"See <{address.replace('&', '&amp;')}|the outcome>")
    page.get_by_test_id("permalink").click()

    expect(page.get_by_test_id("thread")).to_contain_text("It is done")
    expect(page.locator("header h1").first).to_have_text("# shop")


def test_a_message_is_planned_from_its_menu_by_keyboard(page: Page, slack: LocalSlack) -> None:
    slack.client().person("U0BOB").says("the disk is full")
    page.get_by_test_id("more").locator("visible=true").press("Enter")
    expect(page.get_by_test_id("menu-item").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("menu-of-message")).to_have_count(0)
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    page.get_by_test_id("replies").click()
    expect(page.get_by_test_id("thread")).to_contain_text("Planning from this message")


def test_a_form_that_is_drawn_again_keeps_what_was_typed_and_where_one_was(page: Page) -> None:
    open_app(page)
    page.get_by_role("button", name="edit").click()
    page.get_by_label("note-one").fill("turn")
    page.get_by_label("note-one").press("Enter")
    expect(page.locator("dialog .input").first).to_have_attribute("data-block-id", "note-two")

    expect(page.get_by_label("note-one")).to_have_value("turn")
    expect(page.get_by_label("note-one")).to_be_focused()


def test_stacked_forms_are_left_one_by_one_or_at_once(page: Page) -> None:
    open_app(page)
    page.get_by_role("button", name="edit").click()
    page.get_by_label("note-one").fill("more")
    page.get_by_test_id("modal-submit").click()
    expect(page.get_by_test_id("modal-back")).to_be_visible()
    shot(page, "local-2-stacked")
    page.keyboard.press("Escape")
    expect(page.get_by_label("note-one")).to_have_value("more")
    page.get_by_test_id("modal-submit").click()
    expect(page.get_by_test_id("modal-back")).to_be_visible()
    page.get_by_test_id("modal-shut").click()

    expect(page.get_by_test_id("modal")).to_have_count(0)
    expect(page.get_by_role("button", name="edit")).to_be_focused()


def test_people_and_times_are_chosen(page: Page, slack: LocalSlack) -> None:
    open_app(page)
    page.get_by_role("button", name="edit").click()
    page.get_by_test_id("modal").get_by_text("Bob Ray").click()
    page.locator("[data-block-id=when] input").fill("2027-01-01T02:00")
    page.get_by_test_id("modal-submit").click()

    expect(page.get_by_test_id("modal")).to_have_count(0)


def test_files_are_shown_read_and_downloaded(page: Page, api: WebClient) -> None:
    root = api.chat_postMessage(channel="C0OPS", text="root")["ts"]
    given = {"channel": "C0OPS", "thread_ts": root}
    api.files_upload_v2(**given, filename="timeline.png", content=picture(600, 160), title="Timeline")
    api.files_upload_v2(
        **given, filename="tests.log", content=LOG, initial_comment="<!subteam^S0ONCALL> look"
    )
    page.get_by_test_id("replies").click()
    image = page.locator("[data-file='timeline.png'] img")
    expect(image).to_be_visible()
    log = page.locator("[data-file='tests.log']")
    expect(log).not_to_contain_text("line 30")
    log.get_by_role("button", name="Show all 30 lines").click()
    expect(log).to_contain_text("line 30")
    expect(page.get_by_test_id("group")).to_have_text("@on-call")
    shot(page, "local-3-files")
    with page.expect_download() as download:
        log.get_by_test_id("download").click()

    assert download.value.path().read_text() == LOG
    assert image.evaluate("image => image.naturalWidth") == 600


def test_a_shared_and_an_archived_channel_say_so(page: Page, slack: LocalSlack) -> None:
    page.locator("[data-room=C0SHOP]").click()
    expect(page.locator("header .badge")).to_have_text("Shared")
    slack.client().change_channel("C0SHOP", is_archived=True)

    expect(page.get_by_test_id("composer")).to_be_disabled()
    slack.client().change_channel("C0SHOP", is_archived=False)
    expect(page.get_by_test_id("composer")).to_be_enabled()


def gallery(file_id: str) -> list[Json]:
    """Every block that a message can hold."""
    words = {"type": "rich_text_section", "elements": [{"type": "text", "text": "does it"}]}
    rich = {"type": "rich_text", "elements": [words]}
    statuses = ("complete", "in_progress", "error", "pending")
    tasks = [{"task_id": s, "title": f"Step {s}", "status": s, "details": rich} for s in statuses]
    cells = [[{"type": "raw_text", "text": f"{row}.{cell}"} for cell in range(3)] for row in range(3)]
    said = {"type": "section", "text": {"type": "mrkdwn", "text": "*Bold*, `code`, <@U0BOB>"}}
    inside = {"type": "container", "title": plain("Preview"), "is_collapsible": True, "child_blocks": [said]}
    options = [{"text": plain(name), "value": name} for name in ("one", "two")]
    kinds = ("static_select", "radio_buttons", "checkboxes", "overflow")
    choices = [{"type": kind, "action_id": kind, "options": options} for kind in kinds]
    pickers = [
        {"type": k, "action_id": k} for k in ("timepicker", "datepicker", "datetimepicker", "external_select")
    ]
    return [
        header("Every block"),
        {"type": "plan", "title": "Deploy auth-service", "tasks": tasks},
        said | {"accessory": button("accessory")},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "Risk: high"}]},
        {"type": "divider"},
        rich,
        {"type": "table", "rows": cells},
        inside,
        {"type": "image", "alt_text": "A timeline", "slack_file": {"id": file_id}},
        {"type": "actions", "elements": [*choices, *pickers]},
        actions("approve", "reject"),
    ]


def test_every_block_is_drawn(page: Page, api: WebClient) -> None:
    file = api.files_upload_v2(filename="timeline.png", content=picture(600, 160))["file"]
    blocks = gallery(file["id"])
    api.chat_postMessage(channel="C0OPS", text="gallery", blocks=blocks)
    message = page.get_by_test_id("message")
    expect(message.get_by_test_id("image").locator("img")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 1500})
    shot(page, "local-6-gallery")

    assert {block["type"] for block in blocks} == MESSAGE_BLOCKS
    expect(message.locator(".unknown")).to_have_count(0)


def test_a_menu_and_a_select_that_asks_the_app_are_used(page: Page, api: WebClient) -> None:
    file = api.files_upload_v2(filename="timeline.png", content=picture(60, 16))["file"]
    api.chat_postMessage(channel="C0OPS", text="gallery", blocks=gallery(file["id"]))
    page.locator(".overflow summary").click()
    page.get_by_test_id("overflow-option").filter(has_text="two").click()
    expect(page.get_by_test_id("message").last).to_contain_text("chosen: two")
    page.locator("input[data-action-id=external_select]").fill("web-2")
    expect(page.get_by_test_id("suggestion-option")).to_have_count(3)
    page.get_by_test_id("suggestion-option").nth(1).click()

    expect(page.get_by_test_id("message").last).to_contain_text("chosen: web-21")


def test_what_one_was_choosing_outlives_a_redraw(page: Page, api: WebClient) -> None:
    file = api.files_upload_v2(filename="timeline.png", content=picture(60, 16))["file"]
    shown = api.chat_postMessage(channel="C0OPS", text="gallery", blocks=gallery(file["id"]))
    field = page.locator("input[data-action-id=external_select]")
    page.locator(".overflow summary").click()
    field.press_sequentially("web")
    expect(page.get_by_test_id("suggestion-option")).to_have_count(4)
    for name in ("eyes", "wave"):
        api.reactions_add(channel=shown["channel"], timestamp=shown["ts"], name=name)
        expect(page.get_by_test_id("reaction").filter(has_text="1").last).to_be_visible()
        field.press_sequentially("-2" if name == "eyes" else "1")

    expect(field).to_have_value("web-21")
    expect(page.get_by_test_id("suggestion-option")).to_have_text(["web-21"])
    expect(page.get_by_test_id("overflow-option").first).to_be_visible()


UNNAMED = re.compile(
    r"^\s*- (button|link|textbox|combobox|checkbox|radio|radiogroup|switch|tab)\b(?! \")", re.M
)


def test_whatever_can_be_used_has_a_name(page: Page, api: WebClient) -> None:
    file = api.files_upload_v2(filename="timeline.png", content=picture(60, 16))["file"]
    api.chat_postMessage(channel="C0OPS", text="gallery", blocks=gallery(file["id"]))
    api.files_upload_v2(channel="C0OPS", filename="tests.log", content=LOG)
    expect(page.get_by_test_id("file")).to_be_visible()
    channel = page.locator("body").aria_snapshot()
    open_app(page)
    page.get_by_role("button", name="edit").click()
    expect(page.get_by_test_id("modal")).to_be_visible()
    form = page.locator("body").aria_snapshot()

    assert [line for line in channel.splitlines() if UNNAMED.match(line)] == []
    assert [line for line in form.splitlines() if UNNAMED.match(line)] == []


def test_the_keyboard_stays_inside_an_open_form(page: Page) -> None:
    open_app(page)
    page.get_by_role("button", name="edit").click()
    expect(page.get_by_label("note-one")).to_be_focused()
    inside = "() => document.activeElement === document.body || !!document.activeElement.closest('dialog')"
    stays = []
    for _ in range(20):
        page.keyboard.press("Tab")
        stays.append(page.evaluate(inside))

    assert all(stays)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_room_for_home_and_form(browser: Browser, slack: LocalSlack, scheme: Any) -> None:
    slack.client().clear()
    with visit(browser, slack.page_url, 390, 844, color_scheme=scheme) as page:
        page.get_by_test_id("menu").click()
        open_app(page)
        expect(page.get_by_test_id("home")).to_contain_text("Waiting for U0ANN")
        shot(page, f"local-4-phone-home-{scheme}")
        home_width = page.evaluate("document.documentElement.scrollWidth")
        page.get_by_role("button", name="edit").click()
        expect(page.get_by_test_id("modal")).to_be_visible()
        shot(page, f"local-5-phone-form-{scheme}")
        box = page.get_by_test_id("modal").bounding_box()

    assert home_width == 390
    assert box
    assert (box["x"], box["width"]) == (0, 390)


def test_on_a_phone_the_menu_goes_out_of_the_way_of_what_a_control_does(
    browser: Browser, slack: LocalSlack
) -> None:
    slack.client().clear()
    with visit(browser, slack.page_url, 390, 844) as page:
        page.get_by_test_id("menu").click()
        expect(page.locator("#app")).to_have_class(re.compile("with-menu"))
        page.locator('[data-control="jump"]').last.click()

        expect(page.locator("#app")).not_to_have_class(re.compile("with-menu"))
