"""The home tab: each plan stands in the part where this person looks for it."""

from datetime import timedelta
from typing import Any

import pytest

from bot.cards.home import FETCHED, MOST, HomeFacts, closed, home, plan_list, waits
from bot.local.schema.limits import check_view
from bot.planner.runbooks.questions import Field, Form
from storage.config import People, SignoffConfig, Window
from storage.contract.demands import Demands
from storage.contract.states import PlanState, StepState
from storage.database.tables import Recurring, Stop
from storage.reading.plan_view import PlanView, StepView
from tests.support.fakes import NOW, step
from tests.support.samples.cards import markup, plan_view

CONFIG = SignoffConfig(people=People(approvers=("UBOB",), admins=("UCAROL", "SADMINS")))
PARTS = ("Waiting for you", "Running", "Coming up", "Recent")
HOUR = timedelta(hours=1)


def scene(*plans: PlanView, **fields: Any) -> HomeFacts:
    given: dict[str, Any] = {"past": [], "stops": [], "runbooks": [], "config": CONFIG, "now": NOW}
    return HomeFacts(plans=plans, link=lambda view: f"https://x.example/{view.id}", **given | fields)


def parts(facts: HomeFacts, user: str = "UBOB", **more: Any) -> dict[str, list[str]]:
    """What stands under each heading, as lines."""
    shown: dict[str, list[str]] = {"": []}
    for block in home(user, "D1", facts, **more)["blocks"]:
        if block["type"] == "header":
            shown |= {block["text"]["text"].partition(" (")[0]: []}
        else:
            shown[[*shown][-1]] += [*markup(block)]
    return shown


def headings(facts: HomeFacts, user: str = "UBOB") -> list[str]:
    blocks = home(user, "D1", facts)["blocks"]
    return [block["text"]["text"] for block in blocks if block["type"] == "header"]


def part_of(view: PlanView, user: str = "UZOE") -> list[str]:
    """The parts in which the plan stands, for somebody whom nobody waits for."""
    return [name for name, texts in parts(scene(view), user).items() if any("plan 1" in t for t in texts)]


def approved(*steps: StepView, **fields: Any) -> PlanView:
    return plan_view(*steps, state=PlanState.approved, **fields)


def at(state: StepState, hours: float | None = None, key: str = "s1") -> StepView:
    return StepView(step(key), state=state, not_before=None if hours is None else NOW + hours * HOUR)


@pytest.mark.parametrize(
    ("steps", "part"),
    [
        ([at(StepState.pending, 8)], "Coming up"),
        ([at(StepState.succeeded, -1), at(StepState.pending, 8, "s2")], "Coming up"),
        ([at(StepState.pending, 8), StepView(step("s2", depends_on=("s1",)))], "Coming up"),
        ([at(StepState.pending, 8), at(StepState.pending, key="s2")], "Running"),
        ([at(StepState.pending)], "Running"),
        ([at(StepState.pending, 0)], "Running"),
        ([at(StepState.pending, -1)], "Running"),
        ([at(StepState.running, -1), at(StepState.pending, 8, "s2")], "Running"),
        ([at(StepState.running, 8)], "Running"),
        ([at(StepState.succeeded, 8)], "Running"),
    ],
)
def test_an_approved_plan_runs_or_is_to_come(steps, part):
    assert part_of(approved(*steps)) == [part]


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (PlanState.planning, []),
        (PlanState.proposed, []),
        (PlanState.stalled, []),
    ],
)
def test_what_is_no_plan_yet_or_waits_for_others_stands_nowhere(state, found):
    assert part_of(plan_view(at(StepState.pending, 8), state=state)) == found


def test_what_has_ended_is_an_outcome_and_what_is_open_is_none():
    done = plan_view(state=PlanState.done, outcome="succeeded")

    shown = parts(scene(past=[done, plan_view(id=2)]))["Recent"]

    assert [("plan 1" in text, "plan 2" in text) for text in shown] == [(True, False), (False, False)]


def test_headings_count_the_set_and_not_the_rows_that_are_drawn():
    many = [approved(at(StepState.pending), id=number) for number in range(MOST + 3)]
    ended = [plan_view(id=number, state=PlanState.done, outcome="failed") for number in range(9)]
    found = headings(scene(*many, past=ended), "UZOE")

    assert found == ["Waiting for you (0)", f"Running ({MOST + 3})", "Coming up (0)", "Recent (4 of 9)"]


def test_of_more_ended_plans_than_are_looked_at_it_says_so():
    ended = [plan_view(id=number, state=PlanState.done, outcome="failed") for number in range(FETCHED)]

    assert headings(scene(past=ended))[-1] == f"Recent (4 of more than {FETCHED})"


def test_what_comes_and_what_recurs_stand_together_by_time():
    late = approved(at(StepState.pending, 8), id=1)
    soon = approved(at(StepState.pending, 2), id=2)
    asked = {
        "text": "back up a",
        "team": "T",
        "user": "U",
        "channel": "C1",
        "cron": "0 3 * * *",
        "zone": "UTC",
    }
    nightly = Recurring(id=3, state="active", next_at=NOW + 5 * HOUR, **asked)
    shown = parts(scene(late, soon, recurring=[nightly]), "UZOE")["Coming up"][0].splitlines()

    assert [("plan 2" in line, "recurring plan 3" in line, line.endswith("plan 1")) for line in shown] == [
        (True, False, False), (False, True, False), (False, False, True),
    ]  # fmt: skip


