"""What people see in each state, as the page draws it: light, dark, on a phone. Screenshots are kept."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, expect
from slack_sdk import WebClient

from bot.cards.card import card
from bot.cards.thread import message
from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Group, Member
from storage.contract.report import AnyReport
from storage.contract.states import PlanState, StepState
from storage.database.tables import Event
from storage.reading.plan_view import PlanView, StepView
from tests.support.browser import shot, visit
from tests.support.fakes import BACKUP, DEPLOY, NOW, READ, step
from tests.support.samples.cards import plan_view

pytestmark = pytest.mark.browser
CHANNEL = "C0OPS"
LATER = {"started_at": NOW, "ended_at": NOW + timedelta(seconds=42)}
STEPS = (
    StepView(step("test", READ, purpose="Run the full tests on staging"), preview="pytest -q"),
    StepView(step("backup", BACKUP, purpose="Back up auth_prod", depends_on=("test",)), preview="147 kB"),
    StepView(step("deploy", DEPLOY, purpose="Deploy auth-service v2.1.4", depends_on=("backup",)),
             preview="image v2.1.3 → v2.1.4\n2 replicas, blue-green"),
)  # fmt: skip
DECIDE = ("approve", "edit", "reject")
GOAL = "Deploy auth-service v2.1.4 to production"
FAILED = replace(
    STEPS[1], state=StepState.failed, attempt=2, choices=("retry", "skip", "rollback", "take_over", "abort"),
    report=AnyReport.failed("no space left on the disk", recommendations=("free 200 MB on /backups",)),
    **LATER,
)  # fmt: skip


def views() -> dict[str, PlanView]:
    """A plan in the states that look different."""
    done = [replace(s, state=StepState.succeeded, report=AnyReport.ok("done", {}), **LATER) for s in STEPS]
    running = replace(STEPS[1], state=StepState.running, attempt=1, progress="60 of 147 kB")
    people = {"requester": "U0ANN", "approvers": ("U0BOB",), "authors": ("U0ANN",), "author": "U0BOB"}
    base = {"goal": GOAL, "text": "deploy auth-service v2.1.4", "note": "from the runbook “Deploy a service”"}
    made, given = people | base, {"approved_by": ("U0BOB",)} | people | base
    many = [StepView(step(f"s{n}", READ, purpose=f"Look at part {n}")) for n in range(120)]
    return {
        "proposed": plan_view(*STEPS, **made),
        "running": plan_view(
            done[0], running, STEPS[2], state=PlanState.approved, approved_by=("U0BOB",), **made
        ),
        "stalled": plan_view(
            done[0], FAILED, STEPS[2], state=PlanState.stalled, approved_by=("U0BOB",), **made
        ),
        "done": plan_view(*done, state=PlanState.done, outcome="succeeded", **given),
        "rejected": plan_view(*STEPS, state=PlanState.rejected, reason="not today", **made),
        "long": plan_view(*many, **made),
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
        expect(page.get_by_test_id("plan").first).to_contain_text(GOAL)
        if state == "stalled":
            page.get_by_test_id("replies").first.click()
            expect(page.get_by_test_id("thread")).to_contain_text("How things stand")
            expect(page.get_by_test_id("thread").get_by_role("button", name="Take Over")).to_be_visible()
        shot(page, f"look-{state}-light")
        page.emulate_media(color_scheme="dark")
        shot(page, f"look-{state}-dark")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 390, "height": 900})
        shot(page, f"look-{state}-phone")
        wide = page.evaluate("document.documentElement.scrollWidth")

    assert wide <= 390


def test_the_buttons_of_a_card_are_reached_by_keyboard(browser: Browser, slack: LocalSlack) -> None:
    slack.client().clear()
    post(slack, views()["proposed"])
    with visit(browser, slack.page_url) as page:
        buttons = [page.locator(f'[data-testid="button"][data-action-id="{name}"]').first for name in DECIDE]
        buttons[0].focus()

        for button in buttons:
            expect(button).to_be_focused()
            page.keyboard.press("Tab")
