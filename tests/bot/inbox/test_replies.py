"""Words in a plan's thread: a change for those who may amend, a button for "lgtm", silence for talk."""

import pytest

from bot.planner import planning
from bot.planner.prepare import prepare
from bot.planner.validate import Catalogue
from storage.contract.states import PlanState
from tests.support.fakes import NOW, demo_config, messages, real_contracts, terms, verbs
from tests.support.room import US, Room

WISH = "deploy auth-service v2.1.4 to production"


@pytest.fixture
def room(lite):
    found = Room(lite)
    made = planning.plan(WISH, found.bot.runbooks, demo_config()).spec
    catalogue = Catalogue(real_contracts())
    found.proposed(prepare(made, catalogue, demo_config(), NOW), terms(), real_contracts())
    return found


@pytest.mark.parametrize("user", ["ANN", "BOB"])
def test_a_change_in_the_thread_makes_a_revision_and_the_old_one_is_dead(room, user):
    old = room.view()
    room.says(user, "good, but step 3 at 2am EST")

    new = room.view()

    assert (new.revision, new.author, new.changes) == (
        2, user, ("deploy: at once → Mon 16 Nov 02:00 EST (07:00 UTC)",)
    )  # fmt: skip
    assert new.digest != old.digest
    assert new.authors == ("ANN",)  # a postponement makes nobody an author
    assert verbs(room.store, new.id)[-1] == "amend"
    assert room.whispers(user) == []
    assert [(m.text, m.ts) for m in messages(room.store, "react")] == [("ok_hand", "200.000001")]


def test_who_changes_what_is_done_may_no_longer_approve_it(room):
    room.says("BOB", "use canary instead")
    room.clicks("BOB", "approve")

    assert room.view().authors == ("ANN", "BOB")
    assert "somebody else must approve it" in room.whispers("BOB")[0]


@pytest.mark.parametrize("user", ["EVE", "GUS"])
def test_what_others_say_is_not_read(room, user):
    room.says(user, "use canary instead")
    room.says(user, "lgtm")

    assert room.view().revision == 1
    assert room.whispers(user) == []
    assert verbs(room.store, room.view().id) == ["request", "propose"]


@pytest.mark.parametrize("words", ["<@U0DAVE> use canary instead", "(<@U0DAVE> cancel it?)"])
def test_what_is_said_to_somebody_else_is_left_alone(room, words):
    room.says("BOB", words)

    assert (room.view().revision, room.view().state) == (1, PlanState.proposed)
    assert room.whispers("BOB") == []


@pytest.mark.parametrize("words", ["lgtm", "approve", "👍", "ship it!"])
def test_words_never_approve_and_are_answered_with_the_button(room, words):
    room.says("BOB", words)

    assert room.view().state == PlanState.proposed
    assert room.view().approved_by == ()
    assert room.whispers("BOB")[0].startswith("Words don't approve here, the button does")
    assert messages(room.store, "whisper")[0].plan_id == 0  # no Edit button: that is not what was meant


def test_talk_is_left_alone_and_not_kept(room):
    room.says("BOB", "I'll ask Carol about it")
    room.says("BOB", "use canary instead", thread="999.000001")
    room.says("BOB", "use canary instead", subtype="message_changed")
    room.says("BOB", "use canary instead", bot_id="B1")

    assert room.view().revision == 1
    assert room.whispers("BOB") == []


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("use frobnication instead", "I understand, for example: “move step 3 to 2am”"),
        ("move step 3 to teatime", "I do not understand the time “teatime”"),
        (
            "set strategy to lunar",
            "Step 3 (Deploy auth-service v2.1.4 on production), strategy: 'lunar'",
        ),
        ("add sing a song", "I have no runbook for that"),
        ("use blue-green", "Nothing was changed."),
    ],
)
def test_what_cannot_be_done_is_answered_with_a_sentence_and_the_edit_button(room, words, answer):
    room.says("ANN", words)

    (said,) = [*messages(room.store, "whisper"), *messages(room.store, "choose")]

    assert answer in said.text
    assert (said.user, said.ts) == ("ANN", "100.000001")
    assert room.view().revision == 1


def test_a_mention_in_the_thread_changes_the_plan_once_however_it_is_delivered(room):
    for kind in ("app_mention", "message", "app_mention"):
        room.says("ANN", f"<@{US}> drop step 2", kind=kind, ts="500.000001")

    assert room.view().revision == 2
    assert [s.spec.id for s in room.view().steps] == ["test", "deploy"]
    assert len(room.store.recent()) == 1


def test_a_mention_by_somebody_who_may_not_amend_is_refused_to_them(room):
    room.says("EVE", f"<@{US}> drop step 2", kind="app_mention")

    assert room.view().revision == 1
    assert "You may not amend this plan" in room.whispers("EVE")[0]


def test_a_mention_in_the_thread_that_is_a_wish_of_its_own_becomes_a_plan(room):
    room.says("ANN", f"<@{US}> run the full tests on staging", kind="app_mention")

    assert room.store.recent()[0].text == "run the full tests on staging"


def test_nothing_is_changed_once_it_is_decided(room):
    room.clicks("BOB", "reject")
    room.fills("BOB", {"reason": "not today"})
    room.says("ANN", "use canary instead")

    assert room.view().state == PlanState.rejected
    assert room.view().revision == 1
