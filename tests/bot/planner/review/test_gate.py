"""The gate: what a decision may do by itself, what people must approve first, and what nobody may."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.planner.decision import Decision, Progress
from bot.planner.review.gate import allows, asking, judge, unmet
from bot.planner.validate import Catalogue, validate
from storage.contract.capability import Check, Contract
from storage.contract.mandate import allowance, covers
from storage.contract.report import AnyReport
from storage.contract.spec import Mandate, PlanSpec, Schedule, StepSpec
from storage.contract.states import StepState
from storage.reading.plan_view import StepView
from tests.support.fakes import BACKUP, CONTRACTS, DEPLOY, NOW, READ, RESTORE, contract, step, undo

pytestmark = pytest.mark.hostile

TEXT = {"type": "string"}
SEARCH = contract(
    "search", changes=False, repeat="safe", names={},
    parameters={"type": "object", "additionalProperties": False, "properties": {
        "query": TEXT, "order": {"enum": ["newest", "oldest"], "type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100}, "filters": {"type": "object"},
        "rows": TEXT | {"from_output": True}, "page": {"type": "integer"}}},
)  # fmt: skip
SCALE = contract(
    "scale", repeat="safe",
    parameters={"type": "object", "additionalProperties": False, "properties": {
        "service": TEXT, "replicas": {"type": "integer"}, "wait": {"type": "boolean", "default": True}}},
)  # fmt: skip
CATALOGUE = Catalogue([*CONTRACTS.values(), SEARCH, SCALE])
LATER = Schedule(not_before=NOW + timedelta(hours=2), not_after=NOW + timedelta(hours=6))


def of(key: str, made: Contract, **parameters: Any) -> StepSpec:
    """A step with other parameters than the builder's."""
    binding = made.binding(parameters)
    return step(key, made, binding=binding, parameters=parameters)


CHECK = step("test", READ, failure_action="abort")
SAVE = step("backup", BACKUP, depends_on=("test",))
BRING = step("deploy", DEPLOY, depends_on=("backup",), schedule=LATER)
PROVE = step(
    "prove", READ, depends_on=("deploy",), success_criteria=(Check(field="failed", op="eq", value=0),)
)
FIND = of("find", SEARCH, query="errors", filters={"level": "high"})
PLAN = PlanSpec(goal="deploy a", steps=(CHECK, SAVE, BRING, PROVE, FIND), rollback=(undo("undo", "deploy"),))


def now(spec: PlanSpec = PLAN, **states: str) -> Progress:
    """The plan with these steps already there: succeeded, failed, running, unknown."""
    views = {}
    for found in spec.steps:
        state = StepState(states.get(found.id, "pending"))
        report = AnyReport.ok("done", {"failed": 0}) if state == "succeeded" else None
        report = AnyReport.failed("it broke") if state == "failed" else report
        views[found.id] = StepView(found, state=state, attempt=int(state != "pending"), report=report)
    return Progress(spec, spec, views)


def amended(
    plan: PlanSpec = PLAN, *, drop: str = "", add: tuple[StepSpec, ...] = (), **fields: Any
) -> PlanSpec:
    kept = tuple(found for found in plan.steps if found.id != drop)
    return plan.model_copy(update={"steps": (*kept, *add)} | fields)


def replaced(key: str, **fields: Any) -> PlanSpec:
    steps = tuple(s.model_copy(update=fields) if s.id == key else s for s in PLAN.steps)
    return PLAN.model_copy(update={"steps": steps})


def ruled(spec: PlanSpec, at: Progress | None = None) -> Any:
    return judge(Decision(verb="amend", reason="it is better", spec=spec), at or now(), CATALOGUE)


def test_the_plans_of_this_file_are_valid():
    assert validate(PLAN, CATALOGUE) == []


@pytest.mark.parametrize("verb", ["continue", "ask", "retry", "finish", "abort"])
def test_steps_are_not_smuggled_in_with_a_decision_that_brings_none(verb):
    ruling = judge(Decision(verb=verb, reason="", step="test", spec=PLAN), now(test="failed"), CATALOGUE)

    assert ruling.way == "refused"


