"""The script of the voice, as one table: (door, state, words) → (act, target, values, what is asked). Pure.

The numbers are those of the script. Where it differs from the cases or from the notes on language, those are
right: 11, 18 and 53 ask, 38 and 40 are planned, 59 is a change that people approve anew.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.cards.phrases import differences
from bot.planner import evaluation
from bot.planner.conversation.hearing import hear
from bot.planner.conversation.own_words import label, opening
from bot.planner.conversation.standing import BECOMES, becomes, phase
from bot.planner.edits.pointing import EditContext
from bot.planner.evaluation import NOW, config, contracts, kind_of, offline
from bot.planner.language.document import world
from bot.planner.language.reading import read
from bot.planner.model.wire import Asked
from bot.planner.planning import plan
from bot.planner.prepare import prepare
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState

pytestmark = pytest.mark.language
CATALOGUE = Catalogue(contracts())
SLOTS = {"service": "auth-service", "version": "v2.1.4", "environment": "production", "when": "now"}
BOOK = next(book for book in evaluation._books() if book.id == "deploy-service")
PLAN = prepare(runbooks.fill(BOOK, " ", config(), SLOTS).spec, CATALOGUE, config(), NOW)
WORLD = world(evaluation._books(), config(), contracts(), NOW)
STATES = {"": PlanState.proposed, "running": PlanState.approved, "failed": PlanState.stalled,
          "done": PlanState.done}  # fmt: skip
TABLE = Path(__file__).parents[3] / "support" / "samples" / "voice.txt"
ROWS = [
    [cell.strip() for cell in line.split("|")]
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def said(door: str, state: str, words: str) -> tuple[str, str, str, str]:
    """What the pure parts make of it."""
    if door.endswith("T"):
        return in_thread(words, STATES[state])
    opened = opening(words)
    if opened.kind == "wish":
        return wished(words)
    asked = label(opened.word, opened.rest) if opened.kind == "slip" else ""
    return opened.kind, opened.word, opened.rest, asked


def in_thread(words: str, state: PlanState) -> tuple[str, str, str, str]:
    act = hear(words, EditContext(PLAN, CATALOGUE, config(), NOW, planned))
    changed = differences(PLAN, prepare(act.draft, CATALOGUE, config(), NOW)) if act.draft else []
    asked = " ".join([act.asks, *(f"[{one}]" for one, _ in act.choices)])
    step = " ".join(dict.fromkeys(line.partition(":")[0] for line in changed))
    return becomes(act.kind, state), act.topic or step, " · ".join(changed), asked


def planned(wish: str) -> PlanSpec:
    return plan(wish, evaluation._books(), config(), contracts=contracts(), now=NOW).spec


def wished(words: str) -> tuple[str, str, str, str]:
    answer, reading = offline(words), read(words, WORLD)
    kind = kind_of(answer)
    if kind == "refuse":
        return kind, "", "", ""
    values = [facts(wish.values) + (f" when={wish.when.words}" if wish.when and not reading.every else "")
              for wish in reading.wishes]  # fmt: skip
    open_ = [field.name.rstrip("0123456789") for field in answer.fields if not field.value] \
        if isinstance(answer, Asked) else []  # fmt: skip
    target = " ".join(wish.runbook for wish in reading.wishes)
    return kind, target, values[0].strip() if len(values) == 1 else "", " ".join(open_)


def facts(values: Mapping[str, object]) -> str:
    return " ".join(f"{name}={value.meant}" for name, value in sorted(values.items()))  # type: ignore[attr-defined]


@pytest.mark.parametrize(("number", "door", "state", "words", "act", "target", "values", "asked"), ROWS)
def test_the_script_of_the_voice(number, door, state, words, act, target, values, asked):
    made = said(door, state, words)

    assert made[0] == act
    if door.endswith("T"):
        assert target in made[1].split() or target == made[1] == ""
        assert values in made[2]
        assert all(part in made[3] for part in asked.partition(" [")[::2])
    else:
        assert made[1:] == (target, values, asked)


def test_every_row_of_the_script_that_words_decide_is_here():
    """48, 69 and 79 depend on who speaks, and 80 on how often: the surfaces show them."""
    assert {int(row[0]) for row in ROWS} == {*range(1, 80)}


def test_every_act_becomes_something_however_a_plan_stands_and_none_approves():
    phases = {phase(state) for state in PlanState}

    assert all(row.keys() == phases for row in BECOMES.values())
    assert not any("approve" in deed for row in BECOMES.values() for deed in row.values())
