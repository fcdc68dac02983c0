"""Who may decide what, as tables: the oracle of the matrix, written from the design.

Nothing of the product's policy is read here; tests/proof/parts/matrix_stage.py plays every case and compares.
"""

from typing import Any

from storage.config import SignoffConfig

# The people. First who Slack says they are, then what the configuration below says of them.
HOME: dict[str, Any] = {"team_id": "T1", "deleted": False, "is_bot": False}
GUEST, LONE = {"is_restricted": True}, {"is_restricted": True, "is_ultra_restricted": True}
GRID = {"enterprise_user": {"enterprise_id": "E2"}}
FACTS: dict[str, dict[str, Any]] = {
    "UGUEST": GUEST, "ULONE": LONE, "UGUESTAPP": GUEST, "UGUESTADM": GUEST, "UOUT": {"team_id": "T2"},
    "UOUTAPP": {"team_id": "T2"}, "USTRANGER": {"is_stranger": True}, "UBOT": {"is_bot": True},
    "UBOTAPP": {"is_bot": True}, "USLACKBOT": {}, "UGONE": {"deleted": True}, "UGONEAPP": {"deleted": True},
    "UGRID": GRID, "UGRIDAPP": GRID,
}  # fmt: skip
UNANSWERED = {"UFAIL", "UFAILAPP", "UNOBODY"}  # Slack does not say who they are
MEMBERS = (
    "UANN", "UEDITOR", "UPAT", "UBOB", "UCAROL", "UGRETA", "UREMY", "UADA", "UGIA", "UABE", "UEVE", "UOLGA",
    "UOSKAR", "UOLD", "UDINO", "UADAM",
)  # fmt: skip
KINDS = (*MEMBERS, *FACTS, *sorted(UNANSWERED))
GROUPS = {"SAPP": ["UGRETA", "UGUEST", "UGONE"], "SADM": ["UGIA", "UBOT"], "SONCALL": ["UOSKAR"]}
CONFIG = SignoffConfig.model_validate({
    "people": {
        "approvers": ["UBOB", "UCAROL", "UPAT", "UEDITOR", "UABE", "SAPP", "UGUESTAPP", "UOUTAPP", "UBOTAPP",
                      "UGONEAPP", "UGRIDAPP", "UFAILAPP"],
        "admins": ["UADA", "UABE", "UADAM", "SADM", "UGUESTADM"],
    },
    "policy": {
        "approvals": {"high": 4}, "limits": {"plans_per_hour": 0, "plans_per_target": 0},
        "rules": [
            {"name": "fire", "reason": "somebody must",
             "break_glass": {"overrides": ["approvals"], "from": ["UOLGA", "SONCALL"]}},
            {"name": "staging", "reason": "theirs", "when": {"environment": "staging"},
             "require": {"from": ["UDINO"]}},
        ],
    },
})  # fmt: skip
AUTHORS = ("UANN", "UEDITOR", "UADAM")  # asked for it, or changed more than its time

# The oracle. What each kind may do, besides nothing; whoever is not here, may do nothing.
ANYBODY = {"request", "look"}
APPROVER = ANYBODY | {"amend", "approve", "reject", "cancel", "answer", "resolve", "take_over", "review"}
ADMIN = ANYBODY | {"cancel", "stop", "resume", "review"}
RIGHTS = {
    "UANN": ANYBODY | {"amend", "reject", "cancel", "answer"},  # asked for it
    "UEDITOR": APPROVER - {"approve", "review"},  # an approver who changed it
    "UPAT": APPROVER,  # an approver who only postponed it
    "UBOB": APPROVER,
    "UCAROL": APPROVER,  # has approved it already
    "UGRETA": APPROVER,  # by a group
    "UREMY": ANYBODY,  # was removed from that group
    "UADA": ADMIN,
    "UGIA": ADMIN,  # by a group
    "UADAM": ADMIN - {"review"},  # an admin who changed it
    "UABE": ADMIN | APPROVER,
    "UEVE": ANYBODY,
    "UOLGA": ANYBODY | {"break_glass"},
    "UOSKAR": ANYBODY | {"break_glass"},  # by a group
    "UOLD": ANYBODY,  # stands on the card, but no longer in the configuration
    "UDINO": ANYBODY,  # named by a rule that does not speak of this plan
}
STATES = (
    "planning", "proposed", "approved", "running", "unknown", "stalled", "done", "rejected", "expired",
    "cancelled",
)  # fmt: skip
ALWAYS = frozenset(STATES)
TAKES = {
    "approve": {"proposed"}, "amend": {"proposed"}, "reject": {"proposed"}, "answer": {"stalled"},
    "take_over": {"stalled"}, "resolve": {"unknown"}, "break_glass": {"proposed"}, "review": set[str](),
    "cancel": {"planning", "proposed", "approved", "running", "stalled"}, "request": ALWAYS, "look": ALWAYS,
    "stop": ALWAYS, "resume": ALWAYS,
}  # fmt: skip


def expected(kind: str, act: Any, state: str) -> str:
    """What must become of it: done, late (may, but not now), refused, or not even read."""
    if act.way == "thread" and state != "proposed":
        return "unread"  # talk that is about no proposal
    if kind in UNANSWERED:
        return "refused"
    if act.verb not in rights(kind, state):
        return "unread" if act.way == "thread" else "refused"
    if state not in TAKES[act.verb] or (act.counts and kind == "UCAROL"):
        return "late"
    return "late" if act.quiet else "done"


def rights(kind: str, state: str) -> set[str]:
    """Before there is a revision nobody has changed it, and no rule has spoken of it."""
    before = {"UEDITOR": APPROVER, "UADAM": ADMIN, "UOLGA": ANYBODY, "UOSKAR": ANYBODY}
    return (before if state == "planning" else {}).get(kind, RIGHTS.get(kind, set()))
