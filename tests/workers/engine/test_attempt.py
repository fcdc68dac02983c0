"""What an answer is worth, when a step is tried again, and that an attempt always ends on record."""

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from storage.contract.capability import Check
from storage.contract.report import CHECKPOINT, AnyReport, Fault
from storage.contract.spec import Retries
from storage.errors import Unavailable
from storage.steps.previews import basis_hash
from tests.support.fakes import approve, messages, plan_spec, states, step, step_row, taker, terms, work
from tests.support.scratch import CLAIM
from tests.support.store import Store
from workers.base import (
    Asks,
    Context,
    Params,
    Permanent,
    Preview,
    Report,
    Transient,
    Unsure,
    Verdict,
    Worker,
    action,
)
from workers.engine import attempt
from workers.engine.attempt import Attempts, Moved, Running, judge, question, retry_wait
from workers.engine.turn import Crew, heartbeat, recover, take_turn
from workers.registry import Registry

TRANSIENT = AnyReport.failed("busy", kind="transient")
PERMANENT = AnyReport.failed("no such service")


def asking(after: float) -> AnyReport:
    fault = Fault(kind="transient", message="busy", after=after)
    return AnyReport(status="failed", summary="busy", error=fault)


@pytest.mark.parametrize(
    ("report", "repeat", "attempt", "verb"),
    [
        (AnyReport.ok("green", {"failed": 0}), "safe", 1, "succeed"),
        (AnyReport.ok("green", {"failed": 0}), "unsafe", 1, "succeed"),
        (AnyReport.ok("green?", {"failed": 1}), "safe", 1, "fail"),
        (AnyReport.ok("green?", {}), "safe", 1, "fail"),
        (AnyReport.ok("green?", None), "safe", 1, "fail"),
        (PERMANENT, "safe", 1, "fail"),
        (PERMANENT, "unsafe", 1, "fail"),
        (TRANSIENT, "safe", 1, "retry"),
        (TRANSIENT, "safe", 2, "retry"),
        (TRANSIENT, "safe", 3, "fail"),
        (TRANSIENT, "safe", 4, "fail"),
        (TRANSIENT, "unsafe", 1, "fail"),
        (asking(1), "unsafe", 1, "fail"),
    ],
)
def test_a_report_earns_its_verb(report, repeat, attempt, verb):
    assert judge(replace(CLAIM, repeat=repeat, attempt=attempt), report).verb == verb


def test_a_false_criterion_is_a_failure_and_is_named():
    report = judge(CLAIM, AnyReport.ok("3 of 4 passed", {"failed": 1})).report

    assert report.status == "failed"
    assert report.summary == "3 of 4 passed (but not met: all_pass)"


def test_a_criterion_without_a_name_is_said_as_it_is():
    claim = replace(CLAIM, criteria=(Check(field="failed", op="lt", value=3),))

    assert "not met: failed lt 3" in judge(claim, AnyReport.ok("x", {"failed": 3})).report.summary


def test_every_criterion_must_hold():
    both = (*CLAIM.criteria, Check(field="passed", op="gt", value=0))

    assert judge(replace(CLAIM, criteria=both), AnyReport.ok("x", {"failed": 0, "passed": 0})).verb == "fail"


@pytest.mark.parametrize(("attempt", "least", "most"), [(1, 4, 6), (2, 8, 12)])
def test_the_wait_doubles_with_some_jitter(attempt, least, most):
    waits = [retry_wait(replace(CLAIM, attempt=attempt), TRANSIENT) or 0 for _ in range(200)]

    assert least <= min(waits) < max(waits) <= most


@pytest.mark.parametrize(("after", "least"), [(90, 90), (0, 4)])
def test_a_worker_that_asks_for_time_gets_it(after, least):
    assert (retry_wait(CLAIM, asking(after)) or 0) >= least


@pytest.mark.parametrize(
    ("changes", "report"),
    [
        ({"repeat": "unsafe"}, TRANSIENT),
        ({"attempt": 3}, TRANSIENT),
        ({"retries": Retries(attempts=1)}, TRANSIENT),
        ({}, PERMANENT),
        ({}, AnyReport(status="failed", summary="no reason given")),
    ],
    ids=["unsafe", "last", "only one", "permanent", "no fault"],
)
def test_what_is_not_tried_again(changes, report):
    assert retry_wait(replace(CLAIM, **changes), report) is None


