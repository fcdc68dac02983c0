"""What time it is. Passed in everywhere; only the demo's clock can jump."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

Clock = Callable[[], datetime]
NOTICEABLE = 1.0  # seconds


def wall() -> datetime:
    return datetime.now(UTC)


class Drift:
    """Notices a wall clock that was put back, by one that nobody sets."""

    def __init__(self) -> None:
        self._ahead: float | None = None  # of the wall clock, when it was looked at last

    def set_back(self, wall: datetime, steady: float) -> bool:
        """Whether it was put back since the last look, by more than it may slow down."""
        before, self._ahead = self._ahead, wall.timestamp() - steady
        return before is not None and before - self._ahead > NOTICEABLE


def jumping(path: Path, base: Clock = wall) -> Clock:
    """The demo's clock: another moved by the seconds that stand in a file, shared by all processes."""

    def now() -> datetime:
        try:
            return base() + timedelta(seconds=float(path.read_text()))
        except (OSError, ValueError):
            return base()

    return now


def jump(path: Path, to: datetime) -> None:
    """Move the demo's clock so that it shows this instant now."""
    partial = path.with_suffix(".partial")
    partial.write_text(str((to - wall()).total_seconds()))
    partial.replace(path)
