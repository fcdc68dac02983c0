"""Runbooks: what is plainly asked for becomes exactly that plan; everything else is answered in words."""

import re
from datetime import UTC, datetime

import pytest

from bot.planner import planning
from bot.planner.conversation.own_words import is_own_word
from bot.planner.evaluation import config as demo_config
from bot.planner.evaluation import offline
from bot.planner.examples import Stage, main, rehearse
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import SHIPPED, NoPlan, Planned
from bot.planner.runbooks.questions import Missing
from bot.planner.validate import Catalogue
from storage.contract.spec import PlanSpec
from storage.errors import BadConfig, SignoffError
from tests.support.fakes import NOW
from tests.support.samples.catalogue import published

BOOKS = runbooks.read([SHIPPED])
PATTERNS = r"""
id: run-suite
title: Run a suite
examples: [run the full tests on staging, please run the full tests]
never: [stop the full tests on staging, the full tests]
triggers:
  any: ['^(please )?(re)?(run|start|test)\b']
  also: ['\btests?\b']
slots:
  suite: {inventory: suites, ask: "Which suite?"}
  environment: {choices: [staging], default: staging}
plan:
  goal: Run the {suite} tests
  steps:
    - id: test
      worker: test-runner
      action: run_tests
      parameters: {test_suite: "{suite}", environment: "{environment}"}
"""
STAGE = Stage(BOOKS, Catalogue(published()), demo_config(), NOW)


def chosen(wish: str) -> str:
    return planning.plan(wish, BOOKS, demo_config(), contracts=published(), now=NOW).note


def planned(wish: str) -> PlanSpec:
    draft = planning.plan(wish, BOOKS, demo_config(), contracts=published(), now=NOW).spec
    return prepare(draft, Catalogue(published()), demo_config(), NOW)


def choice(wish: str) -> str:
    """The runbook whose plan could be proposed, or ""."""
    made = offline(wish)
    return made.runbook if isinstance(made, Planned) else ""


def answer(wish: str) -> str:
    with pytest.raises(NoPlan) as refused:
        planning.plan(wish, BOOKS, demo_config(), contracts=published(), now=NOW)
    return str(refused.value)


def test_a_dozen_runbooks_are_shipped_and_each_has_examples_for_and_against():
    assert len(BOOKS) >= 12
    assert all(len(book.examples) >= 2 and len(book.never) >= 2 for book in BOOKS)


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.id)
def test_every_example_becomes_its_own_plan_and_what_must_not_does_not(book):
    assert [trial for trial in rehearse(STAGE, [book]) if trial.wrong] == []


def test_every_example_is_a_wish_also_behind_the_slash_command():
    """`/plan list the backups of auth_prod` is not `/plan list`."""
    said = [str(example).partition(" ") for book in BOOKS for example in book.examples]

    assert [(word, rest) for word, _, rest in said if is_own_word(word.lower(), rest)] == []
    assert is_own_word("list", "")
    assert is_own_word("show", "7")


def test_the_command_prints_a_table_and_fails_on_an_example_that_does_not_hold():
    book = BOOKS[0].model_copy(update={"examples": (runbooks.Example(say="order a pizza"),)})
    text, code = main(STAGE, [book])

    assert main(STAGE)[1] == 0
    assert (code, text.splitlines()[0]) == (1, "backup-database       5 of 6 as written")
    assert "order a pizza" in text


def test_a_request_becomes_exactly_that_plan():
    spec = planned("deploy auth-service v2.1.4 to production")

    assert spec.goal == "Deploy auth-service v2.1.4 to production"
    assert [step.id for step in spec.steps] == ["test", "backup", "deploy"]
    assert spec.find("backup").parameters["database"] == "auth_prod"
    assert spec.find("deploy").parameters.items() >= {
        ("service", "auth-service"), ("version", "v2.1.4"), ("strategy", "blue_green"),
        ("environment", "production"),
    }  # fmt: skip
    assert [undo.undoes for undo in spec.rollback] == ["deploy"]


