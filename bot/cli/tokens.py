"""`signoff token`: what lets a machine ask in somebody's name. The secret is printed once, and never kept."""

import re
from argparse import Namespace
from datetime import datetime, timedelta

from bot.cli.sources import open_store, open_to_read
from bot.config import BotSettings
from bot.people import People
from bot.process import web_client
from bot.slack.meeting import find_home
from storage.config import login, read_config
from storage.database.tables import Token
from storage.errors import SignoffError
from storage.exchange.tokens import SCOPES, Grant, new_secret

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
DAYS, LONGEST = 90, 366


def token(settings: BotSettings, given: Namespace) -> int:
    """new, list, revoke."""
    if given.act == "list":
        return list_tokens(settings)
    if given.act == "new":
        lists = (given.channel, given.scope or SCOPES, given.runbook, given.environment)
        return new_token(settings, Grant("", given.which, given.owner, *map(tuple, lists)), given.days)
    if not given.which.isdigit():
        raise SignoffError(
            "Please name it by its number: signoff token revoke 3. `signoff token list` has it."
        )
    return revoke(settings, int(given.which))


def new_token(settings: BotSettings, grant: Grant, days: int) -> int:
    """Make one; whom it speaks for, Slack is asked."""
    read_config(settings.config)  # no token for what could not run
    _check(grant, days)
    client = web_client(settings)
    people = People(client, find_home(client))
    owner = people.actor(grant.owner, fresh=True)
    if owner.barred:
        raise SignoffError(f"{grant.owner} cannot stand behind a machine: {owner.barred}")
    for channel in grant.channels:
        if people.outside(channel):
            raise SignoffError(f"{channel} is shared with another organisation; machines ask nothing there.")
    store, secret = open_store(settings), new_secret()
    until = store.clock() + timedelta(days=days)
    whole = Grant(
        owner.team, grant.name, owner.user, grant.channels, grant.scopes, grant.runbooks, grant.environments
    )
    with store.coming("terminal"):
        store.add_token(whole, secret, expires_at=until, actor=login())
    print(f"{secret}\nThis is shown only now. It holds until {until:%Y-%m-%d}; `signoff token list` has it.")
    return 0


def _check(grant: Grant, days: int) -> None:
    if not NAME.fullmatch(grant.name):
        raise SignoffError("A name has small letters, digits, dots and dashes, as in ci-deploys.")
    if not grant.owner or not grant.channels:
        raise SignoffError("Please say who is behind it (--owner U…), and where it may ask (--channel C…).")
    if wrong := {*grant.scopes} - {*SCOPES}:
        raise SignoffError(f"“{wrong.pop()}” is no scope: {', '.join(SCOPES)}.")
    if not 0 < days <= LONGEST:
        raise SignoffError(f"A token holds for 1 to {LONGEST} days.")


def list_tokens(settings: BotSettings) -> int:
    store = open_to_read(settings)
    found = store.list_tokens()
    for token in found:
        print(_line(token, _state(token, store.clock())))
    if not found:
        print("There are no tokens. `signoff token new NAME --owner U… --channel C…` makes one.")
    return 0


def _line(token: Token, state: str) -> str:
    limits = [("in", token.channels), ("runbooks", token.runbooks), ("environments", token.environments)]
    said = "; ".join(f"{what} {', '.join(names)}" for what, names in limits if names)
    used = f"last used {token.used_at:%Y-%m-%d %H:%M}" if token.used_at else "never used"
    who = f"for {token.owner}; {', '.join(token.scopes)}"
    return f"{token.id:>4}  {token.name:<20} {state:<22} {who}; {said}; {used}"


def _state(token: Token, now: datetime) -> str:
    if token.revoked_at:
        return f"revoked {token.revoked_at:%Y-%m-%d}"
    over = token.expires_at <= now
    return f"{'expired' if over else 'holds until'} {token.expires_at:%Y-%m-%d}"


def revoke(settings: BotSettings, number: int) -> int:
    store = open_store(settings)
    with store.coming("terminal"):
        found = store.revoke_token(number, actor=login())
    print(f"Token {number} ({found.name}) opens nothing any more.")
    return 0
