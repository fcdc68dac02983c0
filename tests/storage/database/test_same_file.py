"""A database file that was moved away takes the rows along: nobody may rely on such a process."""

from pathlib import Path

from storage.clock import wall
from storage.database.engine import migrate, open_engine
from storage.monitoring.health import Health, Pulse
from tests.support.store import Store


def test_a_process_whose_database_file_was_moved_or_replaced_is_not_ready(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    engine = open_engine(f"sqlite:///{path}")
    migrate(engine)
    health = Health(Store(engine, wall), Pulse())
    before = health.answer("/readyz")
    path.rename(tmp_path / "elsewhere.db")
    moved = health.answer("/readyz")
    path.touch()
    replaced = health.answer("/readyz")
    path.unlink()
    (tmp_path / "elsewhere.db").rename(path)
    back = health.answer("/readyz")
    engine.dispose()

    said = (
        503,
        "the database file signoff.db was moved or replaced; put it back, or restart on the new one\n",
    )
    assert (before, moved, replaced, back) == ((200, "ok\n"), said, said, (200, "ok\n"))
