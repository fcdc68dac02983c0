"""A database of the release before, opened by the code of today: all is there, and nothing runs unasked.

`upgrade/signoff.sql` is a dump of what version 0.1.0 left behind, with its checkpoint and the hashes of its
contracts; `upgrade/write.py` ran in that tree to make them. None of them is written anew to please a test:
where a contract must change, what was approved under the old one is refused and offered anew instead. So it
is with 0.2.0: since then each action says how its steps read, and people approve by these words.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from bot.cards.card import card
from bot.cards.face.ended import come_true
from bot.planner.prepare import prepare
from bot.planner.validate import Catalogue
from storage.audit.export import journal
from storage.audit.verify import check, read_checkpoint
from tests.stories.upgrade import write
from tests.stories.upgrade.write import CONFIG, DAILY, DUMP, GATED, LEFT, TONIGHT, WAITING, Office, office
from tests.support.fakes import FakeClock, messages, verbs
from tests.support.room import handle_all

SIX, SEVEN = LEFT + timedelta(hours=7), LEFT + timedelta(hours=8)  # the daily run; the window opens
LEFT_SO = {
    (1, DAILY): ("done", "succeeded"), (2, DAILY): ("done", "succeeded"), (3, GATED): ("stalled", ""),
    (4, TONIGHT): ("approved", ""), (5, WAITING): ("proposed", ""),
}  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch) -> Iterator[Office]:
    """The stored company, its clock where the old code left it."""
    with closing(sqlite3.connect(tmp_path / "signoff.db")) as connection:
        connection.executescript(DUMP.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)  # the logs of attempts
    with office("sqlite:///signoff.db", FakeClock(LEFT), 200) as opened:
        yield opened


def ending(place: Office, plan_id: int) -> tuple[str, str]:
    view = place.room.store.view(plan_id)
    return view.state, view.outcome


def unbroken(place: Office) -> int:
    """The events since the checkpoint that the old code anchored, if every link holds."""
    with write.CHECKPOINTS.open(encoding="utf-8") as anchored:
        known = read_checkpoint(anchored)
    verdict = check(journal(place.room.store.engine), known.heads)
    assert verdict.problems == []
    return verdict.newer


def test_every_contract_and_every_digest_is_what_it_was():
    stored = json.loads(write.PROMISES.read_text())

    today = write.promises()

    assert {name: today.get(name) for name in stored} == stored
    assert len(stored) > 20


def test_every_plan_is_there_and_can_be_shown(place):
    views = {view.id: view for view in place.room.store.recent()}

    assert {(view.id, view.text): (view.state, view.outcome) for view in views.values()} == LEFT_SO
    assert views[4].approved_by == ("BOB",)
    assert views[3].step("gate").choices == ("confirm", "abort")
    for view in views.values():
        assert come_true(view) or view.text in card(view, LEFT)[0]
        assert f"plan {view.id}" in card(view, LEFT)[0]


@pytest.mark.parametrize("plan_id", [1, 2, 3, 4, 5])
def test_the_same_wish_is_the_same_plan_today(place, plan_id):
    stored = place.room.store.view(plan_id)
    draft = write.drafted(stored.text, None, None).spec
    then = Catalogue([write.unsaid(made) for made in place.room.store.contracts()])

    assert prepare(draft, then, CONFIG, LEFT).digest() == stored.digest


def test_the_journal_follows_from_the_checkpoint_of_before(place):
    assert unbroken(place) == 1  # the last approval


def test_what_was_approved_before_asks_when_its_time_comes_and_runs_nothing(place):
    place.turn()
    before = ending(place, 4)
    place.clock.now = SEVEN
    place.turn()

    assert before == ("approved", "")
    assert ending(place, 4) == ("stalled", "")
    assert "has changed since it was approved" in place.room.store.view(4).step("look").report.summary
    assert "succeed" not in verbs(place.room.store, 4)
    assert unbroken(place) > 1


def test_what_was_proposed_before_is_not_approved_as_it_is(place):
    place.presses("BOB", "approve", 5)
    place.turn()

    assert ending(place, 5)[1] != "succeeded"
    assert "succeed" not in verbs(place.room.store, 5)


def test_a_question_asked_before_can_be_answered(place):
    place.presses("BOB", "answer_confirm", 3, "gate")
    place.turn()

    assert place.room.store.view(3).step("gate").state == "succeeded"
    assert ending(place, 3) == ("stalled", ""), "what comes after it changed, so it asks"


def test_an_approval_that_stands_speaks_for_no_run_that_reads_otherwise(place):
    place.clock.now = SIX
    place.turn()

    assert ending(place, 6) == ("proposed", "")
    assert place.room.store.view(6).approved_by == ()


def test_what_was_delivered_before_is_handled_once(place):
    for _ in range(2):
        handle_all(place.room.bot)
        place.turn()

    assert ending(place, 6) == ("done", "succeeded")
    ahead = [view.text for view in place.room.store.recent() if view.id > 6]
    assert ahead == ["announce the day"], "the next run of what recurs, before its time, and nothing else"


def test_what_was_to_be_said_is_said(place):
    waiting = [message.key for message in place.room.store.unsent()]
    place.show()

    assert waiting == ["card:4", "decision:4:5"]
    (said,) = [found for found in messages(place.room.store, "decision") if found.plan_id == 4]
    assert (said.ts[:4], said.problem) == ("200.", "")
