"""python -m tests.proof.audit [COUNT] [CHAINS]: tampers with a long journal, and reads it fast."""

import random
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from storage.audit.verify import Heads, check, root
from storage.journal.chain import event_hash, event_text
from tests.support.fakes import NOW

Chain = list[dict[str, Any]]  # one plan's events, as they are hashed, each with its hash
Lines = list[bytes]
VERBS = ("request", "propose", "approve", "permit", "claim", "succeed", "fail", "refuse", "finish")


def link(plan: int, events: Chain) -> Chain:
    """The events numbered and hashed anew: what somebody can do who knows how it is done."""
    linked: Chain = []
    for seq, event in enumerate(events, start=1):
        prev = linked[-1]["hash"] if linked else ""
        made = {key: value for key, value in event.items() if key != "hash"} | {
            "plan": plan,
            "seq": seq,
            "prev": prev,
        }
        linked.append(made | {"hash": event_hash(**made)})
    return linked


def chain(plan: int, length: int, chance: random.Random) -> Chain:
    return link(plan, [_event(seq, chance) for seq in range(length)])


def _event(seq: int, chance: random.Random) -> dict[str, Any]:
    data = {
        "step": f"step-{chance.randint(1, 9)}",
        "attempt": chance.randint(1, 3),
        "summary": "auth_prod backed up: 147.5 kB",
    }
    at = NOW + timedelta(seconds=seq, microseconds=chance.randint(0, 999_999))
    return {"at": at, "verb": chance.choice(VERBS), "actor": f"U{chance.randint(0, 99):02}", "data": data}


def lines_of(chains: dict[int, Chain]) -> Lines:
    return [line(event) for plan in sorted(chains) for event in chains[plan]]


def line(event: dict[str, Any]) -> bytes:
    text = event_text(**{key: value for key, value in event.items() if key != "hash"})
    return b'{"hash":"%s","event":%s}\n' % (event["hash"].encode(), text)


class Journal:
    """A long journal, a checkpoint of it, and some newer events."""

    def __init__(self, chains: int, seed: int = 1) -> None:
        self.chance = random.Random(seed)  # noqa: S311 # the same tamperings every time
        self.chains = {plan: chain(plan, self.chance.randint(20, 60), self.chance) for plan in range(chains)}
        self.anchor: Heads = {}
        for plan, events in self.chains.items():
            seen = len(events) - self.chance.randint(0, 5)
            self.anchor[plan] = (seen, events[seen - 1]["hash"])
        self.lines = {plan: [line(event) for event in events] for plan, events in self.chains.items()}

    def old(self) -> tuple[int, int]:
        """A chain, and the place of an event in it that the checkpoint covers."""
        plan = self.chance.choice([*self.chains])
        return plan, self.chance.randrange(self.anchor[plan][0])

    def with_chain(self, plan: int, lines: Lines) -> Lines:
        return [
            text for other in sorted(self.lines) for text in (lines if other == plan else self.lines[other])
        ]

    def relinked(self, plan: int, change: Callable[[Chain], None]) -> Lines:
        events = [dict(event) for event in self.chains[plan]]
        change(events)
        return self.with_chain(plan, [line(event) for event in link(plan, events)])


def flip_a_byte(journal: Journal) -> Lines:
    plan, at = journal.old()
    lines = [*journal.lines[plan]]
    place = journal.chance.randrange(len(lines[at]) - 1)
    other = journal.chance.choice([byte for byte in range(32, 127) if byte != lines[at][place]])
    lines[at] = lines[at][:place] + bytes([other]) + lines[at][place + 1 :]
    return journal.with_chain(plan, lines)


def edit_and_hash_it(journal: Journal) -> Lines:
    plan, at = journal.old()
    forged = {**journal.chains[plan][at], "actor": "MALLORY"}
    forged["hash"] = event_hash(**{key: value for key, value in forged.items() if key != "hash"})
    return journal.with_chain(plan, [*journal.lines[plan][:at], line(forged), *journal.lines[plan][at + 1 :]])


