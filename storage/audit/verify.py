"""Checks an exported journal against a checkpoint. The standard library alone: this one file can be copied.

Each line of an export is `{"hash":"…","event":{…}}`; the hash is the SHA-256 of the event's text as it stands
there, and `prev` in the text is the hash of the event before it. A checkpoint knows the newest hash of every
chain, and one root over them. So nothing older than a checkpoint can be changed, left out or cut off unseen.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Heads = dict[int, tuple[int, str]]  # of each plan (0 is the system): how many events, and the last one's hash
LINE = re.compile(rb'\{"hash":"([0-9a-f]{64})","event":(\{"actor":.*\})\}\n?', re.DOTALL)
TAIL = re.compile(rb',"plan":(\d+),"prev":"([0-9a-f]*)","seq":(\d+),"verb":"(\w+)"\}')
START = (0, "")
SHOWN = 20  # problems that are said one by one


@dataclass(frozen=True)
class Checkpoint:
    """What is known to have been true at one time."""

    at: str
    events: int
    root: str
    heads: Heads

    def __str__(self) -> str:
        return f"checkpoint of {self.at}: {self.events} events in {len(self.heads)} chains, root {self.root}"


@dataclass
class Verdict:
    """What a check found. `newer` events hold together, but no checkpoint has seen them yet."""

    events: int = 0
    newer: int = 0
    pruned: int = 0
    heads: Heads = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        facts = f"{self.events} events in {len(self.heads)} chains, {self.newer} newer than the checkpoint"
        if self.pruned:
            facts += f", {self.pruned} pruned and known by their hash"
        if not self.problems:
            return f"{facts}: every link holds"
        rest = len(self.problems) - SHOWN
        more = [f"… and {rest} more"] if rest > 0 else []
        return "\n  ".join([f"{facts}: {len(self.problems)} problems", *self.problems[:SHOWN], *more])


def check(
    lines: Iterable[bytes], anchor: Heads, *, since: Mapping[int, tuple[int, str]] | None = None
) -> Verdict:
    """Follow every chain, from its beginning or from the heads it had before, to those of the anchor."""
    chains = _Chains(anchor, dict(since or {}))
    for number, line in enumerate(lines, start=1):
        chains.take(number, line)
    return chains.finish()


class _Chains:
    """Where the reading stands: the chain at hand, and the heads of those before it."""

    def __init__(self, anchor: Heads, since: Heads) -> None:
        self.anchor, self.verdict = anchor, Verdict(heads=since)
        self.plan, self.seq, self.head = -1, 0, ""

    def take(self, number: int, line: bytes) -> None:
        whole = LINE.fullmatch(line)
        tail = TAIL.fullmatch(whole[2], whole[2].rfind(b',"plan":')) if whole else None
        if not whole or not tail:
            self._problem(f"line {number} is not an event")
            return
        digest = whole[1].decode()
        plan, prev, seq, verb = int(tail[1]), tail[2].decode(), int(tail[3]), tail[4]
        if plan != self.plan:
            self._turn_to(plan)
        if (seq, prev) != (self.seq + 1, self.head):
            self._problem(f"plan {plan}, event {seq} does not follow event {self.seq}")
        if hashlib.sha256(whole[2]).hexdigest() != digest:
            self._problem(f"plan {plan}, event {seq} is not what was hashed")
        self._stand(seq, digest)
        self.verdict.events += 1
        self.verdict.newer += seq > self.anchor.get(plan, START)[0]
        if plan == 0 and verb == b"prune":
            self._prune(seq, whole[2])

    def finish(self) -> Verdict:
        self.verdict.heads[self.plan] = (self.seq, self.head)
        self.verdict.heads.pop(-1, None)
        for plan, (count, _) in self.anchor.items():
            found = self.verdict.heads.get(plan, START)[0]
            if found < count:
                self._problem(f"plan {plan} ends with event {found}, but had {count} at the checkpoint")
        return self.verdict

    def _turn_to(self, plan: int) -> None:
        if plan < self.plan:
            self._problem(f"plan {plan} comes after plan {self.plan}: the lines are out of order")
        self.verdict.heads[self.plan] = (self.seq, self.head)
        self.plan = plan
        self._stand(*self.verdict.heads.get(plan, START))

    def _stand(self, seq: int, digest: str) -> None:
        self.seq, self.head = seq, digest
        count, known = self.anchor.get(self.plan, START)
        if seq == count and digest != known:
            self._problem(f"plan {self.plan}, event {seq} is not the one of the checkpoint")

    def _prune(self, seq: int, text: bytes) -> None:
        """Events that retention removed: their place is taken by the hash of the last one."""
        if seq > self.anchor.get(0, START)[0]:
            self._problem(f"event {seq} of the system removed events, and no checkpoint has seen it yet")
            return
        for plan, first, last, digest in _removed(text):
            self.verdict.pruned += last - first + 1
            count, known = self.anchor.get(plan, START)
            if count < last or (count == last and known != digest):
                self._problem(f"plan {plan}: what was removed is not what the checkpoint knows")
            if self.verdict.heads.get(plan, START)[0] < last:
                self.verdict.heads[plan] = (last, digest)

    def _problem(self, sentence: str) -> None:
        self.verdict.problems.append(sentence)


def _removed(text: bytes) -> list[tuple[int, int, int, str]]:
    """Each chain that a prune cut: its plan, the first and the last event that went, the last hash."""
    try:
        chains = json.loads(text)["data"]["chains"]
        return [(int(plan), int(first), int(last), str(digest)) for plan, first, last, digest in chains]
    except (ValueError, KeyError, TypeError):
        return []  # its hash is no good either; and what it removed is missed


def root(heads: Mapping[int, tuple[int, str]]) -> str:
    """The Merkle root over all heads in the order of their plans; a leaf is no node (RFC 6962)."""
    leaves = (b"\0%d:%d:%s" % (plan, count, head.encode()) for plan, (count, head) in sorted(heads.items()))
    row = [hashlib.sha256(leaf).digest() for leaf in leaves]
    while len(row) > 1:
        pairs = [row[at : at + 2] for at in range(0, len(row), 2)]
        row = [hashlib.sha256(b"\1" + b"".join(pair)).digest() if pair[1:] else pair[0] for pair in pairs]
    return row[0].hex() if row else ""


def torn(line: str) -> bool:
    """Whether a crash, or copying the file, has stopped in the middle of this line: it never was one."""
    return not line.endswith(("\n", "}"))


def read_checkpoint(lines: Iterable[str], wanted: str = "") -> Checkpoint:
    """The newest checkpoint of a file, or the one with this root. Each line names the heads that moved."""
    heads: Heads = {}
    last: dict[str, Any] = {}
    for line in lines:
        if torn(line):
            break
        last = json.loads(line)
        heads |= {int(plan): (int(count), str(digest)) for plan, count, digest in last["heads"]}
        if wanted and last["root"] == wanted:
            break
    if not last or last["root"] != (wanted or last["root"]) or root(heads) != last["root"]:
        raise ValueError("it holds no such checkpoint, or was changed: its heads do not make its root")
    return Checkpoint(last["at"], sum(count for count, _ in heads.values()), last["root"], heads)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m storage.audit.verify", description="Check an exported journal."
    )
    parser.add_argument("export", type=Path, help="what `signoff audit export` wrote")
    parser.add_argument(
        "--checkpoint", type=Path, required=True, help="the file the checkpoints are anchored in"
    )
    parser.add_argument("--root", default="", help="check against the checkpoint with this root, as posted")
    given = parser.parse_args(arguments)
    try:
        with given.checkpoint.open(encoding="utf-8") as anchored:
            known = read_checkpoint(anchored, given.root)
        with given.export.open("rb") as lines:
            verdict = check(lines, known.heads)
    except FileNotFoundError as error:
        sys.exit(
            f"There is no {error.filename}. `--checkpoint FILE` names where the checkpoints are anchored."
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{given.checkpoint} and {given.export} cannot be compared: {error}")
    sys.stdout.write(f"{known}\n{verdict}\n")
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main())