@pytest.mark.parametrize(
    "wish",
    [
        "please deploy the auth-service v2.1.4 to production",
        "Ship AUTH-SERVICE 2.1.4 to PRODUCTION",
        "roll out auth-service version v2.1.4 in production",
        "upgrade auth-service to v2.1.4 in production",
        "release v2.1.4 of auth-service to production",
    ],
)
def test_the_same_request_in_other_words_is_the_same_plan(wish):
    spec = planned(wish)

    assert spec.find("deploy").parameters["service"] == "auth-service"
    assert spec.find("deploy").parameters["version"].removeprefix("v") == "2.1.4"
    assert spec.find("deploy").schedule.not_before is None


@pytest.mark.parametrize(
    "wish",
    [
        "don't deploy auth-service v2.1.4 to production",
        "do not deploy auth-service v2.1.4 to production",
        "never back up auth_prod",
        "cancel the backup of auth_prod",
        "please nobody restart checkout in production",
    ],
)
def test_what_says_not_to_is_no_plan(wish):
    assert "says not to" in answer(wish)


@pytest.mark.parametrize(
    "wish",
    [
        "deploy auth-service v2.1.4 to production?",
        "what does deploy auth-service v2.1.4 to production do",
        "should we back up auth_prod",
        "how do I run the full tests on staging",
    ],
)
def test_a_question_is_no_plan(wish):
    assert re.match("That is a question|I can't tell that", answer(wish))


@pytest.mark.parametrize(
    "wish",
    [
        "order a pizza",
        "",
        "   ",
        "stopwatch auth-service",
    ],
)
def test_what_no_runbook_covers_is_answered_with_examples(wish):
    assert answer(wish).startswith("I have no runbook for that. Try: `/plan ")


def test_what_comes_near_is_offered_and_never_chosen():
    with pytest.raises(NoPlan) as refused:
        planning.plan("auth-service needs a fresh start in production, reboot-like", BOOKS[:1], demo_config())
    offered = runbooks.offers("make copies of the auth_prod database", BOOKS)

    assert "I have no runbook for that" in str(refused.value)
    assert "backup-database" in [offer.id for offer in offered]
    assert len(offered) <= 3


@pytest.mark.parametrize(
    ("wish", "question"),
    [
        ("deploy v2.1.4 to production", "Which service?"),
        ("deploy auth-service to production", "Which version?"),
        ("deploy auth-service v2.1.4", "Into which environment?"),
        ("deploy billing-service v2.1.4 to production", "Which service?"),
        ("back up the database", "Which database?"),
        ("run the tests on staging", "Which suite?"),
    ],
)
def test_a_missing_fact_is_asked_for(wish, question):
    assert answer(wish).startswith(question)


def test_missing_facts_are_the_fields_of_one_form_with_what_is_known_filled_in():
    with pytest.raises(Missing) as missing:
        planning.plan("deploy auth-service as a canary", BOOKS, demo_config())
    fields = {field.name: field for field in missing.value.fields}

    assert missing.value.runbook == "deploy-service"
    assert [(name, field.kind) for name, field in fields.items()] == [
        ("service", "choice"), ("version", "text"), ("environment", "choice"), ("strategy", "choice"),
    ]  # fmt: skip
    assert fields["service"].options == ("auth-service", "checkout", "backup-portal")
    assert (fields["service"].value, fields["strategy"].value) == ("auth-service", "canary")
    assert (fields["version"].value, fields["environment"].value) == ("", "")
    assert fields["environment"].options == ("production", "staging")  # where it lives is suggested first


def test_what_the_form_answers_completes_the_plan():
    given = {"version": "v2.1.4", "environment": "production"}
    made = planning.plan("deploy auth-service", BOOKS, demo_config(), given)

    assert made.spec.goal == "Deploy auth-service v2.1.4 to production"
    assert dict(made.slots)["environment"] == "production"


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.id)
def test_each_form_takes_the_answers_that_its_examples_would_give(book):
    """With nothing but the runbook's own verb, the form alone leads to the same plan."""
    for example in book.examples:
        given = {name: value for name, value in example.slots.items() if name != "when"}
        made = runbooks.fill(book, "", demo_config(), given)

        assert dict(made.slots).items() >= given.items()


@pytest.mark.parametrize("odd", ["v2.1.4 and more", "latest", "{service.image}", "", "v2.1.4 to staging"])
def test_an_answer_that_is_none_is_asked_for_again(odd):
    with pytest.raises(Missing):
        planning.plan("deploy auth-service to production", BOOKS, demo_config(), {"version": odd})


def test_a_number_stays_a_number():
    assert planned("scale auth-service to 5 in production").find("scale").parameters["replicas"] == 5


