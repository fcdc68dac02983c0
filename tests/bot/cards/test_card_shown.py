"""Shown is approved: whatever the plan, an Approve stands beside everything that it would do.

Only what no Slack folds counts: the text of sections and contexts, and the text alone.
"""

import html
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.cards.card import PLAINER, card
from bot.cards.decision_form import decision_form
from bot.cards.face.long_plan import in_full
from bot.local.schema.limits import UPDATE_TEXT, check_message
from storage.config import local
from storage.contract.capability import Contract
from storage.contract.grouping import lengthy
from storage.contract.saying import value_words
from storage.reading.plan_view import PlanView, StepView
from storage.steps.previews import Brief
from tests.support.fakes import DEPLOY, NOW, ask, contract, plan_spec, step, terms, undo
from tests.support.samples.cards import buttons, plan_view
from tests.support.store import Store

FIELDS = {
    "type": "object", "required": ["host"],
    "properties": {
        "host": {"type": "string"}, "version": {"type": "string", "default": ""},
        "mode": {"type": "string", "default": "soft"}, "dry": {"type": "boolean", "default": False},
        "count": {"type": "integer", "default": 3}, "tags": {"type": "array", "default": []},
    },
}  # fmt: skip
PATCH, DRAIN = "*Patch* {host} [{was} → ]*{version}*", "*Drain* {host}[, {mode:soft=gently}]"
KINDS = {
    "patch": contract("patch", parameters=FIELDS, target="host:{host}", says=PATCH),
    "drain": contract("drain", parameters=FIELDS, target="{host}:{mode}", says=DRAIN),
    "wipe": contract("wipe", parameters=FIELDS, target="host:{host}", says=""),
    "tell": contract("tell", parameters=FIELDS, target="", says="*Tell* {nobody}"),
    "look": contract("look", parameters=FIELDS, changes=False, says="*Look at* {host}"),
}  # fmt: skip
OUTCOMES = {"ask": "asks a person", "abort": "nothing else runs", "rollback": "rolls back",
            "continue": "goes on without it"}  # fmt: skip
words = st.text("abcXYZ019_-.:/ *<>&`~äß", min_size=1, max_size=12).filter(str.strip)
hosts = st.one_of(st.integers(1, 120).map(lambda n: f"web-{n:02}"), st.sampled_from("abc"), words)
values = st.fixed_dictionaries(
    {"host": hosts},
    optional={
        "version": words, "mode": st.sampled_from(["soft", "hard"]), "dry": st.booleans(),
        "count": st.integers(0, 9), "tags": st.lists(words, max_size=3),
    },
)  # fmt: skip
moments = st.sampled_from([None, NOW + timedelta(hours=3), NOW + timedelta(days=20)])


@st.composite
def plans(draw: Any) -> PlanView:
    """Plans as planners make them: alike or not, in a row or together, timed or not."""
    count = draw(st.sampled_from([1, 2, 3, 8, 15, 16, 30, 60, 200]))
    alike = draw(st.booleans())
    kinds, base = draw(st.lists(st.sampled_from([*KINDS]), min_size=1, max_size=4)), draw(values)
    chained, ways = draw(st.booleans()), draw(st.lists(st.sampled_from([*OUTCOMES]), min_size=1, max_size=3))
    steps: list[StepView] = []
    for number in range(count):
        kind = kinds[0] if alike else kinds[number % len(kinds)]
        chosen = base | {"host": f"web-{number:02}"} if alike else draw(values)
        when = {"not_before": draw(moments), "zone": draw(st.sampled_from(["UTC", "America/New_York"]))}
        after = (steps[-1].spec.id,) if chained and steps else ()
        spec = step(f"s{number}", KINDS[kind], parameters=chosen, depends_on=after,
                    failure_action=ways[number % len(ways)], schedule={} if alike else when)  # fmt: skip
        steps.append(StepView(spec, was=draw(st.sampled_from(["", "v1"])), found=("fine",)))
    people = tuple(f"U{n:03}" for n in range(draw(st.sampled_from([1, 3, 150]))))
    view = plan_view(*steps, approvers=people, authors=("UANN",), goal="a lie")
    undos = (undo("u0", "s0", KINDS["patch"], parameters=base),) if draw(st.booleans()) else ()
    spec = view.spec.model_copy(update={"rollback": undos})
    known = {(made.worker, made.action): made for made in KINDS.values()}
    long = lengthy(spec, lambda one: known.get((one.worker, one.action)), people)
    return replace(view, spec=spec, contracts=known, lengthy=long)


