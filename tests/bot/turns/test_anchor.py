"""The running bot anchors its journal outside the database, and says so when it no longer follows."""

from pathlib import Path

import pytest

from bot.turns.anchor import Anchor
from storage.audit.export import journal
from storage.audit.verify import check, read_checkpoint
from storage.database.engine import open_engine
from storage.errors import Unavailable
from tests.support.fakes import FakeClock, approve, messages, propose, tamper
from tests.support.store import Store


@pytest.fixture
def anchor(lite: Store, tmp_path: Path) -> Anchor:
    return Anchor(lite, tmp_path / "deep" / "checkpoints.jsonl", "C9", ("ROOT",))


def test_each_checkpoint_is_written_and_posted_once(anchor, lite, clock):
    plan_id = propose(lite)
    anchor.drop()
    clock.advance(300)
    anchor.drop()
    approve(lite, plan_id)
    clock.advance(300)
    anchor.drop()

    posted = messages(lite, "say")
    lines = anchor.file.read_text().splitlines()
    assert [message.channel for message in posted] == ["C9", "C9"]
    assert len(lines) == 2
    newest = read_checkpoint(lines)
    assert newest.root in posted[1].text
    assert check(journal(lite.engine), newest.heads).problems == []
    assert read_checkpoint(lines, newest.root) == newest


@pytest.mark.postgres
def test_a_database_that_is_away_is_waited_for(tmp_path: Path, clock: FakeClock):
    nowhere = Store(open_engine("postgresql+psycopg://signoff@127.0.0.1:1/signoff"), clock)

    with pytest.raises(Unavailable):
        Anchor(nowhere, tmp_path / "checkpoints.jsonl").drop()


def test_without_a_channel_only_the_file_grows(anchor, lite):
    propose(lite)
    Anchor(lite, anchor.file).drop()

    assert anchor.file.exists()
    assert messages(lite, "say") == []


@pytest.mark.hostile
def test_a_journal_that_does_not_follow_is_not_anchored_and_admins_hear_of_it_once(anchor, lite, clock):
    plan_id = propose(lite)
    anchor.drop()
    before = anchor.file.read_text()
    tamper(lite, "UPDATE event SET actor = 'MALLORY' WHERE plan_id = :plan", plan=plan_id)
    tamper(lite, "UPDATE plan SET head = 'forged' WHERE id = :plan", plan=plan_id)
    anchor.drop()
    clock.advance(300)
    anchor.drop()

    (told,) = messages(lite, "tell")
    assert told.user == "ROOT"
    assert "behind my back" in told.text
    assert anchor.file.read_text() == before
    assert len(messages(lite, "say")) == 1
    clock.advance(days=1)
    anchor.drop()
    assert len(messages(lite, "tell")) == 2


def test_a_file_that_cannot_be_written_is_an_alarm_and_stops_nothing(lite, tmp_path):
    (tmp_path / "file").write_text("in the way")
    propose(lite)
    Anchor(lite, tmp_path / "file" / "checkpoints.jsonl", "C9", ("ROOT",)).drop()

    assert ["cannot be anchored" in message.text for message in messages(lite, "tell")] == [True]


def test_a_policy_goes_on_record_when_it_changes(lite):
    for version in ("one", "one", "two", "one"):
        lite.adopt(version, {"people": {"approvers": [version]}}, actor="bot")

    events = [(event.verb, event.data["version"]) for event in lite.events(0)]
    assert events == [("policy", "one"), ("policy", "two"), ("policy", "one")]