# attempts of a real worker


class Empty(Params):
    pass


class Data(BaseModel):
    failed: int = 0
    previous: str = ""


class Ops(Worker):
    """Does what the test tells it to."""

    name = "ops"
    answers: list[Any]
    seen: list[Context]

    def answer(self, ctx: Context) -> Report[Data]:
        self.seen.append(ctx)
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found() if callable(found) else found

    @action(changes=False, repeat="safe")
    def check(self, params: Empty, ctx: Context) -> Report[Data]:
        return self.answer(ctx)

    @action(changes=True)
    def deploy(self, params: Empty, ctx: Context) -> Report[Data]:
        return self.answer(ctx)

    @deploy.before
    def version(self, params: Empty, ctx: Context) -> dict[str, Any]:
        return {"version": "2.1.3"}

    @deploy.probe
    def did_it(self, params: Empty, ctx: Context) -> Report[Data] | Verdict:
        return self.answer(ctx)

    @action(changes=True)
    def email(self, params: Empty, ctx: Context) -> Report[Data]:
        return self.answer(ctx)


GOOD: Report[Data] = Report.ok("done", Data())


def crew(store: Store, scratch: Path, *answers: Any) -> tuple[Attempts, Ops]:
    worker = Ops({})
    worker.answers, worker.seen = [*answers], []
    registry = Registry([worker])
    store.publish(registry.contracts())
    return Attempts(store, registry, "w1", scratch), worker


def planned(attempts: Attempts, name: str, **fields: Any) -> int:
    store = attempts.store
    made = step("s1", attempts.registry.contract("ops", name), parameters={}, **fields)
    plan_id = store.request("x", team="T1", user="ANN", channel="C1")
    store.propose(plan_id, plan_spec(made), terms(), author="planner")
    approve(store, plan_id)
    return plan_id


def test_a_step_runs_and_its_report_is_on_record(lite, tmp_path):
    attempts, worker = crew(lite, tmp_path, GOOD)
    plan_id = planned(attempts, "check")
    work(attempts)

    assert lite.view(plan_id).outcome == "succeeded"
    assert worker.seen[0].scratch == tmp_path / f"plan-{plan_id}" / "s1" / "1"
    assert worker.seen[0].scratch.is_dir()


SECRET = "pgpass-0f3c9a77"


@pytest.mark.parametrize("written", [SECRET, "cGdwYXNzLTBmM2M5YTc3", "x" * (2**18 - 7) + SECRET, SECRET * 2])
def test_no_file_of_an_attempt_holds_a_secret_of_the_workers(lite, tmp_path, monkeypatch, written):
    def fails() -> Report[Data]:
        file = worker.seen[0].scratch / "own.log"
        file.write_text(f"tried with {written} in vain")
        file.chmod(0o644)
        return Report.failed("no", artifacts=(str(file),))

    monkeypatch.setenv("AUTH_DB_PASSWORD", SECRET)
    attempts, worker = crew(lite, tmp_path, fails)
    plan_id = planned(attempts, "check")
    work(attempts)

    report = lite.view(plan_id).step("s1").report
    (kept,) = map(Path, report.artifacts)

    assert written[-12:] not in kept.read_text()
    assert kept.read_text().startswith("tried with ")
    assert kept.read_text().endswith(" in vain")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert {
        path.stat().st_mode & 0o777 for path in kept.parents if path.is_relative_to(tmp_path / "plan-1")
    } == {0o700}


