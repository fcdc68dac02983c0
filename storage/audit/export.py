"""The journal as lines that anybody can check, its checkpoints, and records for a SIEM. Reads only."""

import fcntl
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Integer, Text, cast, select
from sqlmodel import col

from storage.audit.verify import START, Checkpoint, Heads, check, read_checkpoint, root
from storage.config import RELEASE
from storage.contract.spec import utc
from storage.database.answering import answering
from storage.database.packed import AsItLies, Raw, plain
from storage.database.tables import Event, Plan, System
from storage.errors import Conflict
from storage.journal.chain import ABOVE, canonical, event_text
from storage.private_files import make_directories, private_opener

PAGE = 2000
FEW = 500
# OCSF's API Activity: what a verb does to the plan or the system.
ACTIVITIES = {"request": 1, "propose": 1, "export": 2, "prune": 4, "cancel": 4}
UPDATE = 3
FAILED = {"refuse", "withhold", "fail", "lose", "reject", "withdraw"}


def journal(engine: Engine) -> Iterator[bytes]:
    """Every event as a line, chain by chain; the system's chain comes first."""
    with snapshot(engine) as c:
        yield from lines(c)


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Reads see one moment. SQLite's always do; PostgreSQL's must be told."""
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with answering(), engine.execution_options(**options).begin() as connection:
        yield connection


def lines(c: Connection, *, since: Heads | None = None, plans: Collection[int] = ()) -> Iterator[bytes]:
    """The events after these heads, of these plans or all; columns are read as they stand."""
    plan_id, seq = cast(col(Event.plan_id), Integer), cast(col(Event.seq), Integer)
    at, data = cast(col(Event.at), Text), AsItLies(col(Event.data))
    rest = (col(Event.verb), col(Event.actor), data, col(Event.prev), col(Event.hash))
    query = select(plan_id, seq, at, *rest).order_by(plan_id, seq)
    if plans:
        query = query.where(plan_id.in_(plans))
    last: tuple[int, int, str] = (0, 0, "")
    for plan, number, *event, prev, digest in c.execute(query, execution_options={"yield_per": PAGE}):
        if prev == ABOVE and (plan, number - 1) == last[:2]:
            prev = last[2]
        last = (plan, number, digest)
        if number > (since or {}).get(plan, START)[0]:
            yield b'{"hash":"%s","event":%s}\n' % (
                str(digest).encode(),
                _text(plan, number, *event, prev=prev),
            )


def heads(c: Connection) -> Heads:
    """The newest event of every chain, as plans and system remember it."""
    found = c.execute(select(col(Plan.id), col(Plan.events), col(Plan.head)).where(col(Plan.events) > 0))
    system = [(0, *row) for row in c.execute(select(col(System.events), col(System.head)))]
    return {plan or 0: (count, head) for plan, count, head in (*system, *found) if count}


def checkpoint(engine: Engine, path: Path, at: datetime) -> Checkpoint:
    """Anchor the heads of all chains in a file that only grows, if they follow from those before."""
    make_directories(path.parent)
    with open(path, "a", encoding="utf-8", opener=private_opener) as anchored:
        fcntl.flock(anchored, fcntl.LOCK_EX)  # several bots may write to one file
        _mend(path)
        before = last_checkpoint(path)
        known = before.heads if before else {}
        now = _follows(engine, known, path)
        if before and now == known:
            return before
        made = Checkpoint(utc(at), sum(count for count, _ in now.values()), root(now), now)
        anchored.write(_line(made, {plan: head for plan, head in now.items() if known.get(plan) != head}))
        anchored.flush()
        os.fsync(anchored.fileno())
        return made


def _mend(path: Path) -> None:
    """Cut off what a crash left half-written: each line is whole on the disk before anybody relies on it."""
    *whole, last = path.read_bytes().splitlines(keepends=True) or [b"\n"]
    if not last.endswith(b"\n"):
        os.truncate(path, sum(map(len, whole)))


def _follows(engine: Engine, known: Heads, path: Path) -> Heads:
    """The heads as they are now, if everything since the known ones is linked to them."""
    with snapshot(engine) as c:
        now = heads(c)
        moved = [plan for plan, head in now.items() if known.get(plan) != head]
        few = moved if len(moved) <= FEW else ()  # else reading everything is as quick
        verdict = check(lines(c, since=known, plans=few) if moved else (), now, since=known)
    # One that has grown was followed; of the others each must have the head that it had.
    lost = [
        plan for plan in known if now.get(plan) != known[plan] and now.get(plan, START)[0] <= known[plan][0]
    ]
    verdict.problems += [f"plan {plan} does not stand at event {known[plan][0]} any more" for plan in lost]
    if verdict.problems:
        raise Conflict(f"The journal does not follow from its last checkpoint in {path}.\n{verdict}")
    return now


def last_checkpoint(path: Path) -> Checkpoint | None:
    """What the file anchors, or None when nothing is anchored yet."""
    if not path.exists() or not path.stat().st_size:
        return None
    try:
        with path.open(encoding="utf-8") as anchored:
            return read_checkpoint(anchored)
    except (ValueError, KeyError, TypeError) as error:
        raise Conflict(f"{path} cannot be used: {error}. Keep it, and find out who changed it.") from None


def ocsf(exported: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of an export as OCSF records (API Activity, class 6003), for a SIEM."""
    for number, line in enumerate(exported, start=1):
        try:
            whole = json.loads(line)
            yield canonical(_record(whole["event"], whole["hash"])) + b"\n"
        except (ValueError, KeyError, TypeError):
            raise Conflict(
                f"Event {number} of the journal is none; `signoff audit verify` says more."
            ) from None


def _record(event: Mapping[str, Any], digest: str) -> dict[str, Any]:
    activity = ACTIVITIES.get(event["verb"], UPDATE)
    failed = event["verb"] in FAILED
    plan = {"type": "plan", "uid": str(event["plan"])} if event["plan"] else {"type": "system", "uid": "0"}
    return {
        "class_uid": 6003, "category_uid": 6, "activity_id": activity, "type_uid": 600300 + activity,
        "severity_id": 2 if failed else 1, "status_id": 2 if failed else 1,
        "time": int(datetime.fromisoformat(event["at"]).timestamp() * 1000),
        "actor": {"user": {"uid": event["actor"]}}, "api": {"operation": event["verb"]}, "resources": [plan],
        "src_endpoint": {"name": "signoff"}, "unmapped": event["data"],
        "metadata": {
            "version": "1.3.0", "uid": digest, "sequence": event["seq"], "log_name": "journal",
            "product": {"name": "Signoff", "vendor_name": "Signoff", "version": RELEASE},
        },
    }  # fmt: skip


def _text(plan: int, seq: int, at: str, verb: str, actor: str, data: Raw, *, prev: str) -> bytes:
    """The event's text; of one that cannot be said in canonical JSON, a text that cannot have its hash."""
    event: dict[str, Any] = {"plan": plan, "seq": seq, "verb": verb, "actor": actor, "prev": prev}
    try:
        when = datetime.fromisoformat(at)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return event_text(at=when, data=json.loads(plain(data)), **event)
    except (ValueError, TypeError):
        return json.dumps({**event, "at": at, "data": data}, default=str).encode()


def _line(made: Checkpoint, moved: Heads) -> str:
    changed = [[plan, *moved[plan]] for plan in sorted(moved)]
    line = {"at": made.at, "chains": len(made.heads), "events": made.events, "root": made.root}
    return json.dumps(line | {"heads": changed}, separators=(",", ":")) + "\n"
