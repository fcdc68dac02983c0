"""Mutation testing itself: mutants are made, take the place of the right code, and the listed ones exist."""

import importlib

from bot.policy.authorize import Actor, Allowed, authorize
from storage.config import SignoffConfig
from tests.proof.mutation import WATCHED, equivalents
from tests.proof.parts.mutants import install, mutants
from tests.support.places import ROOT


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


def test_the_tests_that_must_notice_exist():
    files = {test.partition("::")[0] for tests in WATCHED.values() for test in tests}

    assert [file for file in files if not (ROOT / "tests" / file).exists()] == []
