"""The oracle: what may never be, whatever died and when. Pure; it reads the witness and the rows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from storage.database.tables import Event
from storage.journal.chain import broken_link
from storage.reading.plan_view import PlanView
from tests.crash.witness import UNSAFE, VARIANTS, Effect

KINDS = ("lost", "twice", "stuck", "broken")


@dataclass(frozen=True)
class Fault:
    """One thing that must not be: an approval lost, an effect twice, a plan stuck, a journal broken."""

    kind: str
    text: str


@dataclass(frozen=True)
class Seen:
    """What is left when a run is over."""

    variant: str
    plan: PlanView
    events: Sequence[Event]
    effects: Sequence[Effect]
    targets: Sequence[str]
    acked: bool
    stopped: str = ""  # the point at which a process stood still until another had taken over


def faults(seen: Seen) -> list[Fault]:
    checks = {"lost": lost, "twice": twice, "stuck": stuck, "broken": broken}
    return [Fault(kind, text) for kind, check in checks.items() for text in check(seen)]


def lost(seen: Seen) -> Iterator[str]:
    if seen.acked and seen.plan.approved_by != ("BOB",):
        yield f"the approval was acked, and the plan is approved by {seen.plan.approved_by}"
    happened = {effect.name for effect in seen.effects}
    for step in seen.plan.steps:
        if step.state == "succeeded" and step.spec.id not in happened:
            yield f"{step.spec.id} counts as succeeded and never happened"


def twice(seen: Seen) -> Iterator[str]:
    counts = Counter(effect.name for effect in seen.effects)
    yield from (f"{name} happened {counts[name]} times" for name in sorted(UNSAFE) if counts[name] > 1)
    keys: dict[str, set[str]] = {}
    for effect in seen.effects:
        keys.setdefault(effect.name, set()).add(effect.key)
    yield from (f"{name} had {len(found)} idempotency keys" for name, found in keys.items() if len(found) > 1)


def stuck(seen: Seen) -> Iterator[str]:
    answers = [event.data for event in seen.events if event.verb == "resolve"]
    said = any((data["step"], data["answer"]) == ("last", "ran") for data in answers)
    # Who says that it ran does not say that it failed.
    if seen.plan.outcome != ("succeeded" if said else VARIANTS[seen.variant]):
        steps = {step.spec.id: str(step.state) for step in seen.plan.steps}
        yield f"the plan is {seen.plan.state} {seen.plan.outcome}: {seen.plan.reason} {steps}"
    elif seen.targets:
        yield f"the plan has ended and still holds {', '.join(seen.targets)}"


def broken(seen: Seen) -> Iterator[str]:
    if (seq := broken_link(list(seen.events))) is not None:
        yield f"the journal does not hold together at event {seq}"
    _, told, key = seen.stopped.partition("after effect ")
    if told and not any(event.verb == "late" and event.data["step"] == key for event in seen.events):
        yield f"the late report of {key} was not kept"
    takers: dict[tuple[str, int], str] = {}
    ended: Counter[str] = Counter()
    for event in seen.events:
        key, attempt = event.data.get("step", ""), event.data.get("attempt", 0)
        if event.verb in {"claim", "look"}:
            takers[key, attempt] = event.actor
        elif event.verb in {"succeed", "fail"} and event.actor not in {"rules", takers.get((key, attempt))}:
            yield f"attempt {attempt} of {key} was ended by {event.actor}, who did not hold it"
        ended[key] += event.verb == "succeed"
    yield from (f"{key} succeeded {count} times" for key, count in ended.items() if count > 1)
