"""The forms, answers and long plans as people meet them: over real Socket Mode, in one world with a model."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from bot.local.client.text import readable
from bot.policy.totp import DIGITS, PERIOD, Safe, new_key
from storage.clock import jump
from storage.reading.plan_view import PlanView
from tests.support.fake_model import KEY, FakeModel, Reply, fails, says
from tests.support.world import WITNESS, World, witnessed

SEAL, SECRET = new_key(), b"12345678901234567890"
EMPTY = {"assumptions": [], "questions": [], "reason": "", "continues": False}
RULES = """
[[policy.rules]]
name = "precious notes"
reason = "they cannot be unwritten"
when = { worker = "witness", action = "note_once" }
require = { approvals = 2 }

[[policy.rules]]
name = "sealed notes"
reason = "everybody reads them"
when = { worker = "witness", action = "note_probed" }
require = { second_factor = true }
"""


def called(action: str, key: str, *after: str, **more: Any) -> dict[str, Any]:
    step = {
        "id": key,
        "worker": "witness",
        "action": action,
        "purpose": f"Note {key}",
        "depends_on": [*after],
    }
    return step | {"parameters": {"name": key}} | more


def undoing(key: str) -> dict[str, Any]:
    return {
        name: value
        for name, value in called("note_safely", f"undo-{key}", undoes=key).items()
        if name != "depends_on"
    }


def verse(n: int) -> dict[str, Any]:
    """One after the other, and so named that no line can say all of them."""
    after = [f"verse-{n - 1}"] if n > 1 else []
    return called("note_safely", f"verse-{n}", *after, parameters={"name": f"verse-{n * n}-of-a-poem"})


BOOKS: dict[str, dict[str, Any]] = {
    "lean": {"steps": [called("stumble", "first"), called("note_safely", "last", "first")]},
    "tumble": {
        "steps": [called("note_safely", "one"), called("stumble", "two", "one")],
        "rollback": [undoing("one")],
    },
    "scribble": {"steps": [called("note_safely", key) for key in ("a", "b", "c")]},
    "engrave": {"steps": [called("note_once", "stone")]},
    "seal": {"steps": [called("note_probed", "wax")]},
    "recite": {"steps": [verse(n) for n in range(1, 121)]},
}


def runbook(name: str) -> dict[str, Any]:
    plan = {"goal": f"{name.title()} it all"} | BOOKS[name]
    return {
        "id": name,
        "title": name,
        "examples": [name],
        "triggers": {"any": [f"^{name}$"]},
        "slots": {},
        "plan": plan,
    }


def answering(body: dict[str, Any]) -> Reply:
    """A model that plans nothing, knows how to go on when it is told, and edits the plan that it is shown."""
    asked = body["messages"][0]["content"]
    if "<state>" in asked:
        state = json.loads(asked.partition("<state>\n")[2].partition("\n</state>")[0])
        verb = "retry" if state["guidance"] and "retry" in state["may_answer"] else "ask"
        step = next(one["id"] for one in state["steps"] if one["state"] == "failed")
        return says(
            json.dumps({"verb": verb, "step": step, "reason": "As you said.", "steps": [], "drop": []})
        )
    if "<plan>" in asked:
        plan = json.loads(asked.partition("<plan>\n")[2].partition("\n</plan>")[0])
        plan["steps"] = plan["steps"][:1]
        return says(json.dumps({"kind": "plan"} | EMPTY | plan))
    return fails(400)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for all stories: each looks at its own, newest plan."""
    home = tmp_path_factory.mktemp("stories")
    shelf = home / "stories"
    shelf.mkdir()
    for name in BOOKS:
        (shelf / f"{name}.yml").write_text(yaml.safe_dump(runbook(name)))

    def config(text: str) -> str:
        return witnessed(text).replace("runbooks = [", f'runbooks = ["{shelf}", ') + RULES

    with FakeModel(answering) as model:
        found = World(home, config=config)
        found.use({"PYTHONPATH": str(WITNESS), "WITNESS_PLACE": str(home), "SIGNOFF_FACTOR_KEY": SEAL})
        found.use({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": model.url})
        with found:
            yield found


@pytest.fixture
def healed(world: World) -> Iterator[Path]:
    yield world.home / "healed"
    (world.home / "healed").unlink(missing_ok=True)


def proposed(world: World, wish: str) -> PlanView:
    before = len(world.store.recent(100))
    world.asks(f"/plan {wish}")
    world.until(lambda plan: plan.id > before and plan.state == "proposed", "a proposal")
    return world.until(lambda plan: plan.card, "its card")


def stumbled(world: World, wish: str) -> PlanView:
    """A plan that has failed, and asks."""
    plan = proposed(world, wish)
    world.bob.clicks("approve", message=plan.card)
    world.until(lambda view: view.state == "stalled" and not view.looking, "the question")
    return world.plan()


def ended(world: World) -> str:
    return world.until(lambda plan: plan.state == "done", "the end").outcome


def test_a_person_takes_a_failed_step_over_and_the_plan_goes_on(world: World) -> None:
    stumbled(world, "lean")
    world.ann.clicks("answer_take_over")
    world.ann.sees("You may not take over a step of this plan. Those who may: <@U0BOB> or <@U0CAROL>.")
    world.bob.clicks("answer_take_over")
    assert "text" in world.bob.fills({"text": ""}).errors
    world.bob.fills({"text": "I wrote the note with a pencil."})

    assert ended(world) == "succeeded"
    world.ann.sees("<@U0BOB> chose *I Did It*: “I wrote the note with a pencil.”")


def test_a_person_tells_the_planner_how_it_goes_on(world: World, healed: Path) -> None:
    stumbled(world, "lean")
    world.ann.clicks("answer_guide")
    healed.touch()
    world.ann.fills({"text": "It is healed; try it once more."})

    assert ended(world) == "succeeded"
    world.ann.sees("<@U0ANN> chose *Tell It How*: “It is healed; try it once more.”")


def test_the_card_tells_how_far_a_long_step_is(world: World) -> None:
    hold = world.home / "hold-before-a"
    hold.touch()
    plan = proposed(world, "scribble")
    world.bob.clicks("approve", message=plan.card)
    world.ann.sees("1 of 2 lines written, before the effect")
    hold.unlink()

    assert ended(world) == "succeeded"


def test_skipping_what_a_later_change_relies_on_asks_for_approval(world: World) -> None:
    plan = stumbled(world, "lean")
    world.bob.clicks("answer_skip")
    again = world.until(lambda view: view.revision == 2 and view.state == "proposed", "the revision")
    world.bob.clicks("approve", message=plan.card)
    world.bob.sees("somebody else must approve it: <@U0CAROL>")
    world.carol.clicks("approve", message=plan.card)

    assert again.changes[0] == "first: removed"
    assert ended(world) == "succeeded"


def test_a_person_rolls_back_what_was_done(world: World) -> None:
    stumbled(world, "tumble")
    world.ann.clicks("answer_rollback")

    assert ended(world) == "rolled_back"
    assert "effect undo-one" in (world.home / "lines").read_text()


def test_the_edit_form_removes_moves_adds_and_says_what_changed_meanwhile(world: World) -> None:
    plan = proposed(world, "scribble")
    world.carol.clicks("edit", message=plan.card)
    world.carol.view()
    world.bob.clicks("edit", message=plan.card)
    wrong = world.bob.fills({"when:c": "teatime"})
    world.bob.fills({"leave_out": ["b"], "words": "run the full tests on staging", "when:c": "now"})
    revised = world.until(lambda view: view.revision == 2, "the revision")
    late = world.carol.fills({"leave_out": ["a"]})
    world.carol.closes()
    world.workspace.wait(lambda state: not state["views"], "the forms to go")

    assert list(wrong.errors) == ["when:c"]
    assert [step.spec.id for step in revised.steps] == ["a", "c", "test"]
    assert revised.changes[:2] == ("b: removed", "test: added (Run all tests on staging)")
    assert next(iter(late.errors.values())).startswith("Meanwhile revision 2 was made: b: removed")
    world.ann.sees("<@U0BOB> *changed*")


def test_words_that_no_grammar_knows_become_a_revision_that_a_model_drafted(world: World) -> None:
    plan = proposed(world, "scribble")
    old = world.carol.button("approve", message=plan.card)
    world.bob.says("change it so that less is written", thread=plan.card)
    world.ann.sees("drafted by the planner from “change it so that less is written”")
    world.carol.clicks(old)

    world.carol.sees("That button belongs to revision 1; meanwhile there is revision 2")
    assert [step.spec.id for step in world.plan().steps] == ["a"]
    assert world.plan().state == "proposed"


def test_two_people_must_approve_and_the_card_counts_them(world: World) -> None:
    plan = proposed(world, "engrave")
    world.bob.clicks("approve", message=plan.card)
    world.ann.sees("1 of 2: <@U0BOB> approved, 1 more of <@U0CAROL> needed")
    world.bob.clicks(world.bob.button("approve", message=plan.card))
    world.bob.sees("You have approved this revision already")
    world.carol.clicks("approve", message=plan.card)

    assert ended(world) == "succeeded"


def test_an_approval_with_a_second_factor_takes_the_code_in_its_form(world: World) -> None:
    world.store.enrol("U0BOB", Safe(SEAL).seal("U0BOB", SECRET), 1, actor="terminal:root")
    plan = proposed(world, "seal")
    world.carol.clicks("approve", message=plan.card)
    world.carol.sees("second factor")
    world.bob.clicks("approve", message=plan.card)
    world.bob.view()
    wrong = world.bob.fills({"code": "000000"})
    code = TOTP(SECRET, DIGITS, SHA1(), PERIOD)  # noqa: S303 # what authenticator apps use
    world.bob.fills({"code": code.generate(int(world.store.clock().timestamp())).decode()})

    assert list(wrong.errors) == ["code"]
    assert ended(world) == "succeeded"
    assert world.plan().approved_by == ("U0BOB",)


def test_what_is_missing_is_asked_for_in_one_form(world: World) -> None:
    before = len(world.store.recent(100))
    world.asks("/plan deploy auth-service to production")
    world.until(lambda plan: plan.id > before and plan.form, "the question")
    world.ann.clicks("clarify")
    assert not world.plan().card, "the first that everybody sees is a plan"
    wrong = world.ann.fills({"version": "banana"})
    world.ann.fills({"version": "v2.1.4"})
    plan = world.until(lambda view: view.state == "proposed", "the proposal")

    assert list(wrong.errors) == ["version"]
    assert plan.spec is not None
    assert plan.spec.goal == "Deploy auth-service v2.1.4 to production"


def test_a_plan_of_120_steps_is_summarised_read_as_a_file_edited_in_part_and_rejected(world: World) -> None:
    plan = proposed(world, "recite")
    card = world.ann.sees(f"All 120 stand in `plan-{plan.id}-revision-1.txt` in the thread")
    file = world.ann.file(f"plan-{plan.id}-revision-1.txt")
    world.bob.clicks("edit", message=plan.card)
    assert "by its number (1 to 120)" in readable(world.bob.view())
    assert world.bob.fills({"next": "119"}).acked
    assert "Step 119. witness: note_safely" in readable(world.bob.view())
    world.bob.fills({"place:verse-119": "remove"})
    revised = world.until(lambda view: view.revision == 2, "the revision")
    world.workspace.wait(
        lambda state: "U0BOB" not in {view["user"] for view in state["views"]}, "the form to go"
    )
    world.carol.clicks("reject", message=plan.card, block_id=f"decide_{plan.id}_r2")
    world.carol.fills({"reason": "too long"})

    assert "120 steps" in str(card["blocks"])
    assert file["lines_more"] > 0
    assert (len(revised.steps), revised.changes) == (
        119,
        ("verse-119: removed", "verse-120: waits for verse-118"),
    )
    world.ann.file(f"plan-{plan.id}-revision-2.txt")
    world.ann.sees("“too long”")


def test_a_click_that_took_too_long_is_said(world: World) -> None:
    plan = proposed(world, "scribble")
    world.workspace.fault(expired_trigger=1)
    world.bob.clicks("reject", message=plan.card)

    world.bob.sees("It took too long; please click again.")


def test_a_plan_recurs_and_each_run_is_a_plan_of_its_own(world: World) -> None:
    before = max(plan.id for plan in world.store.recent(100))
    world.asks("/plan every day at 02:00 run the full tests on staging")
    world.ann.sees("Recurring plan 1: “run the full tests on staging”, every day at 02:00")
    world.asks("/plan schedules", world.bob)
    world.bob.sees("1: run the full tests on staging — every day at 02:00 in America/New_York; next:")
    world.workspace.run("jump")
    world.until(lambda plan: plan.id > before and plan.outcome == "succeeded", "the run", 60)
    world.asks("/plan schedules remove 1")

    world.ann.sees("Recurring plan 1 is removed")


def test_a_proposal_that_nobody_decides_is_reminded_of_and_then_expires(world: World) -> None:
    plan = proposed(world, "scribble")
    assert plan.expires_at
    jump(world.demo.clock_file, plan.expires_at - timedelta(hours=1))
    link = f"<https://local.slack.com/archives/C0OPS/p{plan.card.replace('.', '')}|Open the plan>"
    world.bob.sees(f"name: 3 names* still waits for your decision in <#C0OPS>.\n{link}")
    jump(world.demo.clock_file, plan.expires_at + timedelta(seconds=1))
    world.until(lambda view: view.state == "expired", "the end")

    world.ann.sees("Nobody decided in time, so this proposal expired. <@U0ANN>, please ask again.")
