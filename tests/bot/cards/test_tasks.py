"""The steps on a card: what each would do, when, and what must hold."""

import json

from bot.cards.card import card
from storage.reading.plan_view import StepView
from tests.support.fakes import NOW, step
from tests.support.samples.cards import plan_view


def test_a_card_shows_parameters_times_and_criteria():
    found = StepView(step("s1", success_criteria=[{"field": "failed", "op": "eq", "value": 0}],
                          schedule={"not_before": NOW, "zone": "America/New_York"}))  # fmt: skip
    blocks = json.dumps(card(plan_view(found), NOW)[1])

    assert "service: a" in blocks
    assert "When: Sun 15 Nov 18:00 EST (23:00 UTC)" in blocks
    assert "Must hold: failed eq 0" in blocks


def test_parameters_are_said_for_people():
    parts = {"rows": {"from": "fetch.file"}, "dry": True, "pipeline": [{"op": "limit", "rows": 1}]}
    text = json.dumps(card(plan_view(StepView(step("s1", parameters=parts))), NOW)[1], ensure_ascii=False)

    assert "rows: fetch.file (when it is known), dry: yes" in text
    assert "{'" not in text
