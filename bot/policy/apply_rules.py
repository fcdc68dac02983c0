"""Which rules of signoff.toml speak of a plan, and what they ask together. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import get_args

from bot.planner.validate import Catalogue
from bot.times.windows import next_opening
from bot.times.zones import spoken
from storage.config import SignoffConfig
from storage.contract.demands import Demands, Overridable, Part, Quorum
from storage.contract.mandate import allowance
from storage.contract.rules import Over, Rule, fits
from storage.contract.spec import PlanSpec, StepSpec

RISKS = ("low", "medium", "high")


@dataclass(frozen=True)
class Fact:
    """What policy knows of one step: computed by code, from the contract and the inventory."""

    step: StepSpec
    changes: bool
    environment: str
    target: str
    risk: str
    why: str  # of the risk
    at: datetime  # when it starts, at the earliest
    drafts: bool = False  # it makes what a later step may publish, and spends money


@dataclass(frozen=True)
class Case:
    """A plan before policy: its steps, how far it reaches, and who asks."""

    facts: tuple[Fact, ...]
    reach: Over
    requester: str
    config: SignoffConfig


def case(
    spec: PlanSpec, catalogue: Catalogue, config: SignoffConfig, *, requester: str, now: datetime
) -> Case:
    steps = (*spec.steps, *spec.rollback, *_mandated(spec, catalogue))
    facts = tuple(_fact(step, catalogue, config, now) for step in steps)
    return Case(facts, _reach(spec, facts, config), requester, config)


def _mandated(spec: PlanSpec, catalogue: Catalogue) -> Iterator[StepSpec]:
    """What may be drafted later without a question is asked about now, as if it were a step."""
    for text in spec.mandate.extra:
        found = allowance(text)
        contract = catalogue.find(found)
        if contract and contract.drafts:
            given = {name: words[0] for name, words in found.bounds.items() if name in contract.names}
            yield StepSpec(id="mandate", worker=found.worker, action=found.action, parameters=given)


def matched(found: Case, fact: Fact) -> list[Rule]:
    """The rules that speak of this step."""
    return [rule for rule in found.config.policy.rules if speaks(rule, found, fact)]


def speaks(rule: Rule, found: Case, fact: Fact) -> bool:
    when, people = rule.when, found.config.people
    named = (
        fits(when.worker, fact.step.worker) and fits(when.action, fact.step.action)
        and fits(when.environment, fact.environment) and fits(when.target, fact.target)
    )  # fmt: skip
    effect = not when.effect or (when.effect == "changes") is fact.changes
    asked = not when.requester or found.requester in people.expand(when.requester)
    risky = not when.risk or fact.risk in when.risk
    return (
        named
        and effect
        and asked
        and risky
        and when.hours(fact.at, found.config.zone)
        and _over(when.over, found.reach)
    )


def demands(found: Case) -> tuple[Demands, timedelta]:
    """What the rules ask together, and how long the proposal waits. Deny wins; else the strictest holds."""
    spoken_of = [(fact, matched(found, fact)) for fact in found.facts]
    rules = [*dict.fromkeys(rule for _, some in spoken_of for rule in some)]
    requires = [rule.require for rule in rules if rule.require]
    strict = [fact for fact, some in spoken_of if not _lenient(fact, some)]
    hours = [r.within_hours for r in requires if r.within_hours] or [found.config.policy.expires_hours]
    made = Demands(
        quorums=quorums(found, spoken_of),
        second_factor=any(require.second_factor for require in requires),
        read=any(require.read for require in requires),
        authors=bool(requires) and not strict,
        denied=(*(str(rule) for rule in rules if rule.deny), *_unreachable(found, spoken_of)),
        said=tuple(said(rule) for rule in rules if not rule.break_glass),
        glass=_overridable(spoken_of, found.config),
    )
    return made, timedelta(hours=min(hours))


def with_a_person(asked: Demands, config: SignoffConfig, authors: Iterable[str]) -> Demands:
    """What a machine wants changed needs a person who is not behind it, whatever the rules allow.

    Nor is it allowed while nobody knows who one of its authors is.
    """
    plain = Quorum(needed=1, of=config.people.approvers, general=True, why="a machine asks")
    unknown = [name for name in authors if is_handle(name)]
    denied = (
        f"nobody here knows who {name} is in Slack; "
        f"add them to [people.{name.partition(':')[0]}] in signoff.toml, and ask again"
        for name in unknown
    )
    quorums = asked.quorums or (plain,)
    return asked.model_copy(update={"quorums": quorums, "authors": False, "denied": (*asked.denied, *denied)})


def is_handle(name: str) -> bool:
    """Whether this names somebody elsewhere, as in github:octocat, whom nobody here knows as a person."""
    return ":" in name


def quorums(found: Case, spoken_of: Iterable[tuple[Fact, list[Rule]]]) -> tuple[Quorum, ...]:
    """Who must approve: by the rules, and where none speaks, as many as the step's risk asks for."""
    wanted: dict[tuple[str, ...], Quorum] = {}
    for fact, some in spoken_of:
        for quorum in _asked(found.config, fact, some):
            known = wanted.get(quorum.of, quorum)
            wanted[quorum.of] = max(known, quorum, key=lambda each: each.needed)
    return (*wanted.values(),)


