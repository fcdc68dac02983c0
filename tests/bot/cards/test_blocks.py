"""Every function that draws for people is listed here and given the worst words: a new one must be, too."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bot import cards
from bot.cards.blocks import escape
from bot.cards.card import PLAINER, body, card, editing
from bot.cards.clarify_form import choices as offered
from bot.cards.clarify_form import clarify_form, questions
from bot.cards.decision_form import decision_form
from bot.cards.details import details_form, differences, facts, step_blocks
from bot.cards.edit_form import edit_form, step_form
from bot.cards.escalation import answers, choices, guide_form, takeover_form, update_button, updating
from bot.cards.face.buttons import buttons
from bot.cards.face.lines import failing, step_lines
from bot.cards.face.long_plan import instead
from bot.cards.forms import code_form, glass_form, move_form, reject_form
from bot.cards.read_answer import read_answer
from bot.cards.save_form import save_button, save_form
from bot.cards.summary import summary
from bot.planner.runbooks.questions import Field, Form
from bot.planner.validate import Catalogue
from storage.reading.plan_view import PlanView
from tests.support.fakes import DEPLOY, NOW
from tests.support.samples.cards import EVIL, harmless, hostile, markup, strings


def _as_markup(texts: list[str]) -> list[dict[str, str]]:
    return [{"type": "mrkdwn", "text": text} for text in texts]


FORM = Form(why=EVIL, fields=(Field(name="q1", label=EVIL[:90], kind="text"),), runbook="")
DRAWN: dict[Callable[..., Any], Callable[[PlanView], Any]] = {
    card: lambda view: [*card(view, NOW)[1], *card(view, NOW, plainness=PLAINER)[1]],
    body: lambda view: _as_markup(body(view, NOW, site="https://ours.example/")),
    buttons: lambda view: buttons(view, approvable=True),
    details_form: lambda view: details_form(view, NOW),
    differences: differences,
    step_blocks: step_blocks,
    facts: lambda view: _as_markup(facts(view)),
    step_lines: lambda view: _as_markup(step_lines(view, NOW)),
    failing: lambda view: _as_markup(failing(view)),
    editing: editing,
    edit_form: lambda view: edit_form(view, view.spec, Catalogue([DEPLOY])),
    takeover_form: lambda view: takeover_form(view, view.steps[0], DEPLOY),
    guide_form: lambda view: guide_form(view, view.steps[0]),
    answers: lambda view: answers(view, view.steps[0], choices(view.steps[0], True)),
    update_button: update_button,
    updating: updating,
    questions: lambda view: questions(view, FORM),
    clarify_form: lambda view: clarify_form(view, FORM),
    offered: lambda view: offered(view, [(view.text, view.text)]),
    save_form: save_form,
    save_button: save_button,
    code_form: code_form,
    reject_form: reject_form,
    move_form: lambda view: move_form(view, "s1", view.text, view.text, {"1": view.text}),
    glass_form: glass_form,
    instead: lambda view: _as_markup([instead(view, NOW)]),
    summary: lambda view: summary(view, None),
    read_answer: lambda view: read_answer(view)[1],
    step_form: lambda view: step_form(view, view.spec, Catalogue([]), 0, {}),
    decision_form: lambda view: decision_form(view, "D1", NOW),
}


def drawing() -> set[str]:
    """Public functions of bot.cards that draw blocks of a plan; what threads show is tested in test_card."""
    found = set()
    for info in pkgutil.walk_packages(cards.__path__, "bot.cards."):
        for name, made in inspect.getmembers(importlib.import_module(info.name), inspect.isfunction):
            signature = inspect.signature(made)
            takes = [p.annotation for p in signature.parameters.values()][:1] == [PlanView]
            blocks = "str, typing.Any]" in str(signature.return_annotation)
            if made.__module__ == info.name and not name.startswith("_") and takes and blocks:
                found.add(name)
    return found - {"saved", "asking"}


def shown(blocks: Any) -> Any:
    """Without what stands in a field to be edited: that is the value itself, and goes back as it is."""
    if isinstance(blocks, dict):
        return {key: shown(value) for key, value in blocks.items() if key != "initial_value"}
    return [shown(value) for value in blocks] if isinstance(blocks, list) else blocks


def test_every_renderer_is_listed():
    assert drawing() - {made.__name__ for made in DRAWN} == set()
    assert len(drawing()) > 12


@pytest.mark.hostile
@pytest.mark.parametrize("made", DRAWN, ids=lambda made: made.__name__)
def test_no_renderer_lets_foreign_words_act(made):
    view = replace(hostile(EVIL), digest="d" * 64)
    blocks = DRAWN[made](view)

    assert all(harmless(found.replace("<https://ours.example/", "")) for found in markup(blocks))
    assert not any("\u202e" in text or "\u200b" in text for text in strings(shown(blocks)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!channel>", "&lt;!channel&gt;"),
        ("&lt;", "&amp;lt;"),
        ("a\u202eb\u200bc\x1bd\x00e", "abcde"),
        ("two\nlines", "two\nlines"),
        ("*a* `b` ~c~", "∗a∗ ˋbˋ ∼c∼"),
        ("naïve 日本 🙂", "naïve 日本 🙂"),
    ],
)
def test_foreign_words_are_made_inert(text, expected):
    assert escape(text) == expected
