"""Whether the SQLite file is still the one that was opened: who moves it away takes the rows along."""

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Engine


def watch_file(engine: Engine) -> Callable[[], list[str]]:
    """From now on: a sentence once the file is gone, or another one. PostgreSQL has no file of ours."""
    name = engine.url.database if engine.dialect.name == "sqlite" else ""
    if not name or name == ":memory:":
        return list
    path = Path(name).absolute()
    first = _mark(path)

    def look() -> list[str]:
        if _mark(path) == first:
            return []
        return [
            f"the database file {path.name} was moved or replaced; put it back, or restart on the new one"
        ]

    return look


def _mark(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino
