"""Who may, and what a plan needs. Pure: no I/O, deny by default, every answer with its reason."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.planner.validate import Catalogue
from bot.policy import apply_rules as rules
from bot.policy.apply_rules import RISKS, reasons
from storage.config import ON_CALL, SignoffConfig, is_group
from storage.contract.demands import Quorum
from storage.contract.grouping import lengthy
from storage.contract.spec import PlanSpec, StepSpec
from storage.plans.lifecycle import Terms
from storage.reading.plan_view import PlanView


@dataclass(frozen=True)
class Actor:
    """A person as Slack knows them at this moment. `barred` says why they may do nothing at all."""

    team: str
    user: str
    barred: str = ""
    groups: frozenset[str] = frozenset()  # those that policy names, and they are in
    person: str = ""  # what Slack knows of who is behind the account: one for all of theirs; "" if nothing
    terminal: bool = False  # the operator, on the server: they hold the configuration and the database
    unsure: str = ""  # which group could not be asked about them, and why
    machine: str = ""  # what asks in the name of `user`; it has none of their rights

    def among(self, ids: Collection[str]) -> bool:
        return self.user in ids or not self.groups.isdisjoint(ids)


@dataclass(frozen=True)
class Allowed:
    """Yes."""


@dataclass(frozen=True)
class Refused:
    """No, and why, in a sentence to the person."""

    reason: str


# Who may do what to a plan: any of these roles. What is not listed, nobody may.
ROLES: dict[str, frozenset[str]] = {
    "request": frozenset({"member", "machine"}),
    "amend": frozenset({"requester", "approver"}),
    "approve": frozenset({"asked"}),
    "reject": frozenset({"requester", "approver"}),
    "cancel": frozenset({"requester", "approver", "admin", "own"}),
    "postpone": frozenset({"requester", "approver"}),
    "answer": frozenset({"requester", "approver"}),
    "resolve": frozenset({"asked"}),
    "take_over": frozenset({"asked"}),
    "save": frozenset({"requester", "approver"}),
    "bring_in": frozenset({"approver"}),  # runbooks of others
    "break_glass": frozenset({"glass"}),
    "review": frozenset({"approver", "admin"}),
    "look": frozenset({"member", "operator", "own"}),
    "stop": frozenset({"admin", "operator"}),
    "resume": frozenset({"admin", "operator"}),
    "tend": frozenset({"approver", "admin"}),  # what recurs, set up by somebody else
    "run": frozenset({"operator"}),  # a process of ours
    "enrol": frozenset({"operator"}),  # second factors
    "relay": frozenset({"operator"}),  # a signed approval: who signed it is asked for besides
    "admit": frozenset({"operator"}),  # machines: tokens, hooks
    "audit": frozenset({"operator"}),  # the journal: export, checkpoint, prune
}

SAID = {
    "break_glass": "use the emergency override for",
    "take_over": "take over a step of",
    "bring_in": "bring in runbooks",
}  # where the verb is no word


def authorize(actor: Actor, verb: str, plan: PlanView | None, config: SignoffConfig) -> Allowed | Refused:
    """Whether this person may do this: the one place that decides, whichever way they came."""
    if actor.barred:
        return Refused(actor.barred)
    if plan is not None and actor.team != plan.team:
        return Refused("This plan belongs to another workspace.")
    wanted = ROLES.get(verb, frozenset())
    if verb == "approve" and plan is not None and (reason := _unapprovable(actor, plan)):
        return Refused(reason)
    if verb == "review" and plan is not None and actor.user in (plan.broken_by, *plan.authors):
        return Refused("You used the emergency override or made this plan, so somebody else must review it.")
    if not wanted & _roles(actor, plan, config):
        return Refused(f"{_refusal(verb, plan, config)} {actor.unsure}".rstrip())
    return Allowed()


def who(plan: PlanView, quorum: Quorum | None = None) -> str:
    """The people who may approve, or who count for one quorum, as mentions."""
    ids = quorum.of if quorum else plan.approvers
    able = [mention(id_) for id_ in ids if id_ not in plan.authors or plan.demands.authors]
    return " or ".join(able) or "nobody; ask an administrator to add approvers in signoff.toml"


def mention(id_: str) -> str:
    if id_.startswith(ON_CALL):
        return f"whoever is on call ({id_.removeprefix(ON_CALL)})"
    return f"<!subteam^{id_}>" if is_group(id_) else f"<@{id_}>"


def asks_of(quorum: Quorum, config: SignoffConfig) -> tuple[str, ...]:
    return config.people.approvers if quorum.general else quorum.of


def entitled(plan: PlanView, config: SignoffConfig) -> set[str]:
    """Whom this plan asks, as far as today's configuration still names them; else the approvers."""
    ids = {id_ for quorum in plan.quorums for id_ in asks_of(quorum, config)}
    return (ids or {*config.people.approvers}) & config.named()


