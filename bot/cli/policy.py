"""`signoff policy`: what the rules say of a recorded plan, and what other rules would say."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from bot.cards.face.lines import subject
from bot.cli.sources import open_to_read
from bot.config import BotSettings
from bot.planner.validate import Catalogue
from bot.policy import apply_rules as rules
from bot.policy.apply_rules import Fact
from bot.policy.authorize import terms
from storage.config import SignoffConfig, read_config
from storage.contract.demands import Overridable, Quorum
from storage.errors import SignoffError
from storage.plans.lifecycle import Terms
from storage.reading.plan_view import PlanView

REPLAYED = 1000  # the newest plans


def main(settings: BotSettings, what: str, about: str) -> int:
    if what == "test":
        return replay(settings, Path(about) if about else None)
    if not about.isdigit():
        raise SignoffError("Please name the plan by its number: signoff policy explain 7")
    return explain(settings, int(about))


def explain(settings: BotSettings, plan_id: int) -> int:
    """Which rules speak of each step of a plan, what they ask together, and who may approve."""
    store, config = open_to_read(settings), read_config(settings.config)
    view, catalogue = store.view(plan_id), Catalogue(store.contracts())
    if view.spec is None:
        raise SignoffError(f"Plan {plan_id} has no revision yet, so no rule speaks of it.")
    print(f"Plan {view.id}, revision {view.revision}: {subject(view)}")
    print(f"policy {config.version()}" + (f", proposed under {view.policy}" if view.policy else ""))
    for line in explained(view, catalogue, config, store.clock()):
        print(line)
    return 0


def explained(view: PlanView, catalogue: Catalogue, config: SignoffConfig, now: datetime) -> Iterator[str]:
    if view.spec is None:
        return
    found = rules.case(view.spec, catalogue, config, requester=view.requester, now=now)
    for fact in found.facts:
        yield _told(fact)
        some = rules.matched(found, fact)
        yield from (f"    {rules.said(rule)}" for rule in some)
        if not some:
            yield f"    no rule speaks of it; risk {fact.risk} decides" if fact.changes else "    no rule"
    asked = terms(
        view.spec, catalogue, config, authors=view.authors or view.askers, now=now, machine=view.machine
    )
    yield f"Risk: {asked.risk} ({'; '.join(asked.reasons)})"
    yield from _asked(asked, view)


def replay(settings: BotSettings, changed: Path | None) -> int:
    """Recorded plans before another signoff.toml: what would differ. Nothing is written."""
    store, config = open_to_read(settings), read_config(changed or settings.config)
    catalogue, views = Catalogue(store.contracts()), [v for v in store.recent(REPLAYED) if v.spec]
    differing = 0
    for view in reversed(views):
        lines = [*differences(view, replayed(view, catalogue, config))]
        differing += bool(lines)
        for line in lines:
            print(f"plan {view.id}: {line}")
    print(f"{len(views)} plan(s) replayed under policy {config.version()}; {differing} would differ.")
    return 0


def replayed(view: PlanView, catalogue: Catalogue, config: SignoffConfig) -> Terms | None:
    """What this policy would have asked when the plan was asked for."""
    if view.spec is None:
        return None
    authors = view.authors or view.askers
    return terms(view.spec, catalogue, config, authors=authors, now=view.created_at, machine=view.machine)


def differences(view: PlanView, asked: Terms | None) -> Iterator[str]:
    """What this policy asks otherwise than was asked."""
    if asked is None:
        return
    old, new = view.demands, asked.demands
    if bool(old.denied) != bool(new.denied):
        yield f"now denied: {'; '.join(new.denied)}" if new.denied else "no longer denied"
    if view.risk != asked.risk:
        yield f"risk {view.risk} → {asked.risk}"
    before, after = (sorted(map(_people, some)) for some in (view.quorums, new.quorums))
    if before != after:
        yield f"approvals: {' and '.join(before) or 'none'} → {' and '.join(after) or 'none'}"
    for name, words in (("second_factor", "a second factor"), ("authors", "that authors may approve")):
        if getattr(old, name) != getattr(new, name):
            yield f"{'now' if getattr(new, name) else 'no longer'} {words}"
    yield from (f"now: {line}" for line in new.said if line not in old.said)
    yield from (f"no longer: {line}" for line in old.said if line not in new.said)
    yield from (f"now, {_overrides(glass)}" for glass in new.glass if glass not in old.glass)
    yield from (f"no longer, {_overrides(glass)}" for glass in old.glass if glass not in new.glass)
    given = [held for held in view.held if not new.denied]
    if given and any(quorum.short(given) for quorum in new.quorums):
        yield "the approvals that were given would not have sufficed"


def _told(fact: Fact) -> str:
    what = fact.why if fact.changes else "reads"
    return f"  {fact.step.id}: {fact.step.worker}.{fact.step.action}, {what}, risk {fact.risk}"


def _asked(asked: Terms, view: PlanView) -> Iterator[str]:
    for reason in asked.demands.denied:
        yield f"Denied: {reason}"
    for quorum in asked.demands.quorums:
        yield f"Needs {_people(quorum)}, because {quorum.why}"
    if not asked.demands.quorums:
        yield "Needs no approval"
    if asked.demands.second_factor:
        yield "Each approval needs a second factor"
    if view.authors and not asked.demands.authors:
        yield f"May not approve, as authors: {', '.join(view.authors)}"
    for glass in asked.demands.glass:
        yield f"I{_overrides(glass)[1:]}"
    if view.approved_by:
        yield f"Approved by: {', '.join(view.approved_by)}"


def _overrides(glass: Overridable) -> str:
    return f"in an emergency, {' or '.join(glass.of)} may override the {glass.part}"


def _people(quorum: Quorum) -> str:
    return f"{quorum.needed} from {' or '.join(quorum.of) or 'nobody'}"
