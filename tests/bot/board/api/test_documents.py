"""What the commands print as JSON is what the API answers, document for document."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.board.api.models import FiguresOut, PlanList, PlanPage
from bot.cli.plans import plans, show
from bot.cli.stats import print_stats
from bot.config import BotSettings
from storage.config import SignoffConfig
from tests.support.fakes import FakeClock, tamper
from tests.support.samples.board import board, url_of
from tests.support.samples.evening import evening
from tests.support.store import Store

pytestmark = pytest.mark.board
CONFIG = SignoffConfig.model_validate({"board": {"auditors": ["AUDREY"]}})
LATER = {"until", "since", "standing"}  # by the clock of who asks


@pytest.fixture
def printed(
    on_disk: Store, clock: FakeClock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    evening(on_disk, clock)
    on_disk.tell_stories()
    monkeypatch.setenv("SIGNOFF_DATABASE_URL", url_of(on_disk))
    settings = BotSettings()

    def told(work: Any) -> Any:
        capsys.readouterr()
        assert work(settings) == 0
        return json.loads(capsys.readouterr().out)

    return told


def test_commands_print_the_documents_of_the_api(on_disk: Store, tmp_path: Path, printed: Any):
    with board(on_disk, tmp_path, CONFIG) as site:
        site.enters("AUDREY")
        listed, one, figures = (
            site.document(path, "AUDREY") for path in ("/api/plans", "/api/plans/1", "/api/figures?days=7")
        )
    ours = printed(lambda s: print_stats(s, as_json=True))

    assert printed(lambda s: plans(s, as_json=True)) == listed
    assert {k: v for k, v in printed(lambda s: show(s, 1, as_json=True)).items() if k not in LATER} == {
        k: v for k, v in one.items() if k not in LATER
    }
    assert {k: v for k, v in ours.items() if k not in LATER} == {
        k: v for k, v in figures.items() if k not in LATER
    }
    for model, document in ((PlanList, listed), (PlanPage, one), (FiguresOut, ours)):
        assert set(model.model_fields) == set(document)


@pytest.mark.hostile
def test_words_that_were_changed_behind_our_back_are_not_printed(on_disk: Store, printed: Any):
    tamper(on_disk, "UPDATE plan SET text = 'look at zebra'")

    assert "zebra" not in json.dumps(printed(lambda s: plans(s, as_json=True)))


def test_a_wish_that_was_refused_is_no_plan_in_any_list(on_disk: Store, printed: Any, capsys: Any):
    refused = on_disk.request("dance for me", team="T1", user="ANN", channel="C1")
    on_disk.cancel(refused, user="planner", reason="I do not plan this.")
    said = on_disk.request("deploy b", team="T1", user="ANN", channel="C1")
    listed = [plan["id"] for plan in printed(lambda s: plans(s, as_json=True))["plans"]]

    assert refused not in listed
    assert said in listed
    capsys.readouterr()
    plans(BotSettings())
    shown = capsys.readouterr().out
    assert "deploy b" in shown
    assert "dance" not in shown