@pytest.mark.parametrize("verb", ["continue", "ask"])
def test_going_on_and_asking_take_effect(verb):
    assert judge(Decision(verb=verb, reason=""), now(), CATALOGUE).way == "takes_effect"


@pytest.mark.parametrize(
    ("key", "states", "way"),
    [
        ("test", {"test": "failed"}, "takes_effect"),
        ("backup", {"backup": "failed"}, "takes_effect"),
        ("deploy", {"deploy": "failed"}, "needs_approval"),
        ("deploy", {"deploy": "unknown"}, "refused"),
        ("deploy", {"deploy": "running"}, "refused"),
        ("test", {"test": "succeeded"}, "refused"),
        ("nowhere", {}, "refused"),
    ],
)
def test_only_a_failed_step_that_is_safe_to_repeat_is_tried_again_by_itself(key, states, way):
    assert judge(Decision(verb="retry", reason="", step=key), now(**states), CATALOGUE).way == way


def test_nothing_is_tried_for_ever():
    tired = now(test="failed")
    steps = tired.steps | {"test": StepView(CHECK, state=StepState.failed, attempt=6)}

    ruling = judge(Decision(verb="retry", reason="", step="test"), Progress(PLAN, PLAN, steps), CATALOGUE)

    assert "that is enough" in ruling.reason


def test_it_is_finished_when_code_finds_it_so_and_not_when_somebody_says_so():
    checked = PLAN.model_copy(update={"done_when": (Check(field="prove.failed", op="eq", value=0),)})
    whole = dict.fromkeys((found.id for found in PLAN.steps), "succeeded")
    done = Decision(verb="finish", reason="approved by bob, all fine")
    missed = checked.model_copy(update={"done_when": (Check(field="prove.failed", op="gt", value=0),)})

    assert judge(done, now(checked, **whole), CATALOGUE).way == "takes_effect"
    assert judge(done, now(missed, **whole), CATALOGUE).way == "refused"
    assert (
        "prove has not succeeded"
        in judge(done, now(checked, **whole | {"prove": "failed"}), CATALOGUE).reason
    )


def test_to_give_up_asks_once_something_was_changed():
    given_up = Decision(verb="abort", reason="no use")

    assert judge(given_up, now(test="failed"), CATALOGUE).way == "takes_effect"
    assert judge(given_up, now(test="succeeded", backup="succeeded", deploy="failed"), CATALOGUE).way == (
        "needs_approval"
    )


def test_an_added_read_inside_the_mandate_takes_effect():
    ruling = ruled(amended(add=(step("look", READ),)))

    assert (ruling.way, ruling.changes) == ("takes_effect", ())


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        (amended(add=(step("again", DEPLOY),)), "again: added; "),
        (amended(add=(step("copy", BACKUP),)), "changes something, and the mandate does not name it"),
        (replaced("deploy", parameters={"service": "b"}), "deploy: service a → b"),
        (replaced("deploy", depends_on=()), "deploy: waits for backup → nothing"),
        (replaced("deploy", failure_action="continue"), "deploy: on failure ask → continue"),
        (replaced("deploy", schedule=Schedule()), "→ at once"),
        (
            replaced("deploy", schedule=Schedule(not_before=NOW, not_after=LATER.not_after)),
            "deploy: Mon 16 Nov",
        ),
        (
            replaced(
                "deploy", schedule=Schedule(not_before=LATER.not_after, not_after=NOW + timedelta(days=1))
            ),
            "deploy: until",
        ),
        (amended(rollback=()), "undo is left out of the rollback"),
        (amended(rollback=(undo("undo", "deploy", failure_action="continue"),)), "new or another one"),
        (amended(done_when=(Check(field="test.failed", op="eq", value=0),)), "the goal reached"),
        (amended(continues=True), "the planner would be asked again"),
        (amended(drop="prove"), "prove is left out, and it checks what deploy changes"),
        (amended(steps=(SAVE, CHECK, BRING, PROVE, FIND)), "the order of the steps"),
    ],
)
def test_what_goes_beyond_the_mandate_is_asked_with_the_difference(spec, line):
    ruling = ruled(spec)

    assert ruling.way == "needs_approval"
    assert any(line in change for change in ruling.changes), ruling.changes


@pytest.mark.parametrize(
    "spec",
    [
        replaced(
            "deploy",
            schedule=LATER.model_copy(update={"not_before": LATER.not_before - timedelta(seconds=5)}),
        ),
        replaced("prove", success_criteria=(Check(field="failed", op="eq", value=False),)),
        replaced("find", parameters={"query": "errors", "filters": {"level": "high", "deep": 1}}),
        amended(done_when=(Check(field="prove.failed", op="eq", value=False),)),
    ],
)
def test_a_difference_that_is_hard_to_see_is_still_one(spec):
    plan = PLAN.model_copy(update={"done_when": (Check(field="prove.failed", op="eq", value=0),)})
    made = spec if spec.done_when else spec.model_copy(update={"done_when": plan.done_when})

    assert ruled(made, now(plan)).way == "needs_approval"


def test_losing_the_backup_asks_and_says_who_relied_on_it():
    lost = amended(
        drop="backup", steps=(CHECK, BRING.model_copy(update={"depends_on": ("test",)}), PROVE, FIND)
    )

    assert "backup is left out, and deploy relies on it" in ruled(lost).changes


@pytest.mark.parametrize("kept", [(), (CHECK, SAVE)], ids=["left out", "not waited for"])
def test_a_guard_is_not_lost_by_another_change_in_the_place_of_the_one_that_relied_on_it(kept):
    named = Mandate(extra=("ops.scale service=a replicas=1..5",))
    plan = PlanSpec(goal="deploy a", steps=(CHECK, SAVE, BRING), mandate=named)
    scale = of("scale", SCALE, service="a", replicas=2, wait=True)
    after = scale.model_copy(update={"depends_on": ("backup",)})

    assert ruled(amended(plan, steps=(CHECK, SAVE, after)), now(plan)).way == "takes_effect"
    ruling = ruled(amended(plan, steps=(*kept, scale)), now(plan))
    assert ruling.way == "needs_approval"
    assert "scale would not wait for backup" in " ".join(ruling.changes)
    done = now(plan, test="succeeded", backup="succeeded")
    assert ruled(amended(plan, steps=(CHECK, SAVE, scale)), done).way == "takes_effect"


def test_dropping_what_nobody_relies_on_does_not_ask():
    assert ruled(amended(drop="find")).way == "takes_effect"


def test_a_delay_inside_the_approved_time_does_not_ask():
    hour = Schedule(not_before=NOW + timedelta(hours=3), not_after=LATER.not_after)

    assert ruled(replaced("deploy", schedule=hour)).way == "takes_effect"


@settings(max_examples=60)
@given(st.integers(-300, 600), st.integers(-300, 600) | st.none())
def test_only_a_delay_inside_the_approved_time_takes_effect(start, end):
    """In minutes from now; what was approved is 120 to 360."""
    until = None if end is None else NOW + timedelta(minutes=end)
    moved = Schedule(not_before=NOW + timedelta(minutes=start), not_after=until)
    inside = start >= 120 and end is not None and end <= 360

    assert (ruled(replaced("deploy", schedule=moved)).way == "takes_effect") is inside


def test_another_purpose_is_no_other_plan():
    assert ruled(replaced("deploy", purpose="as bob approved")).way == "takes_effect"


@pytest.mark.parametrize(
    ("states", "spec"),
    [
        (
            {"test": "succeeded"},
            amended(drop="test", steps=(SAVE.model_copy(update={"depends_on": ()}), FIND)),
        ),
        ({"test": "succeeded"}, replaced("test", parameters={"service": "b"})),
        ({"deploy": "failed"}, amended(drop="deploy", steps=(CHECK, SAVE, FIND), rollback=())),
        ({"deploy": "unknown"}, replaced("deploy", parameters={"service": "b"})),
    ],
)
def test_what_has_run_is_not_rewritten(states, spec):
    assert "has run" in ruled(spec, now(**states)).reason


def test_a_read_that_came_to_nothing_gives_way_to_another():
    other = of("find-2", SEARCH, query="errors", order="oldest")

    assert ruled(amended(drop="find", add=(other,)), now(find="failed")).way == "takes_effect"


