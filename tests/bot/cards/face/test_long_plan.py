"""Plans that do not fit on a card: what the card says instead, and the file that has all of it."""

from dataclasses import replace

import pytest

from bot.cards.card import card
from bot.cards.face.long_plan import in_full
from bot.local.schema.limits import UPDATE_TEXT, check_message
from storage.reading.plan_view import PlanView, StepView
from tests.support.fakes import BACKUP, DEPLOY, NOW, step
from tests.support.samples.cards import buttons, markup, plan_view


def long(count: int, **fields: object) -> PlanView:
    made = [BACKUP, DEPLOY]  # in turn, so that no line can say several of them
    steps = [StepView(step(f"s{n}", made[n % 2], parameters={"service": f"part {n}"})) for n in range(count)]
    return replace(plan_view(*steps), lengthy=True, **fields)


@pytest.mark.parametrize("count", [16, 50, 120, 200])
def test_a_card_without_room_says_how_much_it_shows_and_offers_no_approval(count):
    view = long(count)
    text, blocks = card(view, NOW)
    said = "\n".join(markup(blocks))

    check_message(text, blocks, most_text=UPDATE_TEXT)
    assert f"*{count} steps:* {count // 2} × back up, {count // 2} × deploy" in said
    assert f"Shown here: 5 of {count} steps. All of it is coming as `plan-1-revision-1.txt`" in said
    assert buttons(blocks) == ["edit", "reject", "details"]


def test_approve_comes_with_the_file():
    text, blocks = card(long(80, filed=True), NOW)

    assert buttons(blocks) == ["approve", "edit", "reject", "details"]
    assert "All 80 stand in plan-1-revision-1.txt in the thread; please read it before you decide." in text


def test_a_card_says_that_slack_has_not_taken_the_file():
    text, blocks = card(long(80, unfiled="upload_failed"), NOW)

    assert "could not be posted yet (upload_failed); I try again." in text
    assert "approve" not in buttons(blocks)


def test_the_file_has_every_step_in_full():
    whole = in_full(long(120))

    assert all(f"service: part {n}\n" in whole for n in range(120))
    assert whole.count("If it fails: ") == 120
    assert "Who can approve: UBOB" in whole


def test_a_line_that_is_cut_is_not_counted_as_shown():
    steps = [StepView(step(f"s{n}", BACKUP, parameters={"service": f"{n * n} parts"})) for n in range(100)]
    said = "\n".join(markup(card(replace(plan_view(*steps), lengthy=True), NOW)[1]))

    assert "Shown here: 0 of 100 steps." in said
