"""A plan in the real turns of the bot, and workers that claim for real: what they do is a line in a file."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.context import Advise, Bot
from bot.planner.evaluation import config
from bot.planner.runbooks.book import Planned
from bot.turns.rounds import tend
from storage.config import SignoffConfig
from storage.contract.report import AnyReport
from storage.contract.spec import PlanSpec
from storage.contract.states import OPEN, PlanState
from storage.reading.plan_view import PlanView
from storage.steps.claims import Claim, Taker
from tests.proof.parts.faulty import offered
from tests.support.fakes import Everybody
from tests.support.room import think
from tests.support.store import Store

Behave = Callable[[Claim], AnyReport]  # what an action does when it is called
LEASE = timedelta(minutes=5)


@dataclass(frozen=True)
class Effect:
    """One call that really happened: the witness knows nothing else."""

    plan: int
    key: str
    call: str
    parameters: dict[str, Any]
    at: str


@dataclass
class Turning:
    """One bot, one workers process, one clock that is moved by hand; the file is the witness."""

    store: Store
    file: Path
    behave: Behave
    advise: Advise | None = None
    config: SignoffConfig = field(default_factory=config)
    people: dict[str, Any] = field(default_factory=lambda: {"approvers": ["BOB"], "admins": []})

    def __post_init__(self) -> None:
        contracts = {(c.worker, c.action): c for c in offered().contracts()}
        self.taker = Taker("w1", contracts, LEASE)
        self.store.publish(contracts.values())
        self.file.touch()

    def bot(self, spec: PlanSpec | None = None) -> Bot:
        known = self.config.model_copy(update={"people": self.config.people.model_validate(self.people)})
        drafted = (lambda text, spend, ground: Planned(spec, "as drafted")) if spec else None
        return Bot(self.store, known, Everybody(), lambda trigger, view: None, [], drafted, self.advise)

    def approved(self, spec: PlanSpec) -> int:
        """Asked for, proposed by a turn, approved by a person."""
        plan_id = self.store.request("get it done", team="T1", user="ANN", channel="C1")
        think(self.bot(spec))
        for wanted in self.store.previews_wanted(self.taker.contracts.keys()):
            self.store.show(wanted, "as planned", "", actor="w1")
        view = self.store.view(plan_id)
        if view.state == PlanState.proposed:
            given = {"team": "T1", "user": "BOB", "policy": view.policy}
            self.store.approve(plan_id, view.revision, view.digest, **given)
        return plan_id

    def run(self, plan_id: int, *, rounds: int = 12, step: float = 3600.0) -> PlanView:
        """Turn after turn, until it has ended or only people can go on."""
        for _ in range(rounds):
            self.work()
            think(self.bot())
            view = self.store.view(plan_id)
            if view.state not in OPEN or view.state in {PlanState.proposed, PlanState.stalled}:
                break
            if not self.store.due(self.taker, 1):
                self.store.clock.advance(step)  # type: ignore[attr-defined] # a clock to move by hand
        return self.store.view(plan_id)

    def work(self, *, without: str = "") -> None:
        """Claim and run whatever may run, as a workers process does that may lack one worker."""
        offered = {offer: found for offer, found in self.taker.contracts.items() if offer[0] != without}
        for _ in range(20):
            tend(self.bot())
            claims = self.store.turn([], Taker("w1", offered, LEASE), 8)
            if not claims:
                return
            for claim in claims:
                self._run(claim)

    def _run(self, claim: Claim) -> None:
        """The effect is written down first; a fault that may pass is tried again as workers do."""
        with self.file.open("a", encoding="utf-8") as out:
            call = f"{claim.worker}.{claim.action}"
            at = self.store.clock().isoformat()
            fact = {"plan": claim.plan_id, "key": claim.key, "call": call, "at": at}
            out.write(json.dumps(fact | {"parameters": dict(claim.parameters)}) + "\n")
        report = self.behave(claim)
        transient = report.error is not None and report.error.kind == "transient" and claim.repeat == "safe"
        if report.status == "succeeded":
            self.store.succeed(claim, report, actor="w1")
        elif transient and claim.attempt < claim.retries.attempts:
            self.store.retry(claim, report, actor="w1", wait=claim.retries.wait)
        else:
            self.store.fail(claim, report, actor="w1")


def read(file: Path) -> Iterator[Effect]:
    for line in file.read_text(encoding="utf-8").splitlines():
        yield Effect(**json.loads(line))