def test_only_plain_files_of_its_own_folder_become_artefacts(lite, tmp_path):
    key = tmp_path / "key"
    key.write_text("of the machine")

    def links() -> Report[Data]:
        home = worker.seen[0].scratch
        (home / "plain.log").write_text("it broke")
        (home / "hard.log").hardlink_to(key)
        (home / "soft.log").symlink_to(key)
        (home / "away").symlink_to(tmp_path)
        os.mkfifo(home / "pipe")
        names = ["plain.log", "hard.log", "soft.log", "away/key", "../../../key", "pipe", "none", ".", "\0"]
        return Report.failed("no", artifacts=(*(f"{home}/{name}" for name in names), str(key)))

    attempts, worker = crew(lite, tmp_path, links)
    plan_id = planned(attempts, "check")
    work(attempts)

    assert [Path(path).name for path in lite.view(plan_id).step("s1").report.artifacts] == ["plain.log"]
    assert key.read_text() == "of the machine"


def test_what_a_step_found_before_it_began_is_kept_for_the_undo(lite, tmp_path):
    attempts, _ = crew(lite, tmp_path, GOOD)
    plan_id = planned(attempts, "deploy")
    work(attempts)

    assert step_row(lite, plan_id, "s1").previous == {"version": "2.1.3"}


def test_a_safe_step_is_tried_again_when_its_time_has_come(lite, clock, tmp_path):
    attempts, worker = crew(lite, tmp_path, Transient("busy", after=90), GOOD)
    plan_id = planned(attempts, "check")
    work(attempts)
    clock.advance(89)
    assert work(attempts) == []
    clock.advance(1)
    work(attempts)

    assert lite.view(plan_id).outcome == "succeeded"
    assert [ctx.attempt for ctx in worker.seen] == [1, 2]
    assert len({ctx.key for ctx in worker.seen}) == 1


@pytest.mark.parametrize("name", ["deploy", "email"])
@pytest.mark.parametrize("error", [Transient("busy"), Permanent("no")], ids=["transient", "permanent"])
def test_an_unsafe_step_is_never_tried_again_by_itself(lite, clock, tmp_path, name, error):
    attempts, _ = crew(lite, tmp_path, error)
    plan_id = planned(attempts, name)
    work(attempts)
    clock.advance(hours=10)

    assert work(attempts) == []
    assert states(lite, plan_id) == {"s1": "failed"}


@pytest.mark.parametrize(("name", "state"), [("check", "failed"), ("email", "unknown")])
def test_a_bug_in_a_worker_says_nothing_about_the_effect(lite, tmp_path, name, state):
    attempts, _ = crew(lite, tmp_path, KeyError("oops"))
    plan_id = planned(attempts, name)
    work(attempts)

    assert states(lite, plan_id) == {"s1": state}


def test_a_report_that_a_worker_could_not_build_says_nothing_about_the_effect(lite, tmp_path):
    attempts, _ = crew(lite, tmp_path, lambda: Report.ok("sent", Data(failed="many")))
    plan_id = planned(attempts, "email")
    work(attempts)

    assert states(lite, plan_id) == {"s1": "unknown"}


def test_an_answer_that_is_no_report_leaves_an_unsafe_step_unknown(lite, tmp_path):
    attempts, _ = crew(lite, tmp_path, None)
    plan_id = planned(attempts, "email")
    work(attempts)

    assert states(lite, plan_id) == {"s1": "unknown"}


def away(
    store: Store, name: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], list[float]]:
    """Our own database does not answer to this, so many times; what it was asked, and the naps between."""
    asked, naps, right = list[str](), list[float](), getattr(store, name)

    def ask(*given: Any, **more: Any) -> Any:
        asked.append(name)
        if len(asked) <= times:
            raise Unavailable("The database does not answer: too many clients already")
        return right(*given, **more)

    monkeypatch.setattr(store, name, ask)
    monkeypatch.setattr(attempt.time, "sleep", naps.append)
    return asked, naps


@pytest.mark.parametrize("asked", ["holds", "start"])
@pytest.mark.parametrize("name", ["deploy", "email", "check"])
def test_a_database_that_is_away_before_the_effect_is_no_failure_of_the_step(
    lite, tmp_path, monkeypatch, caplog, name, asked
):
    attempts, worker = crew(lite, tmp_path, GOOD)
    plan_id = planned(attempts, name)
    calls, naps = away(lite, asked, 3, monkeypatch)
    work(attempts)

    assert states(lite, plan_id) == {"s1": "succeeded"}
    assert len(worker.seen) == 1
    assert naps == [0.5] * len(calls[1:])
    assert caplog.text.count("an attempt waits for the database") == len(naps)


