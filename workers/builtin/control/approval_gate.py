"""A human checkpoint inside a plan: what follows starts only when somebody who may approve says so."""

from pydantic import BaseModel, Field

from workers.base import Asks, Context, Params, Report, Worker, action


class ConfirmParams(Params):
    """What people are asked."""

    question: str = Field(min_length=3, max_length=500)


class ConfirmData(BaseModel):
    """Nothing to tell: the answer is a person's."""


class ApprovalGate(Worker):
    """Asks in the thread whether the plan goes on, and waits for the answer."""

    name = "approval-gate"

    @action(
        changes=False,
        repeat="safe",
        timeout=60,
        typical=1,
        says="*Ask:* {question}",
    )
    def confirm(self, params: ConfirmParams, ctx: Context) -> Report[ConfirmData]:
        """Asks people a question; the plan waits for their Go On."""
        raise Asks(params.question)
