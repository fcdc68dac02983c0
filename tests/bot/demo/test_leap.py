"""A jump of the demo's clock takes nobody for dead."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.demo.leap import leap
from storage.clock import jumping
from storage.database.engine import migrate, open_engine
from tests.support.store import Store


def test_workers_that_lived_before_the_jump_live_after_it_and_the_dead_stay_dead(tmp_path: Path) -> None:
    now = jumping(tmp_path / "clock")
    store = Store(open_engine(f"sqlite:///{tmp_path / 'signoff.db'}"), now)
    migrate(store.engine)
    gone = Store(store.engine, lambda: datetime.now(UTC) - timedelta(hours=1))
    gone.alive("gone", "workers", "1")
    store.alive("here", "workers", "1")

    leap(store, tmp_path / "clock", now() + timedelta(hours=10))

    assert [one.name for one in store.processes("workers")] == ["here"]
    assert now() > datetime.now(UTC) + timedelta(hours=9)
    store.engine.dispose()
