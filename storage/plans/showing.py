"""Nothing is approved unseen: what has no room on a card waits until Slack has taken a file with it."""

from sqlalchemy import insert, update
from sqlmodel import col

from storage.database.tables import Plan, Revision, Shown
from storage.errors import Conflict
from storage.memory import Memory
from storage.transaction import Transaction


def lengthen(memory: Memory, plan_id: int, revision: int) -> None:
    """A card has no room for this revision: from now on its approval waits for the file."""
    one = (col(Revision.plan_id) == plan_id, col(Revision.number) == revision)
    with memory.write() as t:
        t.execute(update(Revision).where(*one).values(lengthy=True))
        redraw(t, plan_id)


def file(memory: Memory, plan_id: int, revision: int, digest: str, *, content: str, file: str) -> None:
    """Slack has taken the file with all of this revision; its card may offer the approval now.

    `content` is the hash of the file's bytes, `file` is Slack's name for it.
    """
    row = {"plan_id": plan_id, "revision": revision, "digest": digest, "content": content, "file": file}
    with memory.write() as t:
        plan = t.touch(plan_id)
        if not filed(t, plan_id, revision):
            t.execute(insert(Shown).values(**row, at=t.clock()))
            t.journal(plan, "file", actor="bot", data={name: row[name] for name in row if name != "plan_id"})
        redraw(t, plan_id)


def unfile(memory: Memory, plan_id: int) -> None:
    """Slack did not take the file: the card says so."""
    with memory.write() as t:
        redraw(t, plan_id)


def redraw(t: Transaction, plan_id: int) -> None:
    t.want_cards({plan_id: t.touch(plan_id).version}, {plan_id})


def filed(t: Transaction, plan_id: int, revision: int) -> Shown | None:
    one = (col(Shown.plan_id) == plan_id, col(Shown.revision) == revision)
    return next(iter(t.rows(Shown, *one)), None)


def demand_filed(t: Transaction, plan: Plan, current: Revision) -> None:
    """A click that is forged, or comes before the file, decides nothing."""
    found = filed(t, plan.id, current.number) if current.lengthy else None
    if current.lengthy and (found is None or found.digest != current.digest):
        raise Conflict(
            "This plan is too long for its card, and the file with all of it is not in the thread yet. "
            "Nothing was decided; please approve when it is there."
        )
