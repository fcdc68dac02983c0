"""What a runbook's calls make of a wish: only what neither changes nor drafts may answer a question."""

import pytest

from bot.planner.language.document import world
from bot.planner.runbooks.book import parse
from storage.config import SignoffConfig
from tests.support.fakes import contract

BOOK = parse(
    "x.yml",
    """
id: look
title: Look at a thing
examples: [look at a, look at b]
asks: {verbs: [inspect]}
slots: {}
plan: {goal: Look, steps: [{id: s1, worker: ops, action: check}]}
""",
)


@pytest.mark.parametrize(
    ("facts", "changes"), [({}, False), ({"drafts": True}, True), ({"changes": True}, True)]
)
def test_what_drafts_is_no_answer_to_a_question(facts: dict[str, bool], changes: bool) -> None:
    made = contract("check", **({"changes": False} | facts))
    assert world([BOOK], SignoffConfig(), [made]).grammar.intents["look"].changes is changes
