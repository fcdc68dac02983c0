"""The buttons of a card, by where its plan stands. What each does is for `bot.inbox.clicks` to say."""

from bot.cards.blocks import Block, actions, button, menu, pack, plain
from bot.cards.escalation import update_button, updating
from bot.planner.edits.way_back import way_back
from storage.contract.states import PlanState
from storage.reading.plan_view import PlanView

CANCELLING = {
    "title": plain("Cancel this plan"),
    "text": {
        "type": "mrkdwn",
        "text": "Steps that wait do not start. A step that runs is told to stop; what is done stays done.",
    },
    "confirm": plain("Cancel Plan"),
    "deny": plain("Keep It"),
}


def buttons(view: PlanView, *, approvable: bool) -> list[Block]:
    """One row, the likeliest first, then Details. What follows an end can wait: its rest is behind dots."""
    value = pack(view.id, view.revision, view.digest)
    row = _of_state(view, value, approvable=approvable)
    here, rest = (row[:1], row[1:]) if view.state == PlanState.done else (row, [])
    row = [*here, button("Details", "details", value), *([menu(*rest)] if rest else [])]
    return [actions(_name(view), *row)] if view.spec else []


def _of_state(view: PlanView, value: str, *, approvable: bool) -> list[Block]:
    if view.state == PlanState.proposed:
        yes = [button("Approve", "approve", value, "primary")] if approvable else []
        renew = [update_button(view)] if view.outdated else []
        return [*yes, *renew, button("Edit", "edit", value), button("Reject", "reject", value)]
    if view.state in {PlanState.approved, PlanState.stalled}:
        return [] if view.cancelled_by else _under_way(view, value)
    if view.state == PlanState.expired:
        return [button("Ask Again", "again", value)]
    return _afterwards(view, value) if view.state in {PlanState.done, PlanState.cancelled} else []


def _afterwards(view: PlanView, value: str) -> list[Block]:
    """What can be done about what was done; also where only a part of it was."""
    back = [button("Roll Back", "back", value)] if way_back(view) else []
    if view.state == PlanState.cancelled:
        return back
    if view.outcome != "succeeded":
        return [*back, button("Try Again", "again", value)]
    return [*back, button("Do It Again", "again", value), button("Save as Runbook", "save", value)]


def _under_way(view: PlanView, value: str) -> list[Block]:
    later = view.state == PlanState.approved and any(step.movable for step in view.steps)
    return [
        *(row["elements"][0] for row in updating(view)),
        button("Cancel", "cancel", value) | {"confirm": CANCELLING},
        *([button("Move Later", "later", value)] if later else []),
    ]


def _name(view: PlanView) -> str:
    kind = "decide" if view.state == PlanState.proposed else "plan"
    return f"{kind}_{view.id}_r{view.revision}"
