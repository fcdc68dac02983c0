"""Who may, and what a plan needs. Pure: no I/O, deny by default, every answer with its reason."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.plans import Terms
from storage.spec import PlanSpec, StepSpec
from storage.views import PlanView

RISKS = ("low", "medium", "high")


@dataclass(frozen=True)
class Actor:
    """A person as Slack knows them at this moment. `barred` says why they may do nothing at all."""

    team: str
    user: str
    barred: str = ""


@dataclass(frozen=True)
class Allowed:
    """Yes."""


@dataclass(frozen=True)
class Refused:
    """No, and why, in a sentence to the person."""

    reason: str


# Who may do what to a plan: any of these roles. What is not listed, nobody may.
ROLES: dict[str, frozenset[str]] = {
    "request": frozenset({"member"}),
    "amend": frozenset({"requester", "approver"}),
    "approve": frozenset({"approver"}),
    "reject": frozenset({"requester", "approver"}),
    "cancel": frozenset({"requester", "approver", "admin"}),
    "answer": frozenset({"requester", "approver"}),
    "resolve": frozenset({"approver"}),
    "take_over": frozenset({"approver"}),
    "stop": frozenset({"admin"}),
    "resume": frozenset({"admin"}),
}


def authorize(actor: Actor, verb: str, plan: PlanView | None, config: SignoffConfig) -> Allowed | Refused:
    """The only door: every way in asks here."""
    if actor.barred:
        return Refused(actor.barred)
    if plan is not None and actor.team != plan.team:
        return Refused("This plan belongs to another workspace.")
    wanted = ROLES.get(verb, frozenset())
    if verb == "approve" and plan is not None and actor.user in plan.authors:
        return Refused(
            f"You asked for this plan or changed it, so somebody else must approve it: {who(plan)}."
        )
    if not wanted & _roles(actor, plan, config):
        return Refused(_refusal(verb, plan, config))
    return Allowed()


def who(plan: PlanView) -> str:
    """The people who may approve, as mentions."""
    able = [f"<@{user}>" for user in plan.approvers if user not in plan.authors]
    return " or ".join(able) or "nobody; ask an administrator to add approvers in signoff.toml"


def terms(
    spec: PlanSpec, catalogue: Catalogue, config: SignoffConfig, *, authors: tuple[str, ...], now: datetime
) -> Terms:
    """What this plan needs before it may run. Computed by code; nobody's opinion counts."""
    risks = [(step, *_risk(step, catalogue, config)) for step in (*spec.steps, *spec.rollback)]
    worst = max((risk for _, risk, _ in risks), key=RISKS.index, default="low")
    reasons = tuple(dict.fromkeys(why for _, risk, why in risks if risk == worst))
    changes = any(risk != "low" for _, risk, _ in risks)
    return Terms(
        risk=worst,
        reasons=reasons,
        needed=getattr(config.policy.approvals, worst) if changes else 0,
        approvers=config.people.approvers,
        authors=authors,
        policy=config.version(),
        seconds=duration(spec, catalogue),
        expires_at=now + timedelta(hours=config.policy.expires_hours),
    )


def duration(spec: PlanSpec, catalogue: Catalogue) -> float:
    """How long the longest chain of steps takes, by the actions' typical times; waiting is not counted."""
    done: dict[str, float] = {}
    waiting = list(spec.steps)
    while waiting:
        step = next(s for s in waiting if all(need in done for need in s.depends_on))
        contract = catalogue.find(step)
        own = contract.typical if contract else 0.0
        done[step.id] = own + max((done[need] for need in step.depends_on), default=0.0)
        waiting.remove(step)
    return max(done.values(), default=0.0)


def only_later(old: PlanSpec, new: PlanSpec) -> bool:
    """Whether an edit does nothing but postpone: its editor is then not an author, and may approve."""
    untimed = [
        [step.model_copy(update={"schedule": old.steps[0].schedule, "purpose": ""}) for step in spec.steps]
        for spec in (old, new)
    ]
    same = untimed[0] == untimed[1] and old.rollback == new.rollback
    parts = ("done_when", "mandate", "continues", "review")
    same = same and all(getattr(old, part) == getattr(new, part) for part in parts)
    return same and all(_later(a, b) for a, b in zip(old.steps, new.steps, strict=True))


def _later(old: StepSpec, new: StepSpec) -> bool:
    before, after = old.schedule.not_before, new.schedule.not_before
    return before == after or (after is not None and (before is None or after >= before))


def _risk(step: StepSpec, catalogue: Catalogue, config: SignoffConfig) -> tuple[str, str]:
    contract = catalogue.find(step)
    if contract is None or not contract.changes:
        return "low", "nothing is changed"
    place = contract.environment(step.parameters)
    what = contract.locks(step.parameters).replace(":", " ") or f"something by {step.worker}.{step.action}"
    where = "" if place in what.split("/")[0].split() else f" in {place or 'an unnamed environment'}"
    risky = place in config.policy.production or not place
    return "high" if risky else "medium", f"changes {what}{where}"


def _roles(actor: Actor, plan: PlanView | None, config: SignoffConfig) -> set[str]:
    roles = {"member"}
    if plan is not None and actor.user == plan.requester:
        roles.add("requester")
    if actor.user in config.people.approvers:
        roles.add("approver")
    if actor.user in config.people.admins:
        roles.add("admin")
    return roles


def _refusal(verb: str, plan: PlanView | None, config: SignoffConfig) -> str:
    able = {
        "requester": [plan.requester] if plan else [],
        "approver": config.people.approvers,
        "admin": config.people.admins,
    }
    people = dict.fromkeys(user for role in able if role in ROLES.get(verb, ()) for user in able[role])
    names = " or ".join(f"<@{user}>" for user in people) or "nobody (no such people are configured)"
    return f"You may not {verb.replace('_', ' ')}{' this plan' if plan else ''}. Those who may: {names}."
