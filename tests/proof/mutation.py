"""python -m tests.proof.mutation [MODULE …]: changes the code that decides, and expects a test to notice.

Each mutant lives in a process of its own, forked from one that has imported everything, and meets the tests
that reach it first: a run takes minutes.
What no test can notice stands in mutants.txt, with the reason.
"""

import importlib
import os
import resource
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.proof.parts.mutants import Mutant, install, mutants
from tests.proof.parts.reach import Reach

HERE = Path(__file__).parent
PATIENCE = 4.0  # times as long as the right code takes: a mutant that goes on for ever was noticed
MEMORY = 4 << 30  # bytes: one that collects for ever was noticed, too
# Which tests must notice; the quick ones first.
WATCHED: dict[str, tuple[str, ...]] = {
    "storage.contract.spec": ("storage/contract/test_spec.py",),
    "bot.policy.authorize": ("bot/policy/test_authorize.py", "bot/policy/test_authorize_terms.py"),
    "bot.planner.review.gate": ("bot/planner/review/test_gate.py",),
    "storage.secrets.redaction": (
        "storage/secrets/test_redaction_known_values.py",
        "storage/secrets/test_redaction.py",
    ),
    "storage.contract.states": (
        "invariants/test_formal_model.py::test_the_model_moves_as_the_code_does",
        "storage/contract/test_states.py",
    ),
    "bot.plans.permits": (
        "bot/plans/test_permits.py",
        "bot/plans/test_override.py",
        "bot/machines/oncall/test_duty.py::test_a_yes_given_on_call_outlives_the_shift_unless_the_schedule_says_otherwise",
    ),
    "storage.plans.permits": ("storage/plans/test_permits.py",),
    "storage.steps.claims": (
        "storage/steps/test_claims.py",
        "storage/steps/test_ending.py",
        "storage/steps/test_taking.py",
        "storage/steps/test_recovery.py",
        "storage/steps/test_turn.py",
    ),
    "storage.steps.due": (
        "storage/steps/test_due.py",
        "storage/steps/test_taking.py",
        "storage/steps/test_turn.py",
        "bot/plans/test_review.py",
    ),
    "storage.steps.recovery": ("storage/steps/test_recovery.py",),
    "workers.engine.attempt": ("workers/engine/test_attempt.py", "workers/engine/test_preview.py"),
    "bot.times.when": ("bot/times/test_when.py",),
    "bot.times.recurrence": ("bot/times/test_recurrence.py",),
    "storage.plans.recurrences": (
        "storage/plans/test_recurrences.py",
        "bot/turns/test_recurring_runs.py",
        "bot/inbox/test_recurring.py",
    ),
    "bot.inbox.recurring": ("bot/inbox/test_recurring.py", "bot/turns/test_recurring_runs.py"),
    "storage.steps.lateness": ("storage/steps/test_lateness.py",),
    "workers.engine.clock": (
        "workers/engine/test_turn.py",
        "workers/engine/test_attempt.py",
        "workers/engine/test_schedule.py",
        "workers/engine/test_carrier.py",
    ),
    "bot.cards.home": ("bot/cards/test_home.py",),
    "bot.turns.recurring_runs": ("bot/turns/test_recurring_runs.py", "bot/inbox/test_recurring.py"),
}
QUIET = (
    "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=no", "-W", "ignore",
    "-m", "not postgres",  # a server for each mutant takes longer than all that it could notice
)  # fmt: skip


def equivalents() -> set[str]:
    """Mutants that do the same as the right code; each line is a name, two spaces and the reason."""
    lines = (HERE / "parts" / "mutants.txt").read_text(encoding="utf-8").splitlines()
    return {line.partition("  # ")[0] for line in lines if line and not line.startswith("#")}


def tested(tests: tuple[str, ...], reach: Reach) -> int:
    return int(pytest.main([*QUIET, *(str(HERE.parent / test) for test in tests)], plugins=[reach]))


def lives(mutant: Mutant, reach: Reach) -> int:
    """Fork a process in which the mutant stands in for the right code; its id."""
    child = os.fork()
    if child:
        return child
    void = os.open(os.devnull, os.O_WRONLY)
    os.dup2(void, 1)
    os.dup2(void, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    alive = 1
    try:
        install(mutant)
        alive = 0  # whatever else happens to it: it was noticed
        alive = 0 if tested(WATCHED[mutant.module], reach.first(mutant.owner)) else 1
    finally:
        os._exit(alive)


def survivors(found: list[Mutant], reach: Reach, hands: int, patience: float) -> list[Mutant]:
    """Run the tests against each mutant, a few at a time; those that nobody noticed."""
    waiting, running, alive = [*reversed(found)], dict[int, tuple[Mutant, float]](), []
    while waiting or running:
        while waiting and len(running) < hands:
            mutant = waiting.pop()
            running[lives(mutant, reach)] = (mutant, time.monotonic() + patience)
        for child, (mutant, until) in [*running.items()]:
            ended, status = os.waitpid(child, os.WNOHANG)
            if not ended and time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
            if ended:
                del running[child]
                alive += [mutant] if os.waitstatus_to_exitcode(status) == 1 else []
        time.sleep(0.01)
    return alive


def main(*modules: str, hands: int = os.cpu_count() or 1) -> int:
    say, known, wrong = sys.stdout.write, equivalents(), Counter[str]()
    for module in modules or WATCHED:
        begun = time.monotonic()
        reach = Reach(importlib.import_module(module).__file__ or "")
        if tested(WATCHED[module], reach):  # and everything is imported
            say(f"{module}: its own tests do not pass\n")
            return 1
        found = [mutant for mutant in mutants(module) if mutant.name not in known]
        alive = survivors(found, reach, hands, 5.0 + PATIENCE * (time.monotonic() - begun))
        wrong[module] = len(alive)
        killed = len(found) - len(alive)
        took = time.monotonic() - begun
        say(f"{module}: {killed} of {len(found)} noticed ({killed / len(found):.1%}), {took:.0f} s\n")
        for mutant in alive:
            say(f"  {mutant.name}\n")
        sys.stdout.flush()
    return 1 if wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
