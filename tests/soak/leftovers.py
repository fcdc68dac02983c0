"""What has not ended when a soak is over, and what it waits for: read from the rows, for whoever mends it."""

from collections.abc import Iterator
from datetime import datetime

from storage.clock import wall
from tests.support.store import Store

STUCK = (
    "SELECT id, state, outcome, reason FROM plan WHERE state <> 'done' OR outcome <> 'succeeded' ORDER BY id"
)
STEPS = """SELECT key, state, attempt, due_at, permit_until, withheld, owner, lease_until, probing
           FROM step WHERE plan_id = %s ORDER BY position"""
LAST = "SELECT verb, at FROM event WHERE plan_id = %s ORDER BY seq DESC LIMIT 3"
UNSHOWN = """SELECT kind, wanted, shown, sending, tries, not_before, problem FROM message
             WHERE wanted > shown ORDER BY id"""
UNHANDLED = "SELECT kind, received_at FROM delivery WHERE handled_at IS NULL ORDER BY id"
LEASES = "SELECT name, owner, fence, until FROM lease ORDER BY name"
PROCESSES = "SELECT name, kind, started_at, seen_at FROM process ORDER BY seen_at DESC LIMIT 8"
MOST = 20  # of a kind that are told


def leftovers(store: Store) -> list[str]:
    """One line for each; none where everything has ended and was shown."""
    with store.read() as t:

        def rows(statement: str, *given: object) -> list[tuple[object, ...]]:
            return [tuple(row) for row in t.connection.exec_driver_sql(statement, given or None)]

        def told() -> Iterator[str]:
            for plan in rows(STUCK)[:MOST]:
                yield f"plan {_said(plan)}"
                yield from (f"  step {_said(step)}" for step in rows(STEPS, plan[0]))
                yield from (f"  event {_said(event)}" for event in rows(LAST, plan[0]))
            yield from (f"unshown {_said(row)}" for row in rows(UNSHOWN)[:MOST])
            yield from (f"unhandled {_said(row)}" for row in rows(UNHANDLED)[:MOST])

        if found := [*told()]:
            found += [f"lease {_said(row)}" for row in rows(LEASES)]
            found += [f"process {_said(row)}" for row in rows(PROCESSES)]
        return found


def _said(row: tuple[object, ...]) -> str:
    return " ".join(_word(value) for value in row)


def _word(value: object) -> str:
    """A moment as seconds from now: negative is past."""
    if isinstance(value, datetime):
        return f"{(value - wall()).total_seconds():+.0f}s"
    return "-" if value in (None, "") else str(value)
