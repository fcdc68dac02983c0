"""Whose delivery is next, and what must not be handled at the same time. Pure."""

from collections.abc import Collection, Mapping, Sequence

from bot.inbox.dispatch import in_turn
from bot.inbox.origin import meant
from storage.exchange.deliveries import Waiting


def lines(one: Waiting) -> frozenset[str]:
    """Where it stands in line: behind its person's earlier acts, alone in its thread and at its plan."""
    found = {f"person {one.user}"}
    if where := one.thread or one.place:
        found.add(f"thread {one.channel} {where}")
    if plan := meant({"meta": {"p": one.plan}} if one.plan else {"value": one.value}):
        found.add(f"plan {plan}")
    return frozenset(found)


def ready(
    waiting: Sequence[Waiting], served: Mapping[str, float], busy: Collection[str]
) -> list[tuple[Waiting, frozenset[str]]]:
    """What can be handled now, all at the same time, the first in turn first; `busy` are lines in work."""
    firsts = dict[str, Waiting]()
    for one in waiting:
        firsts.setdefault(one.user, one)
    taken, found = {*busy}, list[tuple[Waiting, frozenset[str]]]()
    for one in in_turn([*firsts.values()], served):
        if taken.isdisjoint(mine := lines(one)):
            found.append((one, mine))
        taken |= mine
    return found