def test_a_read_that_the_inventory_has_no_name_for_is_left_out():
    steps = {
        wish: [s.id for s in planned(wish).steps]
        for wish in ("triage auth-service in prod", "triage checkout in prod")
    }

    assert [*steps.values()] == [["status", "backups", "answers"], ["status", "backups"]]


def test_a_runbook_for_which_no_worker_is_there_is_left_out():
    few = [contract for contract in published() if contract.worker in {"db-backup", "k8s-deployer"}]
    ids = [book.id for book in runbooks.usable(BOOKS, Catalogue(few).calls())]

    assert {"backup-database", "triage-service", "scale-service"} <= {*ids}
    assert not {"deploy-service", "smoke-check", "research"} & {*ids}


def test_all_missing_facts_are_asked_for_at_once():
    assert answer("deploy it").startswith(
        "Which service? Which version? Into which environment? For example: `/plan "
    )


@pytest.mark.parametrize(
    ("wish", "word"),
    [
        ("run the full tests on production", "production"),
        ("run the full tests on staging loudly", "loudly"),
        ("run the full tests on staging twice", "twice"),
        ("deploy auth-service v2.1.4 to production without a backup", "without a backup"),
        ("run no tests on staging", "no tests"),
        ("deploy auth-service v2.1.4 to production quietly", "quietly"),
        ("deploy auth-service v2.1.4 to production and staging", "staging"),
        ("deploy auth-service v2.1.4 to production skipping tests", "skipping"),
        ("deploy auth-service v2.1.4 v2.1.5 to production", "v2.1.5"),
        ("deploy auth-service v2.1.4 to production unless it is Friday", "unless"),
        ("back up auth_prod twice", "twice"),
        ("back up auth_prod and drop it", "drop"),
        ("roll back auth-service to v2.1.3 in production only the frontend", "only"),
    ],
)
def test_nothing_that_was_said_is_dropped_silently(wish, word):
    with pytest.raises(SignoffError, match=word):
        planned(wish)


@pytest.mark.parametrize(
    "wish",
    ["run the full integration tests on staging", "start all but the slow full tests on staging"],
)
def test_nothing_between_the_words_of_a_trigger_is_dropped_silently(wish):
    with pytest.raises(SignoffError):
        planned(wish)


@pytest.mark.parametrize(
    "wish",
    [
        "deploy auth-service v2.1.4 to production tonight at 2am EST",
        "tonight at 2am EST deploy auth-service v2.1.4 to production",
        "deploy auth-service v2.1.4 tonight at 2am EST to production",
        "deploy auth-service v2.1.4 to production in the nightly window",
        "deploy auth-service v2.1.4 to production, tomorrow 02:00 in New York",
    ],
)
def test_a_time_lands_on_the_step_that_it_is_about(wish):
    spec = planned(wish)

    assert spec.find("deploy").schedule.not_before == datetime(2026, 11, 16, 7, 0, tzinfo=UTC)
    assert spec.find("test").schedule.not_before is None
    assert spec.find("backup").schedule.not_before is None


def test_a_time_that_is_not_clear_is_asked_about():
    with pytest.raises(SignoffError, match="India, Ireland or Israel"):
        planned("deploy auth-service v2.1.4 to production at 2am IST")


@pytest.mark.parametrize(
    ("wish", "title"),
    [
        ("roll back auth-service to v2.1.3 in production", "Roll a service back to a version"),
        ("revert auth-service to v2.1.3 in production", "Roll a service back to a version"),
        ("roll out auth-service v2.1.4 to production", "Deploy a service"),
        ("back up auth_prod", "Back up a database"),
    ],
)
def test_an_operation_is_not_mistaken_for_its_inverse(wish, title):
    assert title in chosen(wish)


@pytest.mark.parametrize(
    "wish",
    [
        "restore auth_prod from the 2am backup",
        "undo the deploy of auth-service v2.1.4 in production",
        "recover auth_prod from backup",
        "revert the release backup of auth-service v2.1.4 in production",
    ],
)
def test_what_undoes_something_is_never_planned_as_doing_it(wish):
    with pytest.raises(SignoffError):
        planned(wish)


