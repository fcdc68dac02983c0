"""Every committed fault through the real turns of bot and workers: python -m tests.proof.ladder."""

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from bot.cli.stats import Stats, stats
from bot.planner.decision import Decision
from bot.planner.evaluation import NOW
from bot.planner.prepare import complete
from storage.contract.report import AnyReport, Fault
from storage.contract.spec import PlanSpec
from storage.database.engine import migrate, open_engine
from storage.journal.stories import Story, story
from storage.steps.claims import Claim
from tests.proof.parts.faulty import called, faults, knowing, offered, policy
from tests.support.fakes import FakeClock
from tests.support.store import Store
from tests.support.turning import Turning

TRIES = 4  # a fault that passes by itself has passed when it is tried for the fifth time


def meet(store: Store, fault: dict[str, Any], file: Path) -> int:
    """A plan whose first step meets the fault, run as far as it goes without a person after the approval."""

    def behave(claim: Claim) -> AnyReport:
        if claim.key != "work" or (fault["family"] == "transient" and claim.attempt > TRIES):
            return AnyReport.ok("done", {})
        error = Fault(kind=fault["error"], message=fault["says"], after=fault.get("after"))
        return AnyReport(status="failed", summary=fault["says"], error=error)

    def advise(now: Any, history: Any, rungs: Any, spend: Any) -> Decision:
        return knowing(fault)(now, history, rungs)

    turning = Turning(store, file, behave, advise, policy())
    plan_id = turning.approved(plan(fault))
    turning.run(plan_id, step=60.0)
    return plan_id


def plan(fault: dict[str, Any]) -> PlanSpec:
    """The step that meets the fault, and one that waits for it."""
    work = called("work", fault["call"], fault["with"])
    look = called("look", "http-check.check_http", {"endpoint": "auth-prod"}, depends_on=("work",))
    spec, issues = complete(PlanSpec(goal="get it done", steps=(work, look)), offered(), policy(), NOW)
    assert not issues, (fault["id"], issues)
    return spec


def climb(engine: Engine, keys: list[str], folder: Path) -> tuple[Stats, dict[str, Story]]:
    """All these faults, each on its own; the figures are those of the journal."""
    store = Store(engine, FakeClock(NOW))
    ids = {key: meet(store, faults()[key], folder / "effects") for key in keys}
    told = {key: story(store.events(plan_id)) for key, plan_id in ids.items()}
    return stats(store.journal()), told


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(f"sqlite:///{folder}/ladder.db")
        migrate(engine)
        found, told = climb(engine, [*faults()], Path(folder))
    recovered = Counter(faults()[key]["family"] for key, one in told.items() if one.recovered)
    asked = Counter(faults()[key]["family"] for key, one in told.items() if one.asked)
    sys.stdout.write(
        f"{found.plans} faults; recovered {dict(recovered)}; reached a person {dict(asked)}; "
        f"by rung {found.recovered_by}\n"
    )
    share = sum(recovered.values()) / sum(fault["rung"] != "ask" for fault in faults().values())
    return int(share < 0.9 or asked["unrecoverable"] < 25)


if __name__ == "__main__":
    sys.exit(main())
