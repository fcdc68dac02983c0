"""A journal with something in it, what somebody could do to its rows, and what a check says then."""

from datetime import timedelta
from pathlib import Path

from storage.audit.export import journal
from storage.audit.verify import Verdict, check, read_checkpoint
from tests.support.fakes import DEPLOY, approve, plan_spec, propose, step, succeed
from tests.support.store import Store

EDITS = {
    "an actor": "UPDATE event SET actor = 'MALLORY' WHERE verb = 'approve'",
    "a time": "UPDATE event SET at = '2026-11-15 22:59:59.000000' WHERE verb = 'approve'",
    "a verb": "UPDATE event SET verb = 'reject' WHERE verb = 'approve'",
    "a verb with quotes": """UPDATE event SET verb = 'a","x":"y' WHERE verb = 'approve'""",
    "the data": """UPDATE event SET data = '{"digest":"forged"}' WHERE verb = 'approve'""",
    "data nobody can say": """UPDATE event SET data = '{"n": 12345678901234567890123456}' WHERE seq = 2""",
    "a hash": "UPDATE event SET hash = 'forged' WHERE seq = 2",
    "a link": "UPDATE event SET prev = '' WHERE seq = 2",
    "a place": "UPDATE event SET seq = 99 WHERE seq = 2",
    "a missing event": "DELETE FROM event WHERE seq = 2",
    "a missing end": "DELETE FROM event WHERE verb IN ('finish', 'succeed')",
    "a missing chain": "DELETE FROM event WHERE plan_id = (SELECT max(plan_id) FROM event)",
    "everything": "DELETE FROM event",
}


def finished(store: Store) -> int:
    plan_id = propose(store, plan_spec(step("s1", DEPLOY)), expires_at=store.clock() + timedelta(hours=24))
    approve(store, plan_id)
    succeed(store, plan_id, "s1")
    return plan_id


def busy(store: Store) -> None:
    """Two plans that are done, one that waits, and something of the system."""
    finished(store)
    finished(store)
    propose(store)
    store.stop("everything", reason="smoke", user="CAROL")


def judged(store: Store, anchored: Path) -> Verdict:
    return check(journal(store.engine), read_checkpoint(anchored.read_text().splitlines()).heads)
