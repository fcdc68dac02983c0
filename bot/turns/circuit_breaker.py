"""The circuit breaker: changes that fail too often hold further ones, and everybody hears of it."""

from contextlib import suppress
from datetime import timedelta

from bot.context import Bot
from bot.times.zones import spoken
from storage.errors import Conflict
from storage.settling.starting import ALL_CHANGES, CHANGES_IN

BREAKER = "breaker"  # as an actor


def guard(bot: Bot) -> None:
    """The circuit breaker: failed changes that pile up hold further ones, for a while or until an admin."""
    limit, now = bot.config.policy.breaker, bot.store.clock()
    held = {stop.scope: stop for stop in bot.store.stops()}
    for stop in held.values():
        until = stop.since + timedelta(minutes=limit.pause_minutes)
        if stop.by == BREAKER and limit.pause_minutes and until <= now:
            with suppress(Conflict):  # an admin was faster
                bot.store.resume(stop.scope, user=BREAKER, channels=bot.store.waiting_channels())
    if limit.failures:
        _trip(bot, set(held))


def _trip(bot: Bot, held: set[str]) -> None:
    limit, now = bot.config.policy.breaker, bot.store.clock()
    failures = bot.store.failures(now - timedelta(minutes=limit.within_minutes))
    if len(failures) < limit.failures:
        return
    for place in {failure.environment for failure in failures}:
        scope = f"{CHANGES_IN}{place}" if place else ALL_CHANGES
        since = bot.store.resumed(scope)
        counted = [f for f in failures if f.environment == place and (since is None or f.at > since)]
        if len(counted) >= limit.failures and scope not in held:
            channels = sorted({f.channel for f in counted} | {*bot.store.waiting_channels()})
            with suppress(Conflict):  # as above
                bot.store.stop(scope, reason=_why(bot, len(counted)), user=BREAKER, channels=channels)


def _why(bot: Bot, count: int) -> str:
    limit, zone = bot.config.policy.breaker, bot.config.zone
    why = f"{count} changes failed within {limit.within_minutes:g} minutes"
    until = bot.store.clock() + timedelta(minutes=limit.pause_minutes)
    goes_on = f"they go on {spoken(until, zone)}" if limit.pause_minutes else "they wait for an admin"
    return f"{why}; {goes_on}, reads and rollbacks at once"
