"""Requests as people say them: what is understood, what is asked about, and what is never done."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.planner import evaluation
from bot.planner.evaluation import config, contracts, kind_of, offline
from bot.planner.language.document import Reading, world
from bot.planner.language.doubts.leftovers import RULES
from bot.planner.language.meaning import clauses
from bot.planner.language.reading import read
from bot.planner.model.wire import Asked
from bot.planner.planning import planned
from bot.planner.prepare import prepare
from bot.planner.runbooks.book import Planned
from bot.planner.validate import Catalogue
from storage.errors import SignoffError
from tests.bench.language import HOSTILE
from tests.proof.language import insertion

pytestmark = pytest.mark.language

TRAPS = Path(__file__).parents[3] / "support" / "samples" / "traps.txt"
WORLD = world(evaluation._books(), config(), contracts(), evaluation.NOW)


def traps() -> list[tuple[str, str]]:
    """(what is right, the sentence): 88 ways to lose a word that matters, some of them twice."""
    rows = [line.split("|", 1) for line in TRAPS.read_text(encoding="utf-8").splitlines()]
    return [(want, _whole(said)) for want, said in rows]


def _whole(said: str) -> str:
    once, fifty, _ = said.partition(" and × 50")
    return " and ".join([once] * 50) if fifty else said.replace("\\n", "\n")


def understood(text: str) -> Reading:
    return read(text, WORLD)


def changes(answer: object) -> bool:
    found = Catalogue(contracts())
    steps = answer.spec.steps if isinstance(answer, Planned) else ()
    return any(contract.changes for step in steps if (contract := found.find(step)))


RIGHT = {
    "ask": lambda answer: kind_of(answer) in {"ask", "pick", "refuse"},
    "no": lambda answer: not changes(answer),
    "plan": lambda answer: kind_of(answer) == "plan",
    "plan2": lambda answer: kind_of(answer) in {"plan", "ask"},
    "read": lambda answer: kind_of(answer) == "plan" and not changes(answer),
}


@pytest.mark.parametrize(("want", "said"), traps(), ids=lambda text: text[:60])
def test_no_trap_is_stepped_into(want, said):
    answer = offline(said)

    assert RIGHT[want](answer), answer


def test_what_was_not_used_is_told():
    made = understood("hi team, deploy auth-service v2.1.4 to production because login is slow, cc <@U0BOB>")

    assert [wish.runbook for wish in made.wishes] == ["deploy-service"]
    assert made.unused == ("because login is slow",)
    assert made.doubts == ()


@pytest.mark.parametrize("led", ["at full moon", "at the full moon", "on a fresh whole moon"])
def test_what_a_preposition_leads_is_asked_about_behind_small_words_too(led):
    made = understood(f"deploy auth-service v2.1.4 to production {led}")

    assert [(doubt.kind, doubt.said) for doubt in made.doubts] == [("argument", "moon")]
    assert made.unused == ()


def test_when_is_asked_once():
    answer = offline("deploy auth-service v2.1.4 to production after the big game")

    assert isinstance(answer, Asked)
    assert [field.label for field in answer.fields if not field.value] == [
        "When? I could not use “after the big game”."
    ]


def test_a_slip_in_a_verb_is_that_verb_and_noted():
    assert understood("depoly auth-service v2.1.4 to production").notes == ("Read “depoly” as deploy",)


def test_a_slip_in_a_target_of_a_change_is_asked_about():
    (doubt,) = understood("restart auth-servcie in production").doubts

    assert (doubt.kind, doubt.said, doubt.field) == ("typo", "auth-servcie", "service")


def test_several_wishes_follow_each_other():
    made = understood("run the full tests, then back up auth_prod and restart checkout in production")

    assert [wish.runbook for wish in made.wishes] == ["run-tests", "backup-database", "restart-service"]


def test_each_wish_has_its_own_time():
    made = understood("back up auth_prod now and restart checkout in production tonight at 2am")

    assert [wish.when.words if wish.when else "" for wish in made.wishes] == ["now", "tonight at 2am"]


def test_a_question_never_chooses_what_changes_anything():
    """Taken from the contracts: whatever a runbook's words are."""
    reads = {key for key, intent in WORLD.grammar.intents.items() if not intent.changes}
    asked = [
        f"{lead} {example}?"
        for lead in ("should we", "can I", "what if we", "who would", "why not")
        for book in evaluation._books()
        for example in book.examples
    ]

    assert {wish.runbook for text in asked for wish in understood(text).wishes} <= reads


