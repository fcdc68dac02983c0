"""`signoff stop` and `signoff resume`: the kill switch, from the terminal."""

from bot.cli.sources import open_store
from bot.config import BotSettings
from bot.inbox.requests import check_scope, read_scope
from storage.config import SignoffConfig, login, read_config
from storage.errors import SignoffError


def stop(settings: BotSettings, words: str) -> int:
    """The kill switch. Whoever reaches the database may use it; the journal keeps the login name."""
    scope, reason = read_scope(words)
    if not reason:
        raise SignoffError(
            "Please say why: signoff stop [everything | plan 7 | environment production] REASON"
        )
    store = open_store(settings)
    config = read_config(settings.config) if settings.config.exists() else SignoffConfig()
    check_scope(store, config, scope)
    with store.coming("terminal"):
        store.stop(scope, reason=reason, user=login())
    print(f"Stopped: {scope}. What runs goes on to its end; nothing starts until `signoff resume {scope}`.")
    return 0


def resume(settings: BotSettings, words: str) -> int:
    """Lift a stop."""
    scope, rest = read_scope(words)
    if rest:
        raise SignoffError(
            f"“{rest}” is no scope: signoff resume [everything | plan 7 | environment production]"
        )
    store = open_store(settings)
    with store.coming("terminal"):
        store.resume(scope, user=login())
    print(f"Resumed: {scope}.")
    return 0