@pytest.mark.parametrize("asked", ["advance", "approvers"])
def test_nor_is_one_that_is_away_in_the_middle_of_it(lite, tmp_path, monkeypatch, asked):
    def tells() -> Report[Data]:
        worker.seen[0].progress("half of it")
        worker.seen[0].approvers()
        return GOOD

    attempts, worker = crew(lite, tmp_path, tells)
    plan_id = planned(attempts, "email")
    calls, _ = away(lite, asked, 2, monkeypatch)
    work(attempts)

    assert states(lite, plan_id) == {"s1": "succeeded"}
    assert calls


@pytest.mark.parametrize(
    ("asked", "answer"), [("doubt", KeyError("oops")), ("cannot_tell", Verdict.cannot_tell)]
)
def test_a_doubt_is_put_on_record_when_the_database_is_back(lite, tmp_path, monkeypatch, asked, answer):
    attempts, _ = crew(lite, tmp_path, answer)
    plan_id = planned(attempts, "email") if asked == "doubt" else interrupted(attempts, "deploy")
    away(lite, asked, 3, monkeypatch)
    work(attempts, alone=True)

    assert states(lite, plan_id) == {"s1": "unknown"}
    assert len(messages(lite, "question")) == 1


def interrupted(attempts: Attempts, name: str) -> int:
    """A plan whose first attempt belonged to a process that is gone."""
    plan_id = planned(attempts, name)
    row = step_row(attempts.store, plan_id, "s1")
    contract = attempts.registry.contract("ops", name)
    assert attempts.store.claim(row.id or 0, taker(contract, owner="gone"))
    return plan_id


def test_a_safe_step_of_a_dead_process_runs_again(lite, tmp_path):
    attempts, worker = crew(lite, tmp_path, GOOD)
    plan_id = interrupted(attempts, "check")
    work(attempts, alone=True)

    assert lite.view(plan_id).outcome == "succeeded"
    assert worker.seen[0].attempt == 2


def test_an_unsafe_step_of_a_dead_process_asks_when_nothing_can_tell(lite, tmp_path):
    attempts, worker = crew(lite, tmp_path)
    plan_id = interrupted(attempts, "email")

    assert work(attempts, alone=True) == []
    assert states(lite, plan_id) == {"s1": "unknown"}
    assert len(messages(lite, "question")) == 1
    assert worker.seen == []


@pytest.mark.parametrize(
    ("answer", "state", "questions"),
    [
        (GOOD, "succeeded", 0),
        (Report.failed("rolled out half"), "failed", 0),
        (Verdict.did_not_run, "pending", 0),
        (Verdict.cannot_tell, "unknown", 1),
        (Transient("no answer"), "unknown", 1),
        (KeyError("oops"), "unknown", 1),
    ],
    ids=["ran", "failed", "did not run", "cannot tell", "busy", "broke"],
)
def test_a_probe_decides_what_became_of_an_interrupted_step(lite, tmp_path, answer, state, questions):
    attempts, _ = crew(lite, tmp_path, answer)
    plan_id = interrupted(attempts, "deploy")
    work(attempts, alone=True)

    assert states(lite, plan_id) == {"s1": state}
    assert len(messages(lite, "question")) == questions


def test_an_attempt_that_lost_its_lease_is_told_to_stop(lite, clock, tmp_path):
    attempts, _ = crew(lite, tmp_path)
    planned(attempts, "check")
    mine = Crew(2)
    (running,) = take_turn(attempts, mine, alone=False)
    heartbeat(attempts, mine)
    assert not running.cancelled()
    clock.advance(60)
    other = replace(attempts, owner="w2")
    take_turn(other, Crew(2), alone=False)
    heartbeat(attempts, mine)

    assert running.cancelled()


class Belated(Store):
    """A process that looked before another one acted."""

    found: list[Any] = []  # noqa: RUF012 # one value, set by the test

    def lapsed(self, *, owner: str, alone: bool) -> list[Any]:
        return self.found