def closed(found: Case, fact: Fact, lasts: timedelta, now: datetime) -> str:
    """The window that a rule makes this step wait for: open, and long enough for it. "" when it may start."""
    for rule in matched(found, fact):
        if rule.require and (name := rule.require.window):
            window = found.config.windows[name]
            opens, closes = next_opening(window, now)
            if opens > now:
                return f"{rule}; the window {name} opens {spoken(opens, window.zone)}"
            if closes - now < lasts:
                return f"{rule}; the window {name} closes too soon for it"
    return ""


def _asked(config: SignoffConfig, fact: Fact, some: Sequence[Rule]) -> list[Quorum]:
    requires = [(rule.require, str(rule)) for rule in some if rule.require]
    if requires:
        return [_quorum(config, r.approvals, r.of, why) for r, why in requires]
    if fact.drafts:  # by a person always, whatever a rule lets through
        return [_quorum(config, max(config.policy.approvals.low, 1), (), fact.why)]
    if not fact.changes or any(rule.allow for rule in some):
        return []
    return [_quorum(config, getattr(config.policy.approvals, fact.risk), (), fact.why)]


def _quorum(config: SignoffConfig, needed: int, names: tuple[str, ...], why: str) -> Quorum:
    of = config.people.expand(names) if names else config.people.approvers
    return Quorum(needed=needed, of=of, general=not names, why=why)


def _lenient(fact: Fact, some: Sequence[Rule]) -> bool:
    """Whether nothing about this step keeps its authors from approving."""
    requires = [rule.require for rule in some if rule.require]
    if requires:
        return all(require.authors for require in requires)
    return not fact.drafts and (not fact.changes or any(rule.allow for rule in some))


def _fact(step: StepSpec, catalogue: Catalogue, config: SignoffConfig, now: datetime) -> Fact:
    contract = catalogue.find(step)
    at = max(step.schedule.not_before or now, now)
    place = contract.environment(step.parameters) if contract else ""
    target = contract.locks(step.parameters) if contract else ""
    if contract is None:
        unknown = f"{step.worker}.{step.action}, which no worker offers"
        return Fact(step, True, place, target, "high", unknown, at)
    if contract.drafts and not contract.changes:
        return Fact(step, False, place, target, "low", "drafts something, and spends money", at, drafts=True)
    if not contract.changes:
        return Fact(step, False, place, target, "low", "nothing is changed", at)
    kind, _, name = target.partition(":")
    named = f"{kind} {name.removeprefix(f'{place}/')}".strip()
    what = named or f"something by {step.worker}.{step.action}"
    where = "" if place in what.split() else f" in {place or 'an unnamed environment'}"
    risk = "high" if place in config.policy.production or not place else "medium"
    return Fact(step, True, place, target, risk, f"changes {what}{where}", at)


