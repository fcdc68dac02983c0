"""Save as runbook, from Slack: a plan that went well becomes a runbook that plans the same again."""

from pathlib import Path

import pytest

from bot.cards.thread import message
from bot.planner.runbooks import book as runbooks
from storage.contract.report import AnyReport
from storage.contract.states import PlanState
from tests.support.fakes import TEAM, demo_config, messages, real_contracts, taker
from tests.support.room import Room, think
from tests.support.store import Store

FORM = {"name": "nightly-proof", "title": "Prove staging", "trigger": "prove that it holds"}


def done(store: Store, folders: tuple[Path, ...]) -> Room:
    """ANN's tests have passed."""
    room = Room(store, demo_config().model_copy(update={"runbooks": folders}))
    store.publish(real_contracts())
    store.request("run the full tests on staging", team=TEAM, user="ANN", channel="C1")
    think(room.bot)
    (claim,) = store.turn([], taker(*real_contracts()), 1)
    store.succeed(claim, AnyReport.ok("9 passed", {"failed": 0, "passed": 9}), actor="w1")
    assert room.view().outcome == "succeeded", room.view().reason
    return room


def thread(room: Room, kind: str) -> str:
    said = messages(room.store, kind)[-1]
    return str(message(kind, room.view(), room.store.event(said.plan_id, said.seq), room.store.clock())[1])


def test_a_plan_that_went_well_is_saved_and_asked_for_again_by_its_words(lite, tmp_path):
    room = done(lite, (tmp_path,))
    assert "Save as Runbook" in thread(room, "summary")
    room.clicks("ANN", "save")
    assert room.fills("ANN", FORM) == {}
    (book,) = runbooks.read([tmp_path])

    assert {*book.slots} == {"test_suite", "environment"}
    assert "/plan run nightly-proof" in thread(room, "saved")
    lite.request("prove that it holds full staging", team=TEAM, user="BOB", channel="C1")
    think(room.bot)
    assert room.view().note == "from the runbook “Prove staging”"
    assert room.view().state == PlanState.approved


def test_without_a_folder_that_can_be_written_the_file_comes_into_the_thread(lite, tmp_path):
    room = done(lite, (tmp_path / "nowhere",))
    room.clicks("BOB", "save")
    assert room.fills("BOB", FORM) == {}
    (file,) = messages(lite, "file")

    assert "attached" in thread(room, "saved")
    assert runbooks.parse("x.yml", lite.event(1, file.seq).data["text"]).id == "nightly-proof"


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"name": "Nightly Proof"}, "name"), ({"name": "deploy-service"}, "name"),
     ({"trigger": "run"}, "trigger"), ({"trigger": "deploy auth-service"}, "trigger"),
     ({"trigger": "prove it every night"}, "trigger")],
)  # fmt: skip
def test_a_name_or_words_that_would_be_in_the_way_are_said_at_their_field(lite, tmp_path, changed, field):
    room = done(lite, (tmp_path,))
    room.clicks("ANN", "save")

    assert list(room.fills("ANN", FORM | changed)) == [field]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_not_overwritten(lite, tmp_path):
    room = done(lite, (tmp_path,))
    (tmp_path / "nightly-proof.yml").write_text("mine")
    room.clicks("ANN", "save")

    assert "already" in str(room.fills("ANN", FORM))
    assert (tmp_path / "nightly-proof.yml").read_text() == "mine"


def test_strangers_save_nothing(lite, tmp_path):
    room = done(lite, (tmp_path,))
    room.clicks("EVE", "save")

    assert room.opened == []
    assert "You may not save" in room.whispers("EVE")[-1]
