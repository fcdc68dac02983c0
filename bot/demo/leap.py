"""A jump of the demo's clock. Who lives before it lives after it: nobody was silent in between."""

from datetime import datetime
from pathlib import Path

from sqlalchemy import update
from sqlmodel import col

from storage.clock import jump
from storage.database.statements import table
from storage.database.tables import Process
from storage.intention import Intention


def leap(store: Intention, clock_file: Path, to: datetime) -> None:
    """The signs of life go first, so that at no moment the workers look lost."""
    there = [one.name for one in store.processes("workers")]
    with store.engine.begin() as connection:
        connection.execute(update(table(Process)).where(col(Process.name).in_(there)).values(seen_at=to))
    jump(clock_file, to)
