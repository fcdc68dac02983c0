"""A proposal for the policy to judge: ANN asked; BOB and CAROL may approve."""

from bot.planner.validate import Catalogue
from storage.contract.states import PlanState
from storage.reading.plan_view import PlanView
from tests.support.fakes import CONTRACTS, NOW, plan_spec

CATALOGUE = Catalogue([*CONTRACTS.values()])
PLAN = PlanView(
    id=1, state=PlanState.proposed, version=1, text="deploy a", team="T1", requester="ANN", channel="C1",
    thread="", card="", outcome="", reason="", created_at=NOW, revision=1, spec=plan_spec(), needed=1,
    approvers=("BOB", "CAROL"), authors=("ANN",),
)  # fmt: skip