def test_a_step_that_another_process_recovered_first_stops_nobody(lite, clock, tmp_path):
    attempts, _ = crew(lite, tmp_path)
    plan_id = planned(attempts, "check")
    take_turn(attempts, Crew(2), alone=False)
    clock.advance(60)
    late = Belated(lite.engine, clock)
    late.found = lite.lapsed(owner="w2", alone=False)
    recover(replace(attempts, owner="w2"), alone=False)
    recover(replace(attempts, owner="w3", store=late), alone=False)

    assert states(lite, plan_id) == {"s1": "pending"}


def only(attempts: Attempts) -> Running:
    (running,) = take_turn(attempts, Crew(2), alone=False)
    return running


def test_what_a_person_must_say_is_a_question_and_no_failure(lite, tmp_path):
    attempts, _ = crew(lite, tmp_path, Asks("Shall it go on?"))
    planned(attempts, "check")
    ending = attempts.run(only(attempts))

    assert (ending.verb, ending.choice, ending.report.summary) == ("fail", "ask", "Shall it go on?")
    assert ending.report.data == {CHECKPOINT: True}


def test_what_would_happen_otherwise_by_now_is_a_question_with_what_it_is_now(lite, tmp_path):
    moved = Moved(Preview("two pods", {"pods": 2}))

    assert str(moved) == "not started: what it would do has changed since it was approved. Now: two pods"
    assert question(moved).data == {"basis": basis_hash({"pods": 2})}


def test_a_worker_that_is_unsure_leaves_an_unsafe_step_unknown_and_a_safe_one_failed(lite, tmp_path):
    attempts, _ = crew(lite, tmp_path, Unsure("no answer"), Unsure("no answer"))
    unsafe, safe = planned(attempts, "email"), planned(attempts, "check")
    work(attempts)

    assert (states(lite, unsafe), states(lite, safe)) == ({"s1": "unknown"}, {"s1": "failed"})


def test_who_slept_past_the_lease_does_nothing_and_says_so(lite, clock, tmp_path, caplog):
    attempts, worker = crew(lite, tmp_path, GOOD)
    planned(attempts, "email")
    running = only(attempts)
    clock.advance(60)
    recover(replace(attempts, owner="w2"), alone=False)

    assert attempts.run(running) is None
    assert worker.seen == []
    assert "is no longer ours; it ends here" in caplog.text


@pytest.mark.parametrize(("slept", "effects"), [(0, 1), (14, 1), (60, 0)])
def test_who_stood_still_inside_an_action_does_not_do_what_somebody_else_has_found(
    lite, clock, tmp_path, slept, effects
):
    done = []

    def act() -> Report[Data]:
        clock.advance(slept)
        recover(replace(attempts, owner="w2"), alone=False)
        worker.seen[-1].hold()
        clock.advance(14)
        recover(replace(attempts, owner="w2"), alone=False)
        done.append("effect")
        return GOOD

    attempts, worker = crew(lite, tmp_path, act)
    plan_id = planned(attempts, "email")
    ending = attempts.run(only(attempts))

    assert (len(done), ending is not None) == (effects, bool(effects))
    assert states(lite, plan_id) == {"s1": "running" if effects else "unknown"}


def test_a_bug_is_in_the_log_with_its_step(lite, tmp_path, caplog):
    attempts, _ = crew(lite, tmp_path, RuntimeError("oops"))
    plan_id = planned(attempts, "check")
    attempts.run(only(attempts))

    assert f"plan={plan_id} step=s1 attempt=1 broke" in caplog.text


def test_parameters_that_the_action_refuses_are_a_failure_before_any_effect(lite, tmp_path):
    attempts, worker = crew(lite, tmp_path, GOOD)
    planned(attempts, "email")
    running = only(attempts)
    wrong = replace(running, claim=replace(running.claim, parameters={"nowhere": 1}))
    ending = attempts.run(wrong)

    assert ending.verb == "fail"
    assert ending.report.summary.startswith("ops.email refused its parameters")
    assert worker.seen == []