def test_the_only_one_of_a_kind_is_meant_and_the_note_says_so():
    inventory = {"databases": {"auth_prod": {"environment": "production"}}}
    one = config().model_copy(update={"inventory": inventory})
    made = read("back up the database", world(evaluation._books(), one, contracts(), evaluation.NOW))

    assert made.wishes[0].values["database"].meant == "auth_prod"
    assert made.notes == ("auth_prod is the only database",)


def test_an_alias_is_the_name():
    inventory = {"services": {"auth-service": {"environment": "production", "aliases": ["login"]}}}
    known = config().model_copy(update={"inventory": inventory})
    made = read("restart login in production", world(evaluation._books(), known, contracts()))

    assert made.wishes[0].values["service"].meant == "auth-service"


def test_an_installation_adds_words_of_its_own():
    known = config().model_copy(update={"vocabulary": {"verbs": {"restart": ("defibrillate",)}}})
    made = read("defibrillate checkout in production", world(evaluation._books(), known, contracts()))

    assert [wish.runbook for wish in made.wishes] == ["restart-service"]


def test_what_hides_is_refused_before_anything_else():
    assert "cannot be seen" in understood("restart check\u200bout in production").refusal


def test_a_plan_in_a_month_that_has_a_name():
    made = offline("back up auth_prod on Nov 20 at 4am")

    assert isinstance(made, Planned)
    assert made.spec.steps[0].schedule.not_before == datetime(2026, 11, 20, 9, tzinfo=UTC)


MUST_NOT = [said for want, said in traps() if want in {"ask", "no"}]


def wrongly_planned(rules: frozenset[str]) -> int:
    """How many sentences that must not become a change do so, under these rules alone."""
    books, around = {book.id: book for book in evaluation._books()}, replace(WORLD, rules=rules)

    def made(said: str) -> Planned | None:
        try:
            found = planned(read(said, around), books, around)
            prepare(found.spec, Catalogue(contracts()), config(), evaluation.NOW)
        except SignoffError:
            return None
        return found

    return sum(changes(answer) for said in MUST_NOT if (answer := made(said)))


def test_each_guard_is_needed_and_together_they_let_nothing_through():
    """The table of ablation: wrong plans with all guards, without each of them, without any."""
    without = {rule: wrongly_planned(RULES - {rule}) for rule in ("frame", "risk")}

    assert wrongly_planned(RULES) == 0
    assert without["risk"] >= 5, without
    assert without["frame"] >= 1, without
    assert wrongly_planned(frozenset()) > max(without.values()), without


DECORATIONS = (
    "please {}", "{}, thanks!", "hey team, {}", "{} :rocket:", "<@U0BOT> {}", "OPS-12: {}", "{} cc <@U0BOB>",
    "*{}*", "could you {}?", "{} asap", "hi! {}. Have a nice day", "{} because customers wait",
)  # fmt: skip
WISHES = (
    "restart auth-service in production", "deploy checkout 3.0.2 to production", "back up auth_prod",
    "scale auth-service to 5 in production", "prune the backups of auth_prod and keep the last 7",
)  # fmt: skip


@pytest.mark.parametrize("wish", WISHES)
def test_decoration_changes_no_effect(wish):
    plain, shouted = offline(wish), offline(wish.upper())
    decorated = [offline(one.format(wish)) for one in DECORATIONS]

    assert {answer.spec.digest() for answer in (plain, *decorated) if isinstance(answer, Planned)} == {
        plain.spec.digest()  # type: ignore[union-attr] # each wish is planned
    }
    assert all(isinstance(answer, Planned) for answer in decorated), [
        one for one, answer in zip(DECORATIONS, decorated, strict=True) if not isinstance(answer, Planned)
    ]
    assert isinstance(shouted, Planned)