def reasons(facts: Sequence[Fact]) -> tuple[str, ...]:
    """Why a plan is as risky as it is: each step's reason; before several, the one place that they change."""
    each, places = [*dict.fromkeys(fact.why for fact in facts)], {fact.environment for fact in facts}
    changing = all(fact.changes for fact in facts)
    whole = (
        [f"changes {places.pop()}"] if changing and len(each) > 1 and len(places) == 1 and all(places) else []
    )
    return (*whole, *each)


def _reach(spec: PlanSpec, facts: tuple[Fact, ...], config: SignoffConfig) -> Over:
    """How far the plan reaches: its steps, and the replicas and databases that it changes."""
    changing = [fact.step.parameters for fact in facts if fact.changes]
    services = config.inventory.get("services", {})
    replicas: dict[str, int] = {}
    for given in changing:
        if name := str(given.get("service", "")):
            sizes = (
                replicas.get(name, 0),
                given.get("replicas", 0),
                services.get(name, {}).get("replicas", 1),
            )
            replicas[name] = max(size for size in sizes if isinstance(size, int))
    databases = {str(given["database"]) for given in changing if given.get("database")}
    return Over(steps=len(spec.steps), replicas=sum(replicas.values()), databases=len(databases))


def _over(limit: Over, reach: Over) -> bool:
    """Whether any of the limits that are given is passed; without any, always."""
    given = limit.model_dump(exclude_none=True)
    return not given or any(getattr(reach, name) > most for name, most in given.items())


def _unreachable(found: Case, spoken_of: Iterable[tuple[Fact, list[Rule]]]) -> Iterable[str]:
    """Steps whose approved time ends before their window opens: they could never start."""
    for fact, some in spoken_of:
        for rule in some:
            end = fact.step.schedule.not_after
            if end and rule.require and rule.require.window:
                opens, _ = next_opening(found.config.windows[rule.require.window], fact.at)
                if opens >= end:
                    zone = found.config.windows[rule.require.window].zone
                    yield f"{rule}; {fact.step.id} would end before {spoken(opens, zone)}, when that opens"


def said(rule: Rule) -> str:
    """A rule as the card says it."""
    asked = rule.require
    if glass := rule.break_glass:
        return f"{rule} (in an emergency, {', '.join(glass.of)} may override: {', '.join(glass.overrides)})"
    if asked is None:
        return f"{rule} ({'no approval needed' if rule.allow else 'not allowed'})"
    more = [f"{asked.approvals} approval{'s' if asked.approvals > 1 else ''}"]
    more += ["a second factor"] if asked.second_factor else []
    more += ["read before it is approved"] if asked.read else []
    more += ["authors may approve"] if asked.authors else []
    more += [f"only in the window {asked.window}"] if asked.window else []
    more += [f"within {asked.within_hours:g} hours"] if asked.within_hours else []
    return f"{rule} ({', '.join(more)})"


def _overridable(
    spoken_of: Iterable[tuple[Fact, list[Rule]]], config: SignoffConfig
) -> tuple[Overridable, ...]:
    """What may be overridden, and by whom: only what the rules permit for every changing step."""
    each = [
        {(part, id_) for rule in some if (glass := rule.break_glass)
         for part in glass.overrides for id_ in config.people.expand(glass.of)}
        for fact, some in spoken_of if fact.changes
    ]  # fmt: skip
    common = set.intersection(*each) if each else set()
    return tuple(
        Overridable(part=part, of=(*people,))
        for part in get_args(Part)
        if (people := sorted(id_ for found, id_ in common if found == part))
    )
