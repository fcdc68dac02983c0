"""Plans that do not fit on a card: what is cut, and the file that has all of it."""

import json

import pytest

from bot.cards.card import card, cut
from bot.cards.long_plan import in_full
from bot.local.schema.limits import UPDATE_TEXT, check_message
from storage.reading.plan_view import StepView
from tests.support.fakes import NOW, step
from tests.support.samples.cards import plan_view


@pytest.mark.parametrize("count", [1, 10, 50, 120])
def test_a_plan_of_any_length_fits_and_what_has_no_room_goes_into_a_file(count):
    steps = [StepView(step(f"s{n}", purpose=f"Do part {n}"), preview="x" * 400) for n in range(count)]
    view = plan_view(*steps)
    text, blocks = card(view, NOW)
    whole = in_full(view)

    check_message(text, blocks, most_text=UPDATE_TEXT)
    assert len(blocks[0]["tasks"]) == (count if count <= 50 else 49)
    assert cut(view, NOW) is (count > 10)
    assert ("All of it stands in the thread, in `plan-1-revision-1.txt`" in json.dumps(blocks)) is (
        count > 10
    )
    assert all(f"Do part {n}\n" in whole and "If it fails" in whole for n in range(count))
