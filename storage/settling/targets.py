"""Locks on what steps touch: one step at a time, from its claim until everybody knows how it ended."""

from sqlalchemy import bindparam, delete
from sqlalchemy.dialects.postgresql import insert  # SQLite knows its ON CONFLICT, too
from sqlmodel import col

from storage.database.statements import Prepared, binds, table
from storage.database.tables import Step, Target
from storage.transaction import Transaction

LOCK_TARGET = Prepared(
    insert(table(Target)).values(**binds(Target)).on_conflict_do_nothing().returning(col(Target.name))
)
FREE_TARGET = Prepared(delete(table(Target)).where(col(Target.step_id) == bindparam("step")))


def free_target(t: Transaction, step: Step) -> None:
    FREE_TARGET.run(t.connection, step=step.id)
