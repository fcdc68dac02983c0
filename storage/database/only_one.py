"""One process of a kind per SQLite file. The lock goes with the process, however that ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine

from storage.errors import BadConfig


@contextmanager
def only_one(engine: Engine, kind: str) -> Iterator[None]:
    """Keep a second process of this kind away from an SQLite file; on PostgreSQL any number may run."""
    file = engine.url.database if engine.dialect.name == "sqlite" else ""
    if not file:
        yield
        return
    place = Path(file).resolve()  # whatever it is called from where: one file, one lock
    lock = os.open(place.with_name(f"{place.name}.{kind}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(lock, place, kind)
        yield
    finally:
        os.close(lock)


def _take(lock: int, place: Path, kind: str) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadConfig(
            f"Another {kind} process uses {place} already. Stop it first, or use PostgreSQL "
            "(SIGNOFF_DATABASE_URL), where any number may run."
        ) from None
