"""Words in a plan's thread: what is plainly meant is done or asked, and nobody's talk changes a plan."""

import pytest

from bot.cards.phrases import differences
from bot.planner.conversation.hearing import hear
from bot.planner.conversation.speech import LONGEST
from bot.planner.edits.pointing import EditContext
from bot.planner.evaluation import NOW, config, contracts
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from storage.contract.spec import PlanSpec

pytestmark = pytest.mark.language
CATALOGUE = Catalogue(contracts())
SLOTS = {"service": "auth-service", "version": "v2.1.4", "environment": "production", "when": "now"}
BOOK = next(book for book in runbooks.read([runbooks.SHIPPED]) if book.id == "deploy-service")
PLAN = prepare(runbooks.fill(BOOK, " ", config(), SLOTS).spec, CATALOGUE, config(), NOW)
TWO, THREE = "Mon 16 Nov 02:00 EST (07:00 UTC)", "Mon 16 Nov 03:00 EST (08:00 UTC)"
NO_BACKUP = ["backup: removed", "deploy: waits for test"]
CANARY = ["deploy: strategy blue_green → canary"]
WHOLE = {
    "cancel": "cancel | Cancel this plan | never mind | stop!! | please stop it | let's not do this | "
    "brich das ab | kannst du das abbrechen | cancela | <@UBOT> cancel | "
    "forget it | i changed my mind | call it off",
    "approving": "lgtm | +1 | :+1: | approve | ship it | looks good to me! | yes please | "
    "go ahead | I approve this",
    "again": "do it again | again please | once more | rerun | nochmal",
    "retry": "retry | try again | try it once more please",
    "undo": "undo | roll it back | no wait, put it back | revert | rollback please",
    "thanks": "thanks! | thank you | thx | danke",
    "hello": "hi | good morning!",
}


def about(spec: PlanSpec = PLAN) -> EditContext:
    return EditContext(spec, CATALOGUE, config(), NOW)


def changes(words: str, spec: PlanSpec = PLAN) -> list[str]:
    act = hear(words, about(spec))
    assert act.draft is not None, act
    return differences(spec, prepare(act.draft, CATALOGUE, config(), NOW))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Modify step-3 to schedule for 2AM EST", [f"deploy: at once → {TWO}"]),
        ("Plan looks good, but let's deploy during maintenance window", [f"deploy: at once → {TWO}"]),
        ("deploy at 2AM EST", [f"deploy: at once → {TWO}"]),
        ("make the deploy 3am", [f"deploy: at once → {THREE}"]),
        ("step three at 3am EST", [f"deploy: at once → {THREE}"]),
        ("please schedule the deployment for the nightly window", [f"deploy: at once → {TWO}"]),
        ("hold the deploy until 02:00 in New York", [f"deploy: at once → {TWO}"]),
        ("can we do the deploy tomorrow at 3am ET?", [f"deploy: at once → {THREE}"]),
        ("let's wait for the maintenance window", [f"test: at once → {TWO}"]),
        ("do it tomorrow at 3am EST", [f"test: at once → {THREE}"]),
        ("postpone by one hour", ["test: at once → Mon 16 Nov 00:00 UTC"]),
        ("move the deploy an hour later", ["deploy: at once → Mon 16 Nov 00:00 UTC"]),
        ("no backup please", NO_BACKUP),
        ("skip the backup", NO_BACKUP),
        ("without the backup", NO_BACKUP),
        ("forget the backup", NO_BACKUP),
        ("cancel the backup", NO_BACKUP),
        ("leave the backup out", NO_BACKUP),
        ("drop steps 1 and 2", ["test: removed", "backup: removed", "deploy: waits for nothing"]),
        ("use canary instead", CANARY),
        ("canary please", CANARY),
        ("yes but canary", CANARY),
        ("could we use canary?", CANARY),
        ("I would rather have it rolling", ["deploy: strategy blue_green → rolling"]),
        ("2.1.8 instead", ["deploy: version v2.1.4 → v2.1.8"]),
        ("deploy v2.1.5 instead of v2.1.4", ["deploy: version v2.1.4 → v2.1.5"]),
        ("the first step should be smoke", ["test: test_suite full → smoke"]),
        ("step 3 at 2am and use canary", [f"deploy: at once → {TWO}", *CANARY]),
        ("looks good, but use canary and skip the backup", [NO_BACKUP[0], *CANARY, NO_BACKUP[1]]),
        ("do the tests last", ["backup: waits for nothing", "test: waits for deploy",
                               "the order of the steps changed"]),
    ],
)  # fmt: skip
def test_a_change_is_understood_however_it_is_said(words, expected):
    assert changes(words) == expected


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        *((words, kind) for kind, said in WHOLE.items() for words in said.split(" | ")),
    ],
)  # fmt: skip
def test_what_is_said_whole_is_an_act(words, kind):
    assert hear(words, about()).kind == kind
    assert hear(words, None).kind == kind