def test_two_wishes_are_one_plan_in_which_the_second_waits_for_the_first():
    spec = planned("back up orders_prod and deploy auth-service v2.1.4 to production")

    assert [step.id for step in spec.steps] == ["backup", "test", "backup-2", "deploy"]
    assert spec.find("test").depends_on == ("backup",)


def test_a_wish_that_a_later_one_holds_anyhow_is_not_done_twice():
    spec = planned("back up auth_prod and deploy auth-service v2.1.4 to production")

    assert [step.id for step in spec.steps] == ["test", "backup", "deploy"]


# Held out: written after the triggers, to be planned rightly or not at all.
PARAPHRASES = [
    ("deploy-service", "push auth-service v2.1.4 to production"),
    ("deploy-service", "get auth-service v2.1.4 onto production"),
    ("deploy-service", "auth-service v2.1.4 to production please deploy"),
    ("deploy-service", "Release: auth-service v2.1.4 -> production"),
    ("deploy-service", "could we have auth-service v2.1.4 on production"),
    ("deploy-service", "ship v2.1.4 of the auth-service into prod tomorrow at 02:00"),
    ("deploy-service", "production deploy of auth-service v2.1.4"),
    ("deploy-service", "redeploy auth-service v2.1.4 to production"),
    ("rollback-service", "undo auth-service v2.1.4 in production"),
    ("rollback-service", "roll auth-service back to v2.1.3 in production"),
    ("rollback-service", "put auth-service v2.1.3 back on production"),
    ("rollback-service", "go back to v2.1.3 of auth-service in production"),
    ("rollback-service", "revert auth-service in production to v2.1.3"),
    ("rollback-service", "downgrade auth-service in prod to version v2.1.3"),
    ("rollback-service", "auth-service: rollback to v2.1.3, production"),
    ("rollback-service", "take back the deploy of auth-service v2.1.4 in production"),
    ("scale-service", "give auth-service 5 replicas in production"),
    ("scale-service", "scale production auth-service to 5 replicas"),
    ("scale-service", "run 5 pods of auth-service in production"),
    ("scale-service", "scale auth-service from 2 to 5 in production"),
    ("scale-service", "scale in auth-service to 2 in production"),
    ("restart-service", "give auth-service a restart in production"),
    ("restart-service", "restart the auth-service on production now"),
    ("restart-service", "kick auth-service in production"),
    ("restart-service", "start auth-service in production"),
    ("backup-database", "make a backup of auth_prod"),
    ("backup-database", "I need a backup of auth_prod"),
    ("backup-database", "snapshot auth_prod"),
    ("backup-database", "back auth_prod up"),
    ("backup-database", "auth_prod backup please"),
    ("backup-database", "save a copy of auth_prod"),
    ("restore-test", "check that the backup of auth_prod restores"),
    ("restore-test", "prove a backup of auth_prod can be restored"),
    ("restore-test", "restore-test auth_prod"),
    ("", "restore auth_prod"),
    ("", "restore auth_prod from backup"),
    ("", "restore the backup of auth_prod"),
    ("", "recover the auth_prod database"),
    ("", "bring auth_prod back from last night's backup"),
    ("", "load the dump of auth_prod"),
    ("", "roll auth_prod back to the backup of 2am"),
    ("", "restore the backup into auth_prod tonight at 2am EST"),
    ("", "use the backup to restore auth_prod"),
    ("", "undo the backup of auth_prod"),
    ("", "delete the backup of auth_prod"),
    ("", "move the backup of auth_prod to staging"),
    ("", "stop auth-service in production"),
    ("", "shut auth-service down in production"),
    ("", "scale auth-service up in production"),
    ("", "unscale auth-service in production"),
    ("", "do the opposite of deploy auth-service v2.1.4 to production"),
    ("", "deploy auth-service v2.1.4 to production and then roll it back"),
    ("", "deploy or roll back auth-service to v2.1.3 in production"),
    ("", "restart auth-service in production and undo that"),
    ("", "prevent the restart of auth-service in production"),
    ("", "delay the deploy of auth-service v2.1.4 to production"),
    ("", "postpone the restart of auth-service in production"),
    ("", "pause before you restart auth-service in production"),
    ("", "ann said to restart auth-service in production"),
    ("", "remind me to restart auth-service in production"),
    ("", "restart auth-service in production was a mistake"),
    ("", "the restart of auth-service in production failed"),
    ("", "somebody must have restarted auth-service in production"),
    ("list-backups", "list all backups of auth_prod"),
    ("list-backups", "show backups for auth_prod"),
    ("prune-backups", "clean up the backups of auth_prod and keep the last 3"),
    ("", "clean up auth_prod"),
    ("", "prune auth_prod and keep the last 3"),
    ("migrate-database", "migrate the database auth_prod with migrate-auth"),
    ("migrate-database", "apply migrate-auth to auth_prod"),
    ("", "reverse migrate-auth on auth_prod"),
    ("", "migrate auth_prod back with migrate-auth"),
    ("run-tests", "run full tests"),
    ("run-tests", "test staging with the full suite"),
    ("", "delete the full tests on staging"),
    ("triage-service", "diagnose the trouble with auth-service in production"),
    ("smoke-check", "please check auth-prod is up"),
    ("wait-for-endpoint", "wait for auth-prod"),
    ("service-status", "report the state of checkout in production"),
    ("research", "research what changed in metrics"),
]


