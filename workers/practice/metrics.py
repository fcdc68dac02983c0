"""What the practice service's metrics say: errors of each of the last fourteen days. Pure."""

from datetime import date, timedelta

REQUESTS = 20_000
RATES = (41, 38, 44, 40, 39, 43, 42, 40, 45, 52, 88, 131, 127, 96)  # errors of each day, oldest first


def errors(today: date) -> list[dict[str, str | int | float]]:
    """One row per day, the newest last; the second week is worse than the first."""
    days = [today - timedelta(days=len(RATES) - number) for number in range(len(RATES))]
    return [
        {"day": day.isoformat(), "week": "this" if number >= 7 else "last", "requests": REQUESTS,
         "errors": count, "rate": round(count / REQUESTS, 5)}
        for number, (day, count) in enumerate(zip(days, RATES, strict=True))
    ]  # fmt: skip
