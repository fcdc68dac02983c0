"""What the demo shows by itself: the founding story, and three things that Signoff refuses."""

from collections.abc import Callable
from contextlib import suppress
from uuid import uuid4

from sqlalchemy import text

from bot.demo.stage import ANN, BOB, Stage
from storage.contract.states import StepState
from storage.errors import Conflict
from storage.exchange.deliveries import ASKED
from storage.reading.plan_view import PlanView

LIE = {
    "goal": "Run the tests",
    "steps": [
        {"id": "tests", "worker": "k8s-deployer", "action": "deploy_service",
         "purpose": "Run the full tests on staging; nothing is deployed",
         "parameters": {"service": "auth-service", "version": "v6.6.6", "environment": "production"}}
    ],
}  # fmt: skip
TONIGHT = "/plan back up auth_prod tonight at 2am ET"


def founding(stage: Stage, version: str, jump: Callable[[], str]) -> None:
    """Ask, edit, approve exactly that, wait for the time, see it done."""
    stage.of = 9
    stage.say("Ann needs a new version in production. She says so, in her own words.", me=ANN)
    plan = stage.asks(ANN, f"/plan deploy auth-service {version} to production")
    stage.person(BOB).button("approve", message=plan.card)
    stage.say(
        "Signoff answers with a plan: three steps, what each dry run found, what follows if one fails.",
        me=ANN,
    )
    stage.person(ANN).clicks("approve", message=plan.card)
    stage.say("Ann presses Approve, and may not: whoever asked cannot say yes to it.", me=ANN)
    stage.say("Bob may. But not in the afternoon: he presses Edit, and moves the deploy to 2 AM.", me=BOB)
    stage.person(BOB).clicks("edit", message=plan.card)
    stage.person(BOB).view()
    stage.say("The form knows what the step may hold. “2AM ET” is a time like any other.", me=BOB)
    stage.person(BOB).fills({"when:deploy": "2AM ET"})
    plan = stage.until(lambda now: now.revision > 1 and str(now.state) == "proposed", "the second revision")
    stage.person(BOB).button("approve", message=plan.card)
    stage.say(
        "Revision 2: what changed stands above Approve, and the old buttons are dead. Bob approves.", me=BOB
    )
    stage.approves(BOB, plan)
    stage.say("Tests and backup run at once. The deploy waits for 2 AM.", me=BOB, thread=plan.card)
    stage.until(_only_waits, "the deploy to wait for its time")
    jump()
    once_more = "It is 2 AM. Approval, policy, freeze and target are looked at once more; then it runs."
    stage.say(once_more, me=BOB, thread=plan.card)
    stage.ends()
    stage.say("Done: the version is live, and every step is on record. Now try it yourself.", me=ANN)


def _only_waits(plan: PlanView) -> bool:
    left = [step for step in plan.steps if step.state != StepState.succeeded]
    return len(left) == 1 and left[0].state == StepState.pending


def lying_planner(stage: Stage) -> None:
    """A plan whose words say tests, and whose step deploys."""
    stage.of = 3
    stage.say("A planner lies: it calls its plan “Run the tests”, and its only step deploys v6.6.6.", me=BOB)
    known = {plan.id for plan in stage.store.recent(5)}
    stage.store.deliver(
        f"{ASKED}:{uuid4().hex}", ASKED, {"user": "terminal:demo", "channel": "C0OPS", "plan": LIE}
    )
    plan = stage.until(lambda now: now.id not in known and bool(now.card), "the liar's card")
    stage.person(BOB).button("reject", message=plan.card)
    stage.say(
        "The card says Deploy, v6.6.6, production: its lines are made by code, from what would happen.",
        me=BOB,
    )
    stage.say("A planner's own words are only quotes in Details. Nobody approves a label.", me=BOB)
    with suppress(Conflict):  # whoever looked on has decided
        stage.store.reject(plan.id, plan.revision, user=BOB, reason="It is called a test run, and deploys.")


def tampered_plan(stage: Stage, jump: Callable[[], str]) -> None:
    """An approved plan is changed in the database, behind everybody's back."""
    stage.of = 4
    stage.say("Ann asks for a backup at 2 AM, and Bob approves it.", me=ANN)
    plan = stage.asks(ANN, TONIGHT)
    stage.approves(BOB, plan)
    stage.say("Now somebody with the database's password changes the plan: another database.", me=BOB)
    _rewrite(stage, plan.id, "auth_prod", "pay_prod")
    try:
        jump()
        stage.say("2 AM comes. What is stored is held against what Bob approved: not the same.", me=BOB)
        stage.until(lambda now: _withheld(stage, plan.id), "the refusal")
        stage.say(
            "So it gets no permit, and nothing runs. Such a plan is not even shown; the bot alarms.", me=BOB
        )
    finally:  # ended first: put right before that, it would run
        _end(stage, plan.id, "It was changed after its approval, and never started.")
        _rewrite(stage, plan.id, "pay_prod", "auth_prod")
        stage.store.unfile(plan.id)  # its card is drawn anew, since it reads as it did


def approver_left(stage: Stage, jump: Callable[[], str]) -> None:
    """An approval counts no longer than its approver may give it."""
    stage.of = 4
    stage.say("Ann asks for a backup at 2 AM. Bob approves it in the afternoon.", me=ANN)
    plan = stage.asks(ANN, TONIGHT)
    stage.approves(BOB, plan)
    stage.say("In the evening Bob leaves the company; his account is deactivated.", me=ANN)
    stage.workspace().change_member(BOB, deleted=True)
    try:
        jump()
        stage.say("2 AM comes. Before it starts, it is asked again: may whoever approved it still?", me=ANN)
        stage.until(lambda now: _withheld(stage, plan.id), "the refusal")
        stage.say(
            "Bob may not. So the step gets no permit and does not start, and the card says why.", me=ANN
        )
    finally:  # ended first: with Bob back, it would run
        _end(stage, plan.id, "Its approver had left, and it never started.")
        stage.workspace().change_member(BOB, deleted=False)


def _end(stage: Stage, plan_id: int, reason: str) -> None:
    with suppress(Conflict):  # whoever looked on has ended it
        stage.store.cancel(plan_id, user=ANN, reason=reason)


def _rewrite(stage: Stage, plan_id: int, old: str, new: str) -> None:
    """What no verb does: a row changed by hand."""
    changed = "UPDATE revision SET spec = replace(spec, :old, :new) WHERE plan_id = :id"
    with stage.store.engine.begin() as connection:
        connection.execute(text(changed), {"id": plan_id, "old": old, "new": new})


def _withheld(stage: Stage, plan_id: int) -> bool:
    asked = "SELECT count(*) FROM event WHERE plan_id = :id AND verb = 'withhold'"
    with stage.store.engine.connect() as connection:
        return bool(connection.execute(text(asked), {"id": plan_id}).scalar())


def yesterday(stage: Stage, break_tests: Callable[[bool], str]) -> None:
    """One plan finished, one failed, one that waits for somebody."""
    done = stage.asks(ANN, "/plan back up auth_prod")
    stage.approves(BOB, done)
    stage.ends()
    break_tests(True)
    stage.asks(ANN, "/plan run the full tests on staging")
    stage.until(lambda plan: str(plan.state) in {"done", "stalled"}, "the tests to fail")
    break_tests(False)
    stage.asks(ANN, "/plan scale auth-service to 3 in production")
    stage.person(BOB).sees("asks you to approve *Scale")  # before its reminder