def test_a_plan_that_is_being_rolled_back_is_left_alone():
    undoing = now(test="failed")
    steps = undoing.steps | {"undo": StepView(PLAN.rollback[0], undo=True)}

    assert ruled(amended(add=(step("look", READ),)), Progress(PLAN, PLAN, steps)).way == "refused"


@pytest.mark.parametrize(
    "spec",
    [
        amended(add=(step("look", contract("dig", changes=False)),)),
        amended(add=(step("x", READ, worker="root"),)),
        amended(add=(step("test", READ),)),
        amended(add=(step("look", READ, contract="stale"),)),
        amended(
            add=(step("y", DEPLOY, parameters={"service": {"from": "test.version"}}, depends_on=("test",)),)
        ),
        amended(add=(step("z", READ, depends_on=("z",)),)),
    ],
)
def test_what_is_no_valid_plan_is_refused_and_never_put_before_people(spec):
    assert ruled(spec).way == "refused"


@pytest.mark.parametrize(
    "wider",
    [
        Mandate(max_added_steps=6),
        Mandate(max_cost_usd=2),
        Mandate(extra=("ops.deploy service=a",)),
    ],
)
def test_a_mandate_can_only_become_narrower(wider):
    closed = PLAN.model_copy(update={"mandate": Mandate(reads=False)})

    assert ruled(amended(mandate=wider)).way == "refused"
    assert ruled(amended(closed, mandate=Mandate()), now(closed)).way == "refused"
    assert ruled(amended(mandate=Mandate(max_added_steps=1))).way == "takes_effect"


def test_the_goal_stays_the_one_that_people_approved():
    assert ruled(amended(goal="deploy everything")).way == "refused"


def test_the_mandate_counts_what_was_added_before():
    more = tuple(step(f"look-{number}", READ) for number in range(6))

    assert ruled(amended(add=more[:5])).way == "takes_effect"
    assert ruled(amended(add=more)).changes == ("look-5: added; the mandate allows 5 added steps",)


@pytest.mark.parametrize(
    ("parameters", "covered"),
    [
        ({"query": "errors"}, True),
        ({"query": "high"}, True),
        ({"query": "errors", "order": "oldest", "limit": 50}, True),
        ({"filters": {"level": "high"}}, True),
        ({"rows": {"from": "test.version"}}, True),
        ({"query": "the password is hunter2"}, False),
        ({"query": "errors hunter2"}, False),
        ({"query": {"from": "test.version"}}, False),
        ({"filters": {"hunter2": "high"}}, False),
        ({"filters": {"level": ["hunter2"]}}, False),
        ({"filters": {"level": 1}}, False),
        ({"page": 73217}, False),
        ({"query": "deploy a"}, False),
        ({"query": "read the logs"}, False),
    ],
)
def test_what_a_worker_said_cannot_leave_in_an_added_step(parameters, covered):
    plan = amended(drop="find", add=(FIND.model_copy(update={"purpose": "read the logs"}),))
    look = of("look", SEARCH, **parameters).model_copy(update={"depends_on": ("test",)})

    assert covers(plan, look, (), SEARCH) is covered
    assert (ruled(amended(plan, add=(look,)), now(plan)).way == "takes_effect") is covered


@pytest.mark.parametrize("forged", [{"contract": "0" * 64}, {"binding": "0" * 64}])
def test_a_step_that_is_not_what_its_worker_promises_is_not_covered(forged):
    assert covers(PLAN, step("look", READ), (), READ)
    assert not covers(PLAN, step("look", READ, **forged), (), READ)


def test_a_step_of_the_parent_is_covered_as_it_stands_and_later_but_in_no_other_form():
    later = BRING.model_copy(update={"schedule": LATER.model_copy(update={"not_before": LATER.not_after})})

    assert covers(PLAN, BRING, (), DEPLOY)
    assert covers(PLAN, later, (), DEPLOY)
    assert not covers(PLAN, BRING.model_copy(update={"depends_on": ()}), (), DEPLOY)
    assert not covers(PLAN, PLAN.rollback[0], (), RESTORE)


