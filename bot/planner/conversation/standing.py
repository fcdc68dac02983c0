"""What an act in a plan's thread becomes, by how the plan stands: a table. No row approves."""

from typing import Literal

from bot.planner.conversation.acts import Kind
from storage.contract.states import OPEN, PlanState

Phase = Literal["proposed", "under way", "ended"]
Deed = Literal[
    "withdraw", "ask whether to cancel", "it is over", "point to the button", "answer", "amend", "move later",
    "it is closed", "propose again", "not yet", "step back", "nothing to undo", "propose the way back",
    "retry", "ask back", "wave", "nothing",
]  # fmt: skip

BECOMES: dict[Kind, dict[Phase, Deed]] = {
    "cancel": {"proposed": "withdraw", "under way": "ask whether to cancel", "ended": "it is over"},
    "approving": {"proposed": "point to the button", "under way": "nothing", "ended": "nothing"},
    "question": {"proposed": "answer", "under way": "answer", "ended": "answer"},
    "edit": {"proposed": "amend", "under way": "move later", "ended": "it is closed"},
    "again": {"proposed": "not yet", "under way": "not yet", "ended": "propose again"},
    "undo": {"proposed": "step back", "under way": "nothing to undo", "ended": "propose the way back"},
    "retry": {"proposed": "retry", "under way": "retry", "ended": "propose again"},
    "unclear": {"proposed": "ask back", "under way": "ask back", "ended": "nothing"},
    "thanks": {"proposed": "wave", "under way": "wave", "ended": "wave"},
    "hello": {"proposed": "nothing", "under way": "nothing", "ended": "nothing"},
    "talk": {"proposed": "nothing", "under way": "nothing", "ended": "nothing"},
}


def phase(state: PlanState) -> Phase:
    if state == PlanState.proposed:
        return "proposed"
    return "under way" if state in OPEN else "ended"


def becomes(kind: Kind, state: PlanState) -> Deed:
    return BECOMES[kind][phase(state)]