@pytest.mark.parametrize(("book", "wish"), PARAPHRASES)
def test_other_words_are_planned_rightly_or_not_at_all(book, wish):
    assert choice(wish) in {book, ""}


def test_most_paraphrases_of_what_there_is_are_understood():
    known = [(book, wish) for book, wish in PARAPHRASES if book]

    assert sum(choice(wish) == book for book, wish in known) >= 0.6 * len(known)


def test_no_prefix_turns_an_example_into_its_opposite():
    """What says not to, asks, reports or quotes never becomes a plan."""
    before = [
        "don't", "do not", "never", "please don’t", "should we", "why did you", "nobody shall", "if needed",
        "we did", "ann wants to know whether to", "pretend to", "undo:", "the opposite of:", "avoid to",
    ]  # fmt: skip
    wrong = [f"{words} {example}" for words in before for book in BOOKS for example in book.examples]

    assert [wish for wish in wrong if choice(wish) not in {"", "research"}] == []


def test_a_name_that_sounds_like_an_operation_is_only_a_name():
    assert choice("restart backup-portal in production") == "restart-service"
    assert choice("deploy backup-portal v1.2 to production") == "deploy-service"


def test_a_runbook_with_patterns_is_still_read():
    book = runbooks.parse("mine.yml", PATTERNS)

    assert planning.plan("run the smoke tests", [book], demo_config()).runbook == "run-suite"
    assert [
        trial for trial in rehearse(Stage([book], Catalogue(published()), demo_config(), NOW)) if trial.wrong
    ] == []


def test_a_trigger_that_would_swallow_words_is_refused():
    with pytest.raises(BadConfig, match="would swallow words"):
        runbooks.parse("mine.yml", PATTERNS.replace(r"\btests?\b", r"the .* tests"))


def test_a_value_may_not_bring_slots_of_its_own():
    with pytest.raises(SignoffError, match=r"service\.image"):
        planned("deploy auth-service v2.1.4 to production {service.image}")


def test_a_service_without_a_database_is_named():
    inventory = {"services": {"lonely": {"environment": "production"}}}
    config = demo_config().model_copy(update={"inventory": inventory})

    with pytest.raises(NoPlan, match="The inventory says no “database” for this service"):
        planning.plan("deploy lonely v1.0 to production", BOOKS, config)


@pytest.mark.parametrize("content", ["id: x", "- 1", "id: [", "{id: x, sudo: true}", "\x00"])
def test_a_broken_runbook_is_named(tmp_path, content):
    (tmp_path / "mine.yml").write_text(content)

    with pytest.raises(BadConfig, match=r"mine\.yml"):
        runbooks.read([tmp_path])


def test_a_runbook_that_says_something_twice_is_named(tmp_path):
    text = (SHIPPED / "run-tests.yml").read_text()
    (tmp_path / "mine.yml").write_text(f"{text}\nid: another\n")

    with pytest.raises(BadConfig, match=r"mine\.yml cannot be used: “id” is given twice"):
        runbooks.read([tmp_path])


def test_a_pattern_that_is_none_is_named_when_it_is_read(tmp_path):
    text = PATTERNS.replace(r"'\btests?\b'", "'('")
    (tmp_path / "mine.yml").write_text(text)

    with pytest.raises(BadConfig, match=r"mine\.yml"):
        runbooks.read([tmp_path])