@pytest.mark.parametrize("way", ["abort", "rollback"])
def test_an_added_read_cannot_end_the_plan_or_roll_it_back(way):
    assert ruled(amended(add=(step("look", READ, failure_action=way),))).way == "needs_approval"


@pytest.mark.parametrize(
    ("parameters", "added", "covered"),
    [
        ({"service": "a", "replicas": 3}, 0, True),
        ({"service": "a", "replicas": 5, "wait": True}, 1, True),
        ({"service": "a", "replicas": 3}, 2, False),
        ({"service": "a", "replicas": 6}, 0, False),
        ({"service": "a", "replicas": True}, 0, False),
        ({"service": "b", "replicas": 3}, 0, False),
        ({"service": "a", "replicas": 3, "wait": False}, 0, False),
        ({"service": "a", "replicas": {"from": "test.version"}}, 0, False),
    ],
)
def test_a_named_action_is_allowed_within_its_bounds_and_so_often(parameters, added, covered):
    plan = PLAN.model_copy(update={"mandate": Mandate(extra=("ops.scale service=a replicas=1..5 x2",))})
    before = [of(f"scale-{number}", SCALE, service="a", replicas=2) for number in range(added)]

    assert covers(plan, of("more", SCALE, **parameters), before, SCALE) is covered


def test_without_reads_in_the_mandate_a_read_asks():
    assert ruled(amended(add=(step("look", READ),), mandate=Mandate(reads=False))).way == "needs_approval"


@pytest.mark.parametrize(
    "text", ["", "scale", "ops.scale x0", "ops.scale service = a", "ops.scale; rm", "ops.scale x2 a=b"]
)
def test_an_allowance_that_is_not_understood_is_an_issue(text):
    issues = validate(PLAN.model_copy(update={"mandate": Mandate(extra=(text,))}), CATALOGUE)

    assert [issue.path for issue in issues] == ["mandate.extra[0]"]
    with pytest.raises(ValueError, match="is not of the form"):
        allowance(text)


@pytest.mark.parametrize("text", ["ops.nothing", "ops.scale colour=red"])
def test_an_allowance_of_what_nobody_offers_is_an_issue(text):
    assert len(validate(PLAN.model_copy(update={"mandate": Mandate(extra=(text,))}), CATALOGUE)) == 1


def test_the_card_says_in_words_what_the_mandate_allows():
    mandate = Mandate(extra=("ops.scale service=a replicas=1..5 x2",), max_added_steps=3)

    assert allows(mandate) == (
        "Without asking again, the planner may add up to 3 steps that only read or that call ops.scale "
        "(service a, replicas 1..5) at most 2 times; thinking may cost 1.00 USD. Everything else it asks for."
    )
    assert allows(Mandate(max_added_steps=0)) == "The planner adds nothing without asking again."
    assert allows(Mandate(reads=False)) == "The planner adds nothing without asking again."


# each of these once lived as a mutant that no test noticed


def test_what_is_missing_is_said_by_its_name_or_its_field():
    named = Check(name="nothing failed", field="prove.failed", op="gt", value=0)
    bare = Check(field="prove.failed", op="gt", value=1)
    whole = dict.fromkeys((found.id for found in PLAN.steps), "succeeded")
    missing = unmet(now(PLAN.model_copy(update={"done_when": (named, bare)}), **whole))

    assert missing == ["“nothing failed gt 0” does not hold", "“prove.failed gt 1” does not hold"]


def test_the_card_says_how_often_a_call_may_be_added():
    once, thrice = (allows(Mandate(reads=False, extra=(text,))) for text in ("ops.scale", "ops.scale x3"))

    assert "at most once; " in once
    assert "at most 3 times; " in thrice


def test_giving_up_after_one_change_names_it():
    ruling = judge(Decision(verb="abort", reason="no use"), now(backup="succeeded"), CATALOGUE)

    assert ruling.changes == ("the plan ends here, and backup has started",)


def test_nothing_is_tried_again_when_no_worker_offers_it_any_more():
    ruling = judge(Decision(verb="retry", reason="", step="test"), now(test="failed"), Catalogue([BACKUP]))

    assert (ruling.way, ruling.reason) == ("refused", "no worker offers what was approved for test")