def terms(
    spec: PlanSpec, catalogue: Catalogue, config: SignoffConfig, *, authors: tuple[str, ...], now: datetime,
    machine: str = "",
) -> Terms:  # fmt: skip
    """What this plan needs before it may run. Computed by code; nobody's opinion counts.

    `machine`: what asked for it, if no person did.
    """
    found = rules.case(spec, catalogue, config, requester=next(iter(authors), ""), now=now)
    worst = max((fact.risk for fact in found.facts), key=RISKS.index, default="low")
    asked, waits = rules.demands(found)
    if machine and (spec.mandate.extra or any(fact.changes or fact.drafts for fact in found.facts)):
        asked = rules.with_a_person(asked, config, authors)
    people = (id_ for quorum in asked.quorums for id_ in quorum.of)
    approvers = (*dict.fromkeys(people),) or config.people.approvers
    return Terms(
        risk=worst,
        reasons=reasons([fact for fact in found.facts if fact.risk == worst]),
        needed=max((quorum.needed for quorum in asked.quorums), default=0),
        approvers=approvers,
        authors=authors,
        policy=config.version(),
        seconds=duration(spec, catalogue),
        expires_at=now + waits,
        demands=asked,
        lengthy=lengthy(spec, catalogue.find, approvers),
    )


def duration(spec: PlanSpec, catalogue: Catalogue) -> float:
    """How long the longest chain of steps takes, by what each took lately; waiting is not counted."""
    done: dict[str, float] = {}
    waiting = list(spec.steps)
    while waiting:
        step = next(s for s in waiting if all(need in done for need in s.depends_on))
        contract = catalogue.find(step)
        own = contract.takes(step.parameters)[0] if contract else 0.0
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
    """Not earlier, and with no more time to end in; what has a time keeps what becomes of it at the end."""
    before, after = old.schedule, new.schedule
    if before.not_before is None or after.not_before is None:
        begins = before.not_before is None
        return begins and (before.not_after is None or after.not_after == before.not_after)
    by = after.not_before - before.not_before
    ends = before.not_after is None or (after.not_after and after.not_after - before.not_after <= by)
    return by >= timedelta(0) and bool(ends) and after.overrun == before.overrun


def _unapprovable(actor: Actor, plan: PlanView) -> str:
    """Why this person's approval of this plan is none, whoever they are; or ""."""
    if plan.demands.denied:
        return f"Policy does not allow this plan: {'; '.join(plan.demands.denied)}."
    if actor.user in plan.authors and not plan.demands.authors:
        return f"You asked for this plan or changed it, so somebody else must approve it: {who(plan)}."
    return ""


def _roles(actor: Actor, plan: PlanView | None, config: SignoffConfig) -> set[str]:
    if actor.terminal:
        return {"operator"}
    if actor.machine:
        return {"machine", "own"} if plan is not None and plan.machine == actor.machine else {"machine"}
    roles = {"member"}
    if plan is not None and actor.user == plan.requester:
        roles.add("requester")
    if actor.among(config.people.approvers):
        roles.add("approver")
    if plan is not None and actor.among(entitled(plan, config)):
        roles |= {"approver", "asked"}
    if actor.among(config.people.admins):
        roles.add("admin")
    if plan is not None and actor.among(breakers(plan, config)):
        roles.add("glass")
    return roles


def breakers(plan: PlanView, config: SignoffConfig) -> set[str]:
    """Whom a rule lets break the glass for this plan, as far as today's configuration still names them."""
    return {id_ for glass in plan.demands.glass for id_ in glass.of} & config.named()


def _refusal(verb: str, plan: PlanView | None, config: SignoffConfig) -> str:
    able = {
        "requester": [plan.requester] if plan else [],
        "approver": config.people.approvers,
        "asked": sorted(entitled(plan, config)) if plan else [],
        "admin": config.people.admins,
        "glass": sorted(breakers(plan, config)) if plan else [],
    }
    people = dict.fromkeys(id_ for role in able if role in ROLES.get(verb, ()) for id_ in able[role])
    names = " or ".join(map(mention, people)) or "nobody (no such people are configured)"
    return f"You may not {SAID.get(verb, verb)}{' this plan' if plan else ''}. Those who may: {names}."