def test_what_it_was_before_is_asked_for_once(lite, tmp_path):
    attempts, _ = crew(lite, tmp_path, GOOD, GOOD)
    plan_id = planned(attempts, "deploy")
    running = only(attempts)
    known = replace(running, claim=replace(running.claim, previous={"version": "1.0.0"}))
    attempts.run(known)
    assert step_row(lite, plan_id, "s1").previous == {}

    attempts.run(running)
    assert step_row(lite, plan_id, "s1").previous == {"version": "2.1.3"}


def test_an_action_without_a_past_writes_none(lite, tmp_path, monkeypatch):
    attempts, _ = crew(lite, tmp_path, GOOD)
    planned(attempts, "email")
    running, started = only(attempts), []
    monkeypatch.setattr(Store, "start", lambda self, claim, previous: started.append(previous))
    attempts.run(running)

    assert started == []


def test_progress_is_put_on_record_at_once_and_then_now_and_then(lite, tmp_path, monkeypatch):
    attempts, worker = crew(lite, tmp_path, GOOD)
    plan_id, moment = planned(attempts, "check"), [100.0]
    monkeypatch.setattr("workers.engine.attempt.time.monotonic", lambda: moment[0])
    attempts.run(replace(only(attempts), began=100.0))
    (ctx,) = worker.seen
    for at, text in ((100.0, "1 of 3"), (101.9, "2 of 3"), (102.0, "3 of 3"), (103.9, "more")):
        moment[0] = at
        ctx.progress(text)
        if at < 102:
            assert step_row(lite, plan_id, "s1").progress == "1 of 3"

    assert step_row(lite, plan_id, "s1").progress == "3 of 3"


def test_an_attempt_may_take_all_of_its_time_and_no_more(lite, tmp_path, monkeypatch):
    running, moment = Running(CLAIM, began=100.0), [100.0 + CLAIM.timeout]
    monkeypatch.setattr("workers.engine.attempt.time.monotonic", lambda: moment[0])
    assert not running.cancelled()
    moment[0] += 0.1

    assert running.cancelled()


def test_a_process_takes_what_it_offers_for_a_quarter_of_a_minute(lite, tmp_path):
    attempts, _ = crew(lite, tmp_path)

    assert (attempts.taker.owner, attempts.taker.lease) == ("w1", timedelta(seconds=15))
    assert attempts.taker.contracts.keys() == {("ops", name) for name in ("check", "deploy", "email")}


def test_who_asks_for_no_time_waits_as_usual():
    assert retry_wait(replace(CLAIM, retries=Retries(attempts=3, wait=0.0)), asking(0)) == 0.0


def test_no_more_is_taken_than_there_are_hands(lite, tmp_path):
    attempts, _ = crew(lite, tmp_path)
    for _ in range(3):
        planned(attempts, "check")
    mine = Crew(2)

    assert len(take_turn(attempts, mine, alone=False)) == 2
    assert take_turn(attempts, mine, alone=False) == []


def test_a_claim_whose_answer_got_lost_lapses_though_this_process_runs_others(lite, clock, tmp_path):
    attempts, _ = crew(lite, tmp_path)
    stray, held = planned(attempts, "email"), planned(attempts, "email")
    lost, kept = attempts.store.turn([], attempts.taker, 2)
    assert (lost.plan_id, kept.plan_id) == (stray, held)
    mine = Crew(2)
    mine.add([Running(kept)])
    for _ in range(3):
        clock.advance(10)
        heartbeat(attempts, mine)

    assert [one.plan_id for one in lite.lapsed(owner="w1", alone=False)] == [stray]


def test_what_was_claimed_starts_though_the_database_is_away_for_the_rest(lite, tmp_path, monkeypatch):
    attempts, _ = crew(lite, tmp_path)
    planned(attempts, "email")
    hands, right = Crew(2, own={"other": 1}), lite.turn
    turns = iter([right])

    def turn(*given: Any) -> Any:
        if found := next(turns, None):
            return found(*given)
        raise Unavailable("The database does not answer.")

    monkeypatch.setattr(lite, "turn", turn)

    assert [one.claim.plan_id for one in take_turn(attempts, hands, alone=False)] == [1]
    with pytest.raises(Unavailable):
        take_turn(attempts, hands, alone=False)