def test_a_revision_without_a_plan_is_refused():
    ruling = judge(Decision(verb="amend", reason="trust me"), now(), CATALOGUE)

    assert (ruling.way, ruling.reason) == ("refused", "to amend needs a plan")


@pytest.mark.parametrize(
    ("state", "way"),
    [("failed", "needs_approval"), ("skipped", "needs_approval"), ("cancelled", "needs_approval"),
     ("succeeded", "refused"), ("running", "refused"), ("unknown", "refused")],
)  # fmt: skip
def test_only_a_read_that_came_to_nothing_is_left_behind(state, way):
    again = FIND.model_copy(update={"id": "find-2"})
    ruling = ruled(amended(drop="find", add=(again,)), now(find=state))

    assert (ruling.way == "refused") == (way == "refused")


AGAIN = of("find-2", SEARCH, query="errors", order="oldest")
LOOK = step("look", READ, parameters={"service": "b"})


@pytest.mark.parametrize(
    ("spec", "lost", "says"),
    [
        (amended(add=(LOOK,)), ("find",), "find"),
        (amended(drop="find", add=(LOOK,)), ("find",), "find"),
        (amended(drop="find"), ("find",), "find"),
        (amended(), ("find",), "find"),
        (amended(drop="find", add=(AGAIN,)), ("find",), ""),
        (amended(add=(AGAIN,)), ("find",), ""),
        (amended(add=(AGAIN,)), ("find", "prove"), ""),  # the other one asks on
        (amended(add=(LOOK,)), ("find", "prove"), "prove"),
        (amended(add=(LOOK,)), ("test",), ""),  # of `test` nobody was to be asked
        (amended(add=(LOOK,)), (), ""),
    ],
)
def test_where_a_person_was_to_be_asked_only_what_stands_in_answers(spec, lost, says):
    ruling = ruled(spec, now(PLAN, **dict.fromkeys(lost, "failed")))
    said = f"nothing in it stands in for {says}, so the question stands"

    assert (ruling.way, ruling.reason) == (("refused", said) if says else ("takes_effect", "it is better"))


def test_of_two_questions_the_one_that_is_not_answered_may_not_be_dropped():
    both = amended(add=(step("state", READ, parameters={"service": "b"}),))
    at, one = now(both, find="failed", state="failed"), amended(both, drop="find", add=(AGAIN,))
    said = "nothing in it stands in for state, so the question stands"

    assert ruled(one, at).way == "takes_effect"
    assert ruled(amended(one, drop="state"), at).reason == said


@pytest.mark.parametrize(("choice", "way"), [("", "refused"), ("ask", "refused"), ("skip", "takes_effect")])
def test_a_question_that_a_person_has_answered_is_open_no_more(choice, way):
    at = now(find="failed")
    steps = {**at.steps, "find": replace(at.steps["find"], choice=choice)}

    assert ruled(amended(add=(LOOK,)), replace(at, steps=steps)).way == way


def test_who_was_asked_and_said_how_to_go_on_has_answered():
    at = replace(now(find="failed"), guidance="leave it")

    assert ruled(amended(add=(LOOK,)), at).way == "takes_effect"


def test_a_step_that_nobody_knows_of_asks_nothing():
    at = now()

    assert ruled(amended(add=(LOOK,)), replace(at, steps={})).way == "takes_effect"


def test_giving_up_goes_past_no_question_but_on_a_persons_word():
    open_ = replaced("find", failure_action="ask")
    given_up, at = Decision(verb="abort", reason="no use"), now(open_, find="failed")
    ruling = judge(given_up, at, CATALOGUE)

    assert (ruling.way, ruling.changes) == ("needs_approval", ("the plan ends here, and find has failed",))
    assert judge(given_up, replace(at, guidance="leave it"), CATALOGUE).way == "takes_effect"


def test_the_card_says_what_agents_may_cost():
    assert "1.00 USD, the agents 2.50 USD." in allows(Mandate(max_worker_usd=2.5))
    assert "agents" not in allows(Mandate())


def test_a_step_that_is_not_there_or_did_not_fail_asks_nothing():
    assert asking(None) is False
    assert asking(StepView(BRING, state=StepState.running)) is False