@pytest.mark.parametrize(
    ("words", "topic", "step"),
    [
        ("status?", "status", ""),
        ("how is it going?", "status", ""),
        ("is it done?", "status", ""),
        ("why?", "risk", ""),
        ("why high risk?", "risk", ""),
        ("who can approve?", "who", ""),
        ("who needs to sign off", "who", ""),
        ("how long does it take?", "long", ""),
        ("when does it run", "when", ""),
        ("is the deploy at 2am?", "when", ""),
        ("what if it fails?", "fails", ""),
        ("what happens if step 2 fails?", "fails", "2"),
        ("why did it fail?", "failure", ""),
        ("what went wrong?", "failure", ""),
        ("what does step 2 do?", "step", "2"),
        ("what is the last step?", "step", "last"),
        ("what would be rolled back?", "rollback", ""),
        ("what changed?", "changed", ""),
        ("what will it do?", "what", ""),
    ],
)
def test_a_question_about_the_plan_names_what_is_asked(words, topic, step):
    act = hear(words, about())

    assert (act.kind, act.topic, act.step) == ("question", topic, step)


@pytest.mark.parametrize(
    "words",
    [
        "ok", "nice", "lol", "hmm", "no", "leave it", "what about the migration?",
        "Carol said v2.1.3 was slow",
        "the deploy of checkout at 2am was fine", "the tests took 5 minutes", "we used canary last time",
        "the backup is at 2am", "I have a meeting at 3pm", "canary was great", "see you at 2am",
        "Bob will be there at 3am", "why not canary?", "3am works for me", "I can't at 3am",
        "should we do it tomorrow?", "Bob: can you look at the dashboards?", "v2.1.5 or v2.1.6",
        "bob should approve this", "who is deploying this?", "do you think canary is better?",
        "yesterday's deploy at 2am broke checkout", "x" * (LONGEST + 1), "", "<@U1>", ":tada:",
    ],
)  # fmt: skip
def test_talk_changes_nothing(words):
    assert hear(words, about()).kind == "talk"


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        ("make it 3am", "Which step?"),
        ("tomorrow 3am EST please", "Which step?"),
        ("wait until friday", "At what time"),
        ("move step 9 to 2am", "3 steps"),
        ("make it 3am if bob agrees", "I did not get “if bob agrees”"),
        ("use canary for 10% of users", "I did not get"),
        ("scale to 6 instead", "I did not get"),
        ("don't deploy at 2am", "Please name one time"),
        ("use canary and rolling", "I understand, for example"),
        ("run the tests twice", "I understand, for example"),
        ("wait", "until somebody cancels it"),
        ("move the deploy to 2am or 3am", ""),
        ("deploy at 2am but not on friday", ""),
        ("deploy at 2am only in eu-west", ""),
    ],
)
def test_what_is_meant_and_not_clear_is_asked_back(words, asks):
    act = hear(words, about())

    assert (act.kind, act.draft) == ("unclear", None)
    assert asks in act.asks


def test_each_step_that_may_be_meant_is_a_button_whose_words_are_understood():
    choices = hear("make it 3am", about()).choices

    assert [label for label, _ in choices] == ["step 2", "step 3"]
    assert changes(choices[1][1]) == [f"deploy: at once → {THREE}"]


def test_it_is_the_step_that_waits_for_a_time():
    waiting = prepare(hear("deploy at 2am EST", about()).draft, CATALOGUE, config(), NOW)

    assert changes("make it 3am", waiting) == [f"deploy: {TWO} → {THREE}"]
    assert changes("postpone by one hour", waiting) == [f"deploy: {TWO} → Mon 16 Nov 08:00 UTC"]


@pytest.mark.parametrize(
    "words",
    [
        "please don't skip the backup", "do not remove step 2", "not without a backup", "leave the backup in",
        "don't leave out the tests", "keep step 2, drop step 1", "drop the tests and move the deploy to 3am",
        "never mind the backup", "not before 6am", "don't deploy before 3am", "lass das Backup",
    ],
)  # fmt: skip
def test_what_shall_stay_is_not_dropped_and_what_is_half_understood_is_asked(words):
    act = hear(words, about())

    assert (act.kind, act.draft) == ("unclear", None)
    assert act.asks


@pytest.mark.parametrize("words", ["leave out the backup", "leave the backup out", "lass das Backup weg"])
def test_leaving_out_drops(words):
    assert changes(words) == NO_BACKUP


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("nope, cancel", "cancel"), ("give up", "cancel"), ("lgtm 👍", "approving"),
        ("yes, ship it!", "approving"),
        ("looks great to me", "approving"), ("undo that last change", "undo"), ("did it work?", "question"),
        ("actually, let's not", "unclear"), ("not approved", "unclear"),
        ("@dave please take a look at step 3", "talk"), ("<@U0DAVE> please use v2.1.7", "talk"),
    ],
)  # fmt: skip
def test_what_is_said_in_two_breaths_or_to_somebody_else(words, kind):
    assert hear(words, about()).kind == kind