def edit_and_link_again(journal: Journal) -> Lines:
    plan, at = journal.old()
    return journal.relinked(plan, lambda events: events[at].update(actor="MALLORY"))


def backdate_and_link_again(journal: Journal) -> Lines:
    plan, at = journal.old()
    earlier = journal.chains[plan][at]["at"] - timedelta(microseconds=1)
    return journal.relinked(plan, lambda events: events[at].update(at=earlier))


def delete(journal: Journal) -> Lines:
    plan, at = journal.old()
    return journal.with_chain(plan, journal.lines[plan][:at] + journal.lines[plan][at + 1 :])


def delete_and_link_again(journal: Journal) -> Lines:
    plan, at = journal.old()
    return journal.relinked(plan, lambda events: events.pop(at) and None)


def insert_and_link_again(journal: Journal) -> Lines:
    plan, at = journal.old()
    return journal.relinked(plan, lambda events: events.insert(at, _event(0, journal.chance)))


def swap(journal: Journal) -> Lines:
    plan, at = journal.old()
    lines, other = [*journal.lines[plan]], (at + 1) % len(journal.lines[plan])
    lines[at], lines[other] = lines[other], lines[at]
    return journal.with_chain(plan, lines)


def swap_and_link_again(journal: Journal) -> Lines:
    plan, at = journal.old()
    other = (at + 1) % journal.anchor[plan][0]

    def exchange(events: Chain) -> None:
        events[at], events[other] = events[other], events[at]

    return journal.relinked(plan, exchange)


def cut_the_end(journal: Journal) -> Lines:
    plan, at = journal.old()
    return journal.with_chain(plan, journal.lines[plan][:at])


def cut_the_beginning(journal: Journal) -> Lines:
    plan, at = journal.old()
    return journal.with_chain(plan, journal.lines[plan][at + 1 :])


def repeat(journal: Journal) -> Lines:
    plan, at = journal.old()
    return journal.with_chain(plan, journal.lines[plan][: at + 1] + journal.lines[plan][at:])


def pretend_it_was_pruned(journal: Journal) -> Lines:
    plan, at = journal.old()
    plan = plan or 1
    at %= len(journal.chains[plan])
    removed = [plan, 1, at + 1, journal.chains[plan][at]["hash"]]
    events = [dict(event) for event in journal.chains[0]]
    events.append(_event(0, journal.chance) | {"verb": "prune", "data": {"chains": [removed]}})
    chains = journal.chains | {0: link(0, events), plan: journal.chains[plan][at + 1 :]}
    return lines_of(chains)


KINDS: tuple[Callable[[Journal], Lines], ...] = (
    flip_a_byte, edit_and_hash_it, edit_and_link_again, backdate_and_link_again, delete, swap, repeat,
    delete_and_link_again, insert_and_link_again, swap_and_link_again, cut_the_end, cut_the_beginning,
    pretend_it_was_pruned,
)  # fmt: skip


def unnoticed(count: int, chains: int, seed: int = 1) -> list[str]:
    """How many of so many tamperings a check does not find, by kind."""
    journal = Journal(chains, seed)
    missed = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        if not check(kind(journal), journal.anchor).problems:
            missed.append(kind.__name__)
    return missed


def speed(events: int = 200_000) -> float:
    """Rows a second, of this process's own time."""
    journal = Journal(events // 40)
    lines = journal.with_chain(-1, [])
    begun = time.process_time()
    verdict = check(lines, journal.anchor)
    root(verdict.heads)
    return len(lines) / (time.process_time() - begun)


def main(count: int = 10_000, chains: int = 60) -> int:
    rows = sum(map(len, Journal(chains).chains.values()))
    missed = unnoticed(count, chains)
    say = sys.stdout.write
    say(
        f"{count} tamperings of {len(KINDS)} kinds with {rows} events: {len(missed)} unnoticed {missed[:5]}\n"
    )
    say(f"verified {speed():,.0f} rows/s\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
