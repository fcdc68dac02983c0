"""Who sees a plan, on every surface: who has a part in it, and who could read its channel. Nobody else."""

from collections.abc import Callable
from itertools import chain

from bot.policy.authorize import Actor, breakers, entitled
from storage.config import SignoffConfig
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import PlanView

Reads = Callable[[str], bool]  # whether this person could read a channel


def visible(actor: Actor, plan: PlanView, config: SignoffConfig, reads: Reads) -> bool:
    """Whether this person sees this plan. The operator on the server holds the rows, and sees all."""
    if actor.terminal:
        return True
    if actor.barred or actor.team != plan.team:
        return False
    if plan.private:
        return actor.user == plan.requester
    if actor.user in {plan.requester, *plan.authors, *plan.approved_by} or actor.among(
        {*asked(plan, config), *config.board.auditors}
    ):
        return True
    return reads(plan.channel)


def asked(plan: PlanView, config: SignoffConfig) -> set[str]:
    """Whom the plan itself asks: they must see what they decide, wherever it was asked for."""
    stuck = plan.state == PlanState.stalled or any(step.state == StepState.unknown for step in plan.steps)
    deciding = entitled(plan, config) if plan.quorums or stuck else ()
    return {*chain(deciding, breakers(plan, config))}
