"""How a step is said: every chosen value, in the action's own words, and no other."""

import pytest

from storage.contract.saying import line, outcome, short, unsayable, value_words
from tests.support.fakes import contract, real_contracts, step

FIELDS = {
    "type": "object", "required": ["service"],
    "properties": {
        "service": {"type": "string"}, "version": {"type": "string", "default": ""},
        "mode": {"type": "string", "default": "soft"}, "place": {"type": "string", "default": "here"},
    },
}  # fmt: skip
SAYS = "*Deploy* {service} [{was} → ]*{version}*[, {mode:soft=gently}]"
MADE = contract(parameters=FIELDS, target="{service}@{place}", says=SAYS, leaves="{service} is {version}")


def made(**values):
    return step("s1", MADE, purpose="Run the tests", parameters={"service": "a", "version": "v2"} | values)


@pytest.mark.parametrize(
    ("values", "was", "said"),
    [
        ({}, "", "Deploy a v2, gently"),
        ({}, "v1", "Deploy a v1 → v2, gently"),
        ({"mode": "hard"}, "", "Deploy a v2, hard"),
        ({"mode": "gently"}, "", "Deploy a v2, “gently”"),
        ({"place": "here"}, "", "Deploy a v2, gently, place: here"),  # a part of what it touches
        ({"version": ""}, "", "ops: deploy, service: a, version: “”"),  # the template cannot be filled
    ],
)
def test_a_line_says_what_was_chosen(values, was, said):
    assert line(MADE, made(**values), was=was) == said


def test_without_a_template_all_parameters_are_said():
    assert line(None, made(mode="soft")) == "ops: deploy, service: a, version: v2, mode: soft"


def test_a_name_without_a_template_tells_it_from_its_thirty_brothers():
    assert short(None, made(service="web-07")) == "ops: deploy, service: web-07, version: v2"
    assert len(short(None, made(version="v" * 500))) < 100


def test_a_title_leaves_out_what_stands_in_brackets():
    assert short(MADE, made()) == "Deploy a v2"
    assert outcome(MADE, made()) == "a is v2"


def test_foreign_words_are_made_inert_and_the_templates_bold_stays():
    assert line(MADE, made(service="*x*"), show=lambda text: text.replace("*", "∗")).startswith(
        "*Deploy* ∗x∗ *v2*"
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (True, "yes"), (["a", "b"], "a, b"), ({"k": "v"}, "k: v"), ("two\nlines", "two ⏎ lines"),
        (" x", "“ x”"), ({"from": "one.path"}, "one.path (when it is known)"),
    ],
)  # fmt: skip
def test_values_are_said_for_people(value, said):
    assert value_words(value) == said


def test_a_template_is_part_of_what_people_approve_and_only_where_there_is_one():
    plain = contract(says="")

    assert "says" not in plain.model_dump()
    assert contract(says="*Go* {service}").hash() != plain.hash()
    assert contract(says="", leaves="{service} is there").hash() == plain.hash()


@pytest.mark.parametrize(
    ("says", "wrong"),
    [("*Go* {nobody}", "names nobody"), ("Go [{service}", "brackets"), ("Go {service", "braces"), (SAYS, "")],
)
def test_a_template_that_cannot_be_read_is_told(says, wrong):
    found = unsayable(contract(parameters=FIELDS, says=says))

    assert wrong in found
    assert bool(found) is bool(wrong)


def test_every_built_in_action_says_how_its_steps_read():
    assert [made.action for made in real_contracts() if not made.says or unsayable(made)] == []