def test_a_question_that_nobody_else_sees_waits_for_whoever_was_asked():
    form = Form(why="x", fields=(Field(name="version", label="Which version?"),)).model_dump_json()
    view = plan_view(state=PlanState.planning, form=form, revision=0, spec=None)
    blocks = home("UANN", "D1", scene(view))["blocks"]

    assert waits(view, "UBOB") is False
    assert [b["block_id"] for b in blocks if "home_clarify" in str(b)] == ["home_plan_1"]
    assert any("Which version?" in text for block in blocks for text in markup(block))


@pytest.mark.parametrize(
    ("many", "page", "first", "turn"),
    [(0, 0, 0, ""), (10, 0, 10, ""), (25, 0, 10, "Next 10"), (25, 1, 10, "Next 5"), (25, 2, 5, "")],
)
def test_all_plans_are_turned_page_by_page(many, page, first, turn):
    plans = [plan_view(id=number, state=PlanState.done, outcome="failed") for number in range(many)]
    made = plan_list(plans, page, lambda view: "", NOW)

    check_view(made)
    assert len(made["blocks"]) - 1 == first
    assert made.get("submit", {}).get("text", "") == turn


@pytest.mark.parametrize(
    ("fields", "user", "groups", "wanted"),
    [
        ({}, "UBOB", (), True),
        ({}, "UZOE", (), False),
        ({"approvers": ("SOPS",)}, "UZOE", ("SOPS",), True),
        ({"approved_by": ("UBOB",)}, "UBOB", (), False),
        ({"approvers": ("UANN",)}, "UANN", (), False),
        ({"approvers": ("UANN",), "demands": Demands(authors=True)}, "UANN", (), True),
        ({"demands": Demands(denied=("no",))}, "UBOB", (), False),
        ({"state": PlanState.stalled}, "UBOB", (), True),
        ({"state": PlanState.stalled}, "UANN", (), True),
        ({"state": PlanState.stalled}, "UZOE", (), False),
        ({"state": PlanState.approved}, "UBOB", (), False),
        ({"state": PlanState.approved}, "UANN", (), False),
    ],
)
def test_a_plan_waits_for_whoever_can_decide_or_answer(fields, user, groups, wanted):
    assert waits(plan_view(**fields), user, frozenset(groups)) is wanted


def test_a_step_of_which_nobody_knows_asks_whoever_can_answer():
    view = approved(at(StepState.unknown))

    assert [waits(view, user) for user in ("UBOB", "UANN", "UZOE")] == [True, True, False]


def test_a_proposal_can_be_reviewed_from_here_and_a_question_leads_to_its_card():
    asked = plan_view(id=2, state=PlanState.stalled)

    blocks = home("UBOB", "D1", scene(plan_view(), asked))["blocks"]

    reviewed = [block.get("block_id") for block in blocks if "home_review" in str(block)]
    assert reviewed == ["home_plan_1"]
    shown = parts(scene(plan_view(), asked))["Waiting for you"]
    assert ["High risk" in text for text in shown] == [True, False]
    assert ["<https://x.example/" in text for text in shown] == [True, True]


def test_only_admins_can_stop_and_resume_from_here():
    stop = Stop(scope="environment staging", reason="smoke", by="UCAROL", since=NOW)
    people = {"UCAROL": frozenset[str](), "UBOB": frozenset[str](), "UDAN": frozenset({"SADMINS"})}
    drawn = {who: str(home(who, "D1", scene(stops=[stop]), groups)) for who, groups in people.items()}

    assert {who: ("home_stop" in text, "home_resume" in text) for who, text in drawn.items()} == {
        "UCAROL": (True, True), "UBOB": (False, False), "UDAN": (True, True),
    }  # fmt: skip
    assert all("smoke" in text and "home_plan" in text for text in drawn.values())


def test_where_everything_is_stopped_it_cannot_be_stopped_again():
    stop = Stop(scope="everything", reason="smoke", by="UCAROL", since=NOW)

    assert "home_stop" not in str(home("UCAROL", "D1", scene(stops=[stop])))


def test_a_part_shows_a_few_and_says_how_many_more_there_are():
    many = [approved(at(StepState.pending), id=number) for number in range(MOST + 3)]

    shown = parts(scene(*many), "UZOE")["Running"]

    assert (len(shown), shown[-1]) == (MOST + 1, "… and 3 more under All Plans")
    exactly = parts(scene(*many[:MOST]), "UZOE")["Running"]
    assert (len(exactly), "more" in exactly[-1]) == (MOST, False)


def test_where_nothing_is_each_part_says_so():
    found = parts(scene())

    assert {name: texts[:1] for name, texts in found.items()} == {
        "": [], "Waiting for you": ["Nothing waits for you."], "Running": ["Nothing runs."],
        "Coming up": ["Nothing is scheduled."], "Recent": ["No plan has ended yet."],
    }  # fmt: skip


def test_windows_stand_beside_what_comes():
    config = CONFIG.model_copy(
        update={"windows": {"nightly": Window(start="02:00", hours=2, zone="UTC", environments=("prod",))}}
    )

    assert "nightly" in parts(scene(config=config))["Coming up"][-1]


def test_who_may_not_look_sees_only_why():
    assert [*markup(closed("Guests <may> not look."))] == ["Guests &lt;may&gt; not look."]