def test_what_is_inserted_or_stands_around_is_never_lost():
    """The short form of `python -m tests.proof.language`."""
    assert insertion.prove(120).lost == []


def test_of_a_sentence_that_is_too_long_nothing_is_planned_for_its_end_would_be_lost():
    long = f"restart checkout in production {'very ' * 400} not"

    assert "fewer words" in understood(long).refusal


def test_two_thousand_hostile_characters_are_bounded():
    """Words, clauses and what is weighed are bounded; how long it takes, the bench says."""
    for text in HOSTILE:
        assert len(understood(text[:2000]).wishes) <= clauses.MOST


@pytest.mark.parametrize(
    "said",
    [
        "check auth-prod and page carol", "list the backups of auth_prod as well as the users",
        "status of checkout and billing", "run the smoke tests, then tag the release",
        "restart checkout in production as well as the frontend", "check auth-prod; exit 1",
        "zeige nicht die Sicherungen von auth_prod", "prüfe auth-prod nicht", "check auth-prod? no thanks",
        "show the backups of auth_prod to bob", "list the backups of auth_prod with full contents",
        "run disk-usage on checkout", "curl -X POST checkout-prod", "print the following: show disk usage",
        "if you read this, check auth-prod", 'what would you answer to "check auth-prod"?',
        "#!/bin/sh\nrestart checkout in production", "restart checkout in production and so on",
    ],
)  # fmt: skip
def test_a_read_that_would_lose_words_is_asked_about(said):
    assert kind_of(offline(said)) in {"ask", "refuse"}


@pytest.mark.parametrize(
    "said",
    [
        "the backups of auth_prod are great", "auth-prod is up, thanks", "our full tests are slow",
        "we have backups of auth_prod, right", "thank you for the backups of auth_prod",
        "I was checking auth-prod when the lights went out", "I like the status page of checkout",
        "why did carol restart auth-service in production?", "can bob see the backups of auth_prod?",
        "should somebody check auth-prod?", "what does disk-usage do?", "have you ever checked auth-prod?",
    ],
)  # fmt: skip
def test_what_is_told_or_asked_of_people_reads_nothing(said):
    assert kind_of(offline(said)) in {"ask", "refuse", "pick"}


@pytest.mark.parametrize(
    "said",
    [
        "run the full tests tomorrow evening", "check auth-prod this weekend", "run the smoke tests later",
        "someone should really check auth-prod one day", "check auth-prod from time to time",
        "back up auth_prod at 3am my time", "back up auth_prod around 3am",
        "restart checkout in production since it crashed at 3am",
    ],
)  # fmt: skip
def test_a_time_that_is_vague_bound_or_of_something_else_is_asked_for(said):
    answer = offline(said)

    assert isinstance(answer, Asked)
    assert "when" in {field.name for field in answer.fields if not field.value}


def test_since_when_something_is_so_is_no_time_to_start():
    answer = offline("latency of auth-service in production doubled since noon, look into it")

    assert isinstance(answer, Planned)
    assert {step.schedule.not_before for step in answer.spec.steps} == {None}


def test_every_morning_recurs_and_its_hour_is_asked_for():
    assert kind_of(offline("check checkout-prod every morning at 6:45am")) == "recur"
    assert kind_of(offline("check checkout-prod every morning")) == "ask"


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ("back up auth_prod at 01:00 UTC on Nov 28th", datetime(2026, 11, 28, 1, tzinfo=UTC)),
        ("back up auth_prod the day after tomorrow at 5am", datetime(2026, 11, 17, 10, tzinfo=UTC)),
        ("übermorgen um 5 Uhr auth_prod sichern", datetime(2026, 11, 17, 10, tzinfo=UTC)),
    ],
)
def test_a_date_behind_its_clock_and_the_day_after_tomorrow(said, at):
    answer = offline(said)

    assert isinstance(answer, Planned)
    assert answer.spec.steps[0].schedule.not_before == at
