"""What people see in each state, as the page draws it: light, dark, on a phone. Screenshots are kept."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from slack_sdk import WebClient

from bot.cards.card import card
from bot.cards.thread import message
from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Group, Member
from storage.contract.report import AnyReport
from storage.contract.spec import UndoSpec
from storage.contract.states import PlanState, StepState
from storage.database.tables import Event
from storage.reading.plan_view import PlanView, StepView
from tests.support.browser import shot, visit
from tests.support.fakes import CONTRACTS, NOW, contract, step, undo
from tests.support.samples.cards import plan_view

pytestmark = pytest.mark.browser
CHANNEL = "C0OPS"
TEXT = {"type": "string"}
FIELDS = {"type": "object", "properties": {"service": TEXT, "version": TEXT, "strategy": TEXT}}
GREEN = {"service": "auth-service", "version": "v2.1.4", "strategy": "blue_green"}
LATER = {"started_at": NOW, "ended_at": NOW + timedelta(seconds=42)}
TESTS = contract("test", changes=False, parameters=FIELDS, says="*Run all tests* on {service}")
SAVES = contract("save", parameters=FIELDS, says="*Back up {service}*", leaves="{service} is backed up")
GOES = contract(
    "go", parameters=FIELDS, leaves="{service} is {version} on production",
    says="*Deploy* {service} [{was} → ]*{version}* on production[, {strategy:blue_green=blue-green}]",
)  # fmt: skip
BACK = contract("back", parameters=FIELDS, says="*Roll back* {service} to *the version before*")
KNOWN = {(made.worker, made.action): made for made in (TESTS, SAVES, GOES, BACK, *CONTRACTS.values())}
STEPS = (
    StepView(step("test", TESTS, parameters={"service": "staging"}, failure_action="abort")),
    StepView(step("backup", SAVES, parameters={"service": "auth_prod"}, depends_on=("test",)),
             preview="147 kB", found=("147 kB backup",)),
    StepView(step("deploy", GOES, parameters=GREEN,
                  depends_on=("backup",), failure_action="rollback"),
             was="v2.1.3", preview="2 pods", found=("2 pods change",)),
)  # fmt: skip
DECIDE = ("approve", "edit", "reject", "details")
GOAL = "auth-service v2.1.4 on production"
# The box in which the messages are scrolled.
LOG = """body => {
    let at = body;
    while (at && getComputedStyle(at).overflowY === "visible") at = at.parentElement;
    const box = (at || document.documentElement).getBoundingClientRect();
    return [box.top, box.bottom];
}"""
SIZES = {"desktop": (1360, 900), "laptop": (1280, 720), "phone": (390, 844)}
FAILED = replace(
    STEPS[1], state=StepState.failed, attempt=2, choices=("retry", "skip", "rollback", "take_over", "abort"),
    report=AnyReport.failed("no space left on the disk", recommendations=("free 200 MB on /backups",)),
    **LATER,
)  # fmt: skip


def undone(view: PlanView, undos: tuple[UndoSpec, ...]) -> PlanView:
    assert view.spec
    return replace(view, spec=view.spec.model_copy(update={"rollback": undos}))


def views() -> dict[str, PlanView]:
    """A plan in the states that look different."""
    done = [
        replace(
            s,
            state=StepState.succeeded,
            report=AnyReport.ok(f"{s.spec.parameters['service']}: all is well", {}),
            **LATER,
        )
        for s in STEPS
    ]
    running = replace(STEPS[1], state=StepState.running, attempt=1, progress="60 of 147 kB")
    people = {"requester": "U0ANN", "approvers": ("U0BOB",), "authors": ("U0ANN",), "author": "U0BOB"}
    back = (undo("undo", "deploy", BACK, parameters={"service": "auth-service"}),)
    base = {"text": "deploy auth-service v2.1.4 to production", "contracts": KNOWN}
    made, given = people | base, {"approved_by": ("U0BOB",)} | people | base
    kinds = (GOES, SAVES)
    many = [
        StepView(step(f"s{n}", kinds[n % 2], parameters={"service": f"part-{n}", "version": "v2"}))
        for n in range(120)
    ]
    fleet = [StepView(step(f"s{n}", SAVES, parameters={"service": f"web-{n:02}"})) for n in range(30)]
    after = [(f"s{n - 1}",) if n else () for n in range(12)]
    parts = [{"service": f"svc-{n}", "version": "v2"} for n in range(12)]
    twelve = [
        StepView(step(f"s{n}", kinds[n % 2], parameters=parts[n], depends_on=after[n]), was="v1")
        for n in range(12)
    ]
    later = replace(STEPS[2], not_before=NOW + timedelta(hours=2, minutes=19))
    unknown = replace(STEPS[2], state=StepState.unknown, attempt=1)
    return {
        "proposed": undone(plan_view(*STEPS, **made), back),
        "running": plan_view(
            done[0], running, STEPS[2], state=PlanState.approved, approved_by=("U0BOB",), **made
        ),
        "stalled": plan_view(
            done[0], FAILED, STEPS[2], state=PlanState.stalled, approved_by=("U0BOB",), **made
        ),
        "done": plan_view(*done, state=PlanState.done, outcome="succeeded", **given),
        "rejected": plan_view(*STEPS, state=PlanState.rejected, reason="not today", **made),
        "long": plan_view(*many, lengthy=True, **made),
        "checking": plan_view(
            STEPS[0], STEPS[1], replace(STEPS[2], previewing=True, found=(), was=""), **made
        ),
        "changed": plan_view(*STEPS, revision=2, changes=("step 3: after 2 → Wed 02:00 EST",), **made),
        "twelve": plan_view(*twelve, **made),
        "fleet": plan_view(*fleet, **made),
        "waiting": plan_view(*done[:2], later, state=PlanState.approved, **given),
        "unknown": plan_view(*done[:2], unknown, state=PlanState.approved, **given),
        "failed": plan_view(
            done[0],
            FAILED,
            STEPS[2],
            state=PlanState.done,
            outcome="failed",
            reason="step backup failed",
            **given,
        ),
    }


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    people = [Member("U0ANN", "ann", "Ann Archer"), Member("U0BOB", "bob", "Bob Baker")]
    group = Group("S0ONCALL", "on-call", "On call", ("U0BOB",))
    with LocalSlack(members=people, channels=[Channel(CHANNEL, "ops")], groups=[group]) as running:
        yield running


def post(slack: LocalSlack, view: PlanView) -> None:
    """The card of a plan, and the question in its thread if it has one."""
    api = WebClient(slack.bot_token, base_url=slack.api_url)
    text, blocks = card(view, NOW)
    root = api.chat_postMessage(channel=CHANNEL, text=text, blocks=blocks)["ts"]
    if view.state == PlanState.stalled:
        told = {"step": "backup", "summary": "no space left on the disk"}
        event = Event(plan_id=1, seq=1, at=NOW, verb="fail", actor="w", data=told, prev="", hash="")
        text, blocks = message("outcome", view, event, NOW, on_call="S0ONCALL", guides=True)
        api.chat_postMessage(channel=CHANNEL, thread_ts=root, text=text, blocks=blocks)


@pytest.mark.parametrize("state", views())
def test_every_state_is_drawn_well(browser: Browser, slack: LocalSlack, state: str) -> None:
    slack.client().clear()
    post(slack, views()[state])
    with visit(browser, slack.page_url) as page:
        expect(page.locator(".message-body").first).to_be_visible()
        if state == "stalled":
            page.get_by_test_id("replies").first.click()
            expect(page.get_by_test_id("thread").get_by_role("button", name="I Did It")).to_be_visible()
        shot(page, f"look-{state}-light")
        page.emulate_media(color_scheme="dark")
        shot(page, f"look-{state}-dark")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 390, "height": 900})
        shot(page, f"look-{state}-phone")
        wide = page.evaluate("document.documentElement.scrollWidth")

    assert wide <= 390


@pytest.mark.parametrize(("state", "desktop", "phone"), [("proposed", 320, 420), ("done", 200, 200)])
@pytest.mark.parametrize("size", SIZES)
def test_a_card_is_read_and_decided_without_scrolling(
    browser: Browser, slack: LocalSlack, size: str, state: str, desktop: int, phone: int
) -> None:
    slack.client().clear()
    post(slack, views()[state])
    with visit(browser, slack.page_url, *SIZES[size]) as page:
        expect(page.locator(".message-body > .block").first).to_be_visible()
        first, last = (box(page, which) for which in ("first", "last"))
        log = page.locator(".message-body").first.evaluate(LOG)
        shot(page, f"size-{state}-{size}")
        tall = last["y"] + last["height"] - first["y"]
        buttons = page.locator('[data-testid="button"]').first.bounding_box()

    print(f"{state} {size}: {tall}")  # noqa: T201 # the figures, for whoever asks with -s
    assert tall <= (phone if size == "phone" else desktop)
    assert log[0] <= first["y"]
    assert buttons is not None
    assert buttons["y"] + buttons["height"] <= log[1]


def box(page: Page, which: str) -> Any:
    found = getattr(page.locator(".message-body > .block"), which).bounding_box()
    assert found is not None
    return found


def test_the_buttons_of_a_card_are_reached_by_keyboard(browser: Browser, slack: LocalSlack) -> None:
    slack.client().clear()
    post(slack, views()["proposed"])
    with visit(browser, slack.page_url) as page:
        buttons = [page.locator(f'[data-testid="button"][data-action-id="{name}"]').first for name in DECIDE]
        buttons[0].focus()

        for button in buttons:
            expect(button).to_be_focused()
            page.keyboard.press("Tab")
