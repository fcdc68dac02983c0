"""Tokens of machines: made, listed, revoked. Only a hash of the secret is kept, and each act is on record."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import insert, update
from sqlmodel import col

from storage.database.tables import Token
from storage.errors import Conflict, NotFound
from storage.memory import Memory

MARK = "sgn_"
SCOPES = ("propose", "look", "cancel")
SELDOM = timedelta(minutes=1)  # how exactly it is known when a token was used last


@dataclass(frozen=True)
class Grant:
    """Whom a token speaks for, and what it may ask for where."""

    team: str
    name: str
    owner: str
    channels: tuple[str, ...]
    scopes: tuple[str, ...] = SCOPES
    runbooks: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()


def new_secret() -> str:
    return MARK + secrets.token_urlsafe(32)


def hashed(secret: str) -> str:
    """High entropy needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def add_token(memory: Memory, grant: Grant, secret: str, *, expires_at: datetime, actor: str) -> None:
    """Let a machine ask. A name belongs to one person for ever: plans are found again by it."""
    with memory.write() as t:
        others = t.rows(Token, col(Token.team) == grant.team, col(Token.name) == grant.name)
        if found := next((row.owner for row in others if row.owner != grant.owner), ""):
            raise Conflict(f"Tokens named {grant.name} are <@{found}>'s. Please choose another name.")
        given = {name: [*v] if isinstance(v, tuple) else v for name, v in asdict(grant).items()}
        made = {"made_by": actor, "made_at": t.clock(), "expires_at": expires_at, "hash": hashed(secret)}
        t.execute(insert(Token).values(**given, **made))
        t.journal_system("token", actor=actor, data=given | {"expires_at": expires_at.isoformat()})


def list_tokens(memory: Memory) -> list[Token]:
    with memory.read() as t:
        return t.rows(Token, order=col(Token.id))


def token_of(memory: Memory, secret: str) -> Token | None:
    """The token that this is the secret of, while it holds."""
    now = memory.clock()
    live = (col(Token.revoked_at).is_(None), col(Token.expires_at) > now)
    with memory.read() as t:
        found = t.rows(Token, col(Token.hash) == hashed(secret), *live)
    if found and (found[0].used_at is None or now - found[0].used_at > SELDOM):
        with memory.write() as t:
            t.execute(update(Token).where(col(Token.id) == found[0].id).values(used_at=now))
    return found[0] if found else None


def revoke_token(memory: Memory, number: int, *, actor: str) -> Token:
    """From now on it opens nothing. What was asked by it goes on."""
    with memory.write() as t:
        live = (col(Token.id) == number, col(Token.revoked_at).is_(None))
        change = update(Token).where(*live).values(revoked_at=t.clock())
        found: Sequence[Token] = t.models(change.returning(Token))
        if not found:
            raise NotFound(f"There is no live token {number}. `signoff token list` has them.")
        t.journal_system("revoke", actor=actor, data={"token": number, "name": found[0].name})
        return found[0]
