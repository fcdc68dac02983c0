"""Previews: what each step would do, to be opened under the plan."""

import json

from bot.cards.card import card
from bot.local.schema.limits import UPDATE_TEXT, check_message
from storage.reading.plan_view import StepView
from tests.support.fakes import NOW, step
from tests.support.samples.cards import plan_view


def test_previews_stand_collapsed_under_the_plan_and_not_twice():
    found = StepView(step("s1"), preview="+ image v2\n- image v1")
    _, blocks = card(plan_view(found), NOW)
    (box,) = [block for block in blocks if block["type"] == "container"]

    check_message("x", blocks, most_text=UPDATE_TEXT)
    assert (box["is_collapsible"], box["default_collapsed"]) == (True, True)
    assert box["child_blocks"][0]["text"]["text"] == "> + image v2\n> - image v1"
    assert "Would do" not in json.dumps(blocks)
