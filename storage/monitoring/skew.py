"""Whether this machine's clock is that of the database's machine, by which all processes meet."""

from storage.database.agreed_clock import AgreedClock

MOST = 5.0  # seconds


def skewed(clock: AgreedClock) -> list[str]:
    """A sentence where it is not, for whoever can set it."""
    ahead = clock.ahead.total_seconds()
    where = "ahead of" if ahead > 0 else "behind"
    said = f"this machine's clock is {abs(ahead):.0f} s {where} the database's, which I go by; set it (NTP)"
    return [said] if abs(ahead) > MOST else []