def read(blocks: list[dict[str, Any]]) -> str:
    """What stands in the open, as people read it."""
    texts = [block["text"]["text"] for block in blocks if block["type"] == "section"]
    texts += [one["text"] for block in blocks if block["type"] == "context" for one in block["elements"]]
    return unmarked("\n".join(texts))


def unmarked(text: str) -> str:
    return html.unescape(re.sub(r"[*`~]", "", text))


def as_shown(value: Any) -> str:
    """A value with what is not ours to mark with."""
    return value_words(value).replace("`", "ˋ").replace("*", "∗").replace("~", "∼")


def expanded(text: str) -> str:
    """The text with every range spelt out."""

    def spell(found: re.Match[str]) -> str:
        head, first, last, many = found[1], found[2], found[3], int(found[4])
        names = [f"{head}{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
        assert len(names) == many
        return ", ".join(names)

    return re.sub(r"([\w-]*?)(\d+) … \1(\d+) \((\d+)\)", spell, text)


def chosen(found: StepView, known: Contract) -> dict[str, Any]:
    """The values that are not the action's own."""
    properties = known.parameters["properties"]
    given = found.spec.parameters.items()
    return {name: value for name, value in given if properties[name].get("default") != value}


def missing(view: PlanView, text: str) -> list[str]:
    """What an approver would not have read."""
    lost = [user for user in view.approvers if f"<@{user}>" not in text]
    for number, found in enumerate(view.steps, 1):
        known = view.contracts["ops", found.spec.action]
        told = {name: as_shown(value) for name, value in chosen(found, known).items()}
        told |= {"failure": OUTCOMES[found.spec.failure_action], "time": timed(found)}
        if view.spec.rollback and found.spec.failure_action == "rollback":
            told["failure"] = "Patch" if view.spec.rollback[0].parameters.get("version") else "ops: patch"
        lost += [f"{number} {name}" for name, words in told.items() if words not in text]
    return lost


def timed(found: StepView) -> str:
    when = found.spec.schedule
    return f"{local(when.not_before, when.zone):%H:%M}" if when.not_before else ""


@settings(max_examples=150)
@given(view=plans(), plainness=st.sampled_from([0, PLAINER]))
def test_whoever_can_approve_has_everything_before_their_eyes(view: PlanView, plainness: int) -> None:
    text, blocks = card(view, NOW, plainness=plainness)
    check_message(text, blocks, most_text=UPDATE_TEXT)
    assert len(text) <= 3000
    assert "a lie" not in text + str(blocks)
    if "approve" in buttons(blocks):
        assert not view.lengthy
        assert missing(view, expanded(read(blocks))) == []
        assert missing(view, expanded(unmarked(text))) == []
        assert all(as_shown(undo.parameters["host"]) in read(blocks) for undo in view.spec.rollback)
    else:
        assert f"of {len(view.steps)} steps" in text


@settings(max_examples=40)
@given(view=plans())
def test_a_file_that_slack_has_taken_has_everything_and_brings_the_approve(view: PlanView) -> None:
    long = replace(view, lengthy=True, filed=True)
    whole = in_full(long)

    assert "approve" in buttons(card(long, NOW)[1])
    for number, found in enumerate(long.steps, 1):
        assert f"\n{number}. " in whole
        assert all(value_words(value) in whole for value in found.spec.parameters.values())
    assert all(user in whole for user in long.approvers)


@given(view=plans())
@settings(max_examples=40)
def test_a_short_plan_is_approved_on_its_card(view: PlanView) -> None:
    few = len(view.steps) <= 3 and len(view.approvers) <= 3

    assert not few or "approve" in buttons(card(view, NOW)[1])


def test_no_words_of_a_worker_or_a_planner_begin_a_line_of_their_own(lite: Store) -> None:
    fake = "fine\n2.  Look at b · on approval\nIf it fails: goes on without it"
    known = DEPLOY.model_copy(update={"preview": True, "says": "*Deploy* {service} [{was} → ]now"})
    plan_id = ask(lite)
    lite.publish([known])
    spec = plan_spec(step("s1", known, purpose=fake, failure_action="ask"))
    lite.propose(plan_id, spec, terms(), author="planner", notes=[f"not used: {fake}"])
    (wanted,) = lite.previews_wanted([("ops", "deploy")])
    lite.show(wanted, fake, "b", actor="w1", brief=Brief((f"!{fake}", fake), fake))
    view = lite.view(plan_id)

    for blocks in (card(view, NOW)[1], decision_form(view, "C1", NOW)["blocks"]):
        lines = [line for text in read(blocks).split("\n") for line in [text.strip()]]
        assert not [line for line in lines if line.startswith(("2.", "If it fails: goes on"))]
        assert any("Look at b" in line for line in lines)
