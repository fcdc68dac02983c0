"""What an answer is worth, when a step is tried again, and that an attempt always ends on record."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from storage.contract.capability import Check
from storage.contract.report import AnyReport, Fault
from storage.contract.spec import Retries
from tests.support.fakes import approve, messages, plan_spec, states, step, step_row, taker, terms, work
from tests.support.scratch import CLAIM
from tests.support.store import Store
from workers.base import Context, Params, Permanent, Report, Transient, Verdict, Worker, action
from workers.engine.attempt import Attempts, judge, retry_wait
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


def test_no_more_is_taken_than_there_are_hands(lite, tmp_path):
    attempts, _ = crew(lite, tmp_path)
    for _ in range(3):
        planned(attempts, "check")
    mine = Crew(2)

    assert len(take_turn(attempts, mine, alone=False)) == 2
    assert take_turn(attempts, mine, alone=False) == []
