"""Runbooks from hand to hand in Slack: tried, handed on as a file, and brought in by an approver."""

import re
from pathlib import Path

import pytest

from bot.cards.blocks import FENCE, WHOLE, split
from bot.inbox.requests import on_command, on_mention
from bot.planner.runbooks.book import SHIPPED, parse
from bot.plans import hand_on
from storage.errors import NotAllowed, SignoffError
from tests.support.fakes import TEAM, demo_config, real_contracts
from tests.support.room import Room, think
from tests.support.store import Store

PROVE = """\
id: prove-staging
title: Prove staging
examples:
  - say: attest suite full on staging
    slots: {suite: full}
asks:
  also: [attest suite]
slots:
  suite: {inventory: suites, ask: "Which suite?"}
  place: {choices: [staging], default: staging}
plan:
  goal: Attest the {suite} suite
  steps:
    - id: t
      worker: test-runner
      action: run_tests
      parameters: {test_suite: "{suite}", environment: "{place}"}
"""


@pytest.fixture
def room(lite: Store, tmp_path: Path) -> Room:
    lite.publish(real_contracts())
    return Room(lite, demo_config().model_copy(update={"runbooks": (tmp_path,)}))


def says(room: Room, text: str, user: str = "BOB") -> str:
    return on_command(room.bot, {"text": text, "user": user, "channel": "C1"})


def sent(text: str) -> str:
    return f"runbook import\n{FENCE}\n{text}{FENCE}"


def test_what_is_handed_on_can_be_brought_in_and_asked_for(room, tmp_path):
    said = says(room, sent(PROVE))

    assert "“Prove staging” can be asked for: `/plan attest suite full on staging`" in said
    assert (tmp_path / "prove-staging.yml").read_text() == PROVE.rstrip("\n")
    (event,) = [e for e in room.store.events(0) if e.verb == "import"]
    assert (event.actor, event.data["name"], event.data["text"]) == (
        "BOB",
        "prove-staging",
        PROVE.rstrip("\n"),
    )
    room.store.request("attest suite full on staging", team=TEAM, user="ANN", channel="C1")
    think(room.bot)
    assert room.view().note == "from the runbook “Prove staging”"
    assert says(room, "runbook export prove-staging") == f"{FENCE}\n{PROVE}{FENCE}"


def test_it_is_brought_in_by_a_message_with_the_signs_and_links_of_slack(room, tmp_path):
    text = PROVE.replace("title: Prove staging", "title: Prove <staging> & see https://example.com/x")
    slack = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    slack = slack.replace("https://example.com/x", "<https://example.com/x>")
    said = {"text": f"<@U0SIGNOFF> runbook import {FENCE}{slack}{FENCE}", "user": "BOB", "channel": "C1"}
    on_mention(room.bot, {**said, "ts": "1.0"})

    assert (tmp_path / "prove-staging.yml").read_text() == text.rstrip("\n")


def test_a_word_alone_tells_how(room):
    for rest in ("", " import"):
        with pytest.raises(SignoffError, match="as a block of code"):
            says(room, f"runbook{rest}")


@pytest.mark.parametrize("user", ["ANN", "DAVE"])
def test_only_approvers_bring_in(room, tmp_path, user):
    with pytest.raises(NotAllowed, match="may not bring in runbooks"):
        says(room, sent(PROVE), user)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("id: prove-staging", "id: ../../evil", "lower-case letters, digits and hyphens"),
        ("id: prove-staging", "id: run-tests", "There is a runbook “run-tests” already"),
        ("say: attest suite full", "say: run the full tests", "these words ask for “.*” already"),
        ("title: Prove staging", "title: [", r"line \d"),
        ("title: Prove staging\n", "", "title: Field required$"),
        ("title: Prove staging", "title: a\ntitle: b", "given twice"),
        ("slots:\n", "slots:\n  bad: {pattern: '(a+)+$'}\n", r"patterns of its own \(bad\)"),
        ("title: Prove staging", "title: &a Prove\nnever: [*a]", "twice by an alias"),
        ("title: Prove staging", f"title: {'[' * 9000}", "nested too deeply"),
        ("title: Prove staging", f"title: {'x' * hand_on.LARGEST}", "at most 20000"),
    ],
)
def test_what_is_not_fit_is_refused_in_words_and_kept_nowhere(room, tmp_path, old, new, why):
    with pytest.raises(SignoffError, match=why) as caught:
        says(room, sent(PROVE.replace(old, new)))

    assert "pydantic" not in str(caught.value)
    assert [*tmp_path.iterdir()] == []
    assert "prove-staging" not in {book.id for book in room.bot.runbooks}


def test_words_that_would_change_what_others_mean_are_refused(room):
    greedy = PROVE.replace("also: [attest suite]", "also: [attest suite, run the full tests]")
    with pytest.raises(SignoffError, match="“run the full tests on staging” would mean something else"):
        says(room, sent(greedy))


def test_where_nothing_can_be_kept_that_is_said(lite):
    lite.publish(real_contracts())
    bare = Room(lite, demo_config().model_copy(update={"runbooks": ()}))
    with pytest.raises(SignoffError, match="nowhere to keep it"):
        says(bare, sent(PROVE))


@pytest.mark.parametrize("file", sorted(SHIPPED.glob("*.yml")), ids=lambda file: file.stem)
def test_every_runbook_is_handed_on_whole_however_long_it_is(room, file):
    said = says(room, f"runbook export {parse(file.name, file.read_text()).id}", "ANN")
    parts = split([said])

    assert all(len(part) <= WHOLE + 8 and part.count(FENCE) == 2 for part in parts)
    assert hand_on._unfenced("\n".join(parts)) == file.read_text().rstrip("\n")


def test_examples_are_tried_and_told(room):
    every, one = says(room, "runbook test", "ANN"), says(room, "runbook test run-tests", "ANN")

    assert re.search(r"^run-tests +(\d+) of \1 as written$", one, re.M)
    assert {book.id for book in room.bot.usable()} == {*re.findall(r"^[a-z][\w-]+", every, re.M)}
    for name in ("burn-it", "x" * 200):
        with pytest.raises(SignoffError, match="There is no runbook"):
            says(room, f"runbook test {name}")


def test_a_wish_that_begins_with_the_word_is_a_wish(room):
    says(room, "runbook for the backup of auth_prod", "ANN")
    assert room.view().text == "runbook for the backup of auth_prod"
