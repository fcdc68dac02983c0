"""Mutation testing itself: mutants are made, take the place of the right code, and the listed ones exist."""

import importlib

from bot.policy.authorize import Actor, Allowed, authorize
from storage.config import SignoffConfig
from storage.steps import due
from storage.steps import turn as taking_turns
from tests.proof.fleet import mutants as fleet
from tests.proof.mutation import WATCHED, equivalents
from tests.proof.parts.mutants import Mutant, install, mutants
from tests.support.places import ROOT, elsewhere
from workers.base import Preview
from workers.engine.attempt import Attempts, Moved
from workers.registry import Registry


def test_what_is_listed_as_equivalent_is_a_mutant_and_none_is_of_the_door():
    made = [mutant for module in WATCHED if importlib.import_module(module) for mutant in mutants(module)]

    assert len(made) == len({mutant.name for mutant in made}) > 600
    assert equivalents() - {mutant.name for mutant in made} == set()
    assert [name for name in equivalents() if name.startswith("bot.policy.authorize:authorize:")] == []


def test_a_mutant_takes_the_place_of_a_function_that_others_have_imported():
    right, barred = authorize.__code__, Actor("T1", "EVE", barred="Guests may not.")
    wrong = next(
        m for m in mutants("bot.policy.authorize") if m.owner == "authorize" and "not actor.barred" in m.name
    )
    try:
        install(wrong)
        assert authorize(barred, "request", None, SignoffConfig()) == Allowed()
    finally:
        authorize.__code__ = right
    assert authorize(barred, "request", None, SignoffConfig()) != Allowed()


def found(module: str, owner: str, words: str) -> Mutant:
    return next(m for m in mutants(module) if m.owner == owner and words in m.name)


def test_a_mutant_of_a_method_takes_its_place_whatever_decorates_it_and_whatever_it_calls():
    engine = "workers.engine.attempt"

    def without_a_part() -> bool:
        install(found(engine, "Moved.__init__", "without 'basis'"))
        return Moved(Preview("now")).report.data == {}

    def without_its_base() -> bool:
        install(found(engine, "Moved.__init__", "pass"))
        return str(Moved(Preview("now"))) != Moved(Preview("now")).report.summary

    def remembered() -> bool:
        install(found(engine, "Attempts.taker", "return None"))
        attempts = object.__new__(Attempts)
        vars(attempts)["registry"], vars(attempts)["owner"] = Registry([]), "w1"
        return attempts.taker is None

    assert [elsewhere(check) for check in (without_a_part, without_its_base, remembered)] == [True] * 3


def test_what_a_module_builds_by_its_own_functions_is_built_anew():
    before = due.DUE

    def rebuilt() -> bool:
        install(found("storage.steps.due", "", "col(Approval.digest) == DIGEST"))
        return due.DUE is not before and taking_turns.DUE is due.DUE

    assert elsewhere(rebuilt)


def test_a_dictionary_that_takes_in_another_one_has_mutants_without_either():
    made = [m.name for m in mutants("storage.plans.permits")]

    assert any(name.endswith("without checked") for name in made)


def test_the_tests_that_must_notice_exist():
    files = {test.partition("::")[0] for tests in WATCHED.values() for test in tests}

    assert [file for file in files if not (ROOT / "tests" / file).exists()] == []


def test_each_mutant_of_the_fleet_has_its_one_place():
    assert [one.what for one in fleet.MUTANTS if fleet.places(one) != 1] == []
