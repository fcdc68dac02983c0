"""Details that somebody opens are on record, and open the way to Approve where a rule asks for it."""

import pytest

from bot.cards.blocks import pack
from bot.inbox.clicks import on_click
from storage.contract.demands import Demands
from storage.errors import NotAllowed
from tests.support.fakes import propose, verbs
from tests.support.samples.second_factor import click, make_bot
from tests.support.store import Store


def test_whoever_opened_details_may_approve_what_must_be_read(lite: Store) -> None:
    view = lite.view(propose(lite, demands=Demands(read=True)))
    opened: list[dict[str, object]] = []
    bot = make_bot(lite, opened)
    with pytest.raises(NotAllowed, match="open Details first"):
        click(bot, view)
    value = pack(view.id, view.revision, view.digest)
    on_click(bot, {"user": "BOB", "action": "details", "value": value, "channel": "C1", "trigger": "t"})
    click(bot, view)

    assert len(opened) == 1
    assert verbs(lite, view.id)[-1] == "approve"
