"""Who is at the board: links that let somebody in once, tokens of programs, sessions, and what they opened.

The bot makes a visit and puts on record what became of it. The board only uses, renews and ends it.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage.database.tables import Opened, Visit
from storage.memory import Memory

TICKET = timedelta(minutes=2)
TOKEN = timedelta(days=30)
LONGEST = timedelta(hours=8)  # of a session
IDLE = timedelta(hours=1)
SEEN = timedelta(minutes=1)  # how exactly it is kept when a session was last seen
USED = "This link was used already, or it is too old. Please ask for a new one: /plan board"


@dataclass(frozen=True)
class Guest:
    """Whoever holds a session that is good."""

    visit: str
    team: str
    user: str
    until: datetime
    way: str = "link"


def invite(memory: Memory, *, team: str, user: str, plan_id: int = 0, token: str = "") -> str:
    """A visit that somebody may begin, and its id; with a name for it, a program's token."""
    now, id_ = memory.clock(), secrets.token_urlsafe(18)
    way, until = ("token", now + TOKEN) if token else ("link", now + TICKET)
    row = Visit(id=id_, team=team, user=user, way=way, plan_id=plan_id, until=until, made_at=now)
    row.name = memory.redact.text(token)
    with memory.write() as t:
        t.execute(insert(Visit).values(**row.model_dump()))
        if token:
            told = {"way": way, "name": row.name, "visit": _short(id_)}
            t.journal_system("admit", actor=user, data=told)
    return id_


def find(memory: Memory, id_: str) -> Visit | None:
    with memory.read() as t:
        return next(iter(t.rows(Visit, col(Visit.id) == id_)), None)


def tokens(memory: Memory, user: str) -> list[Visit]:
    """The tokens of this person's programs that still let somebody in, the oldest first."""
    mine = (col(Visit.user) == user, col(Visit.way) == "token", col(Visit.ended_at).is_(None))
    with memory.read() as t:
        return t.rows(Visit, *mine, col(Visit.until) > memory.clock(), order=col(Visit.made_at))


def enter(memory: Memory, id_: str) -> str:
    """Use a link: the session it became, whose hash alone is kept; "" when it lets nobody in any more."""
    now, session = memory.clock(), secrets.token_urlsafe(32)
    open_ = (col(Visit.id) == id_, col(Visit.way) == "link", col(Visit.used_at).is_(None))
    values = {"used_at": now, "seen_at": now, "session": hashed(session)}
    with memory.write() as t:
        query = update(Visit).where(*open_, col(Visit.until) > now, col(Visit.ended_at).is_(None))
        if t.execute(query.values(**values)).rowcount:
            return session
        t.execute(update(Visit).where(col(Visit.id) == id_).values(refused=col(Visit.refused) + 1))
    return ""


def guest(memory: Memory, session: str) -> Guest | None:
    """Who holds this session, if it is good now."""
    with memory.read() as t:
        found = t.rows(Visit, col(Visit.session) == hashed(session)) if session else []
    return _guest(found[0], memory.clock()) if found else None


def why(memory: Memory, session: str) -> str:
    """Why this session is over, if somebody ended it; "" for everything else."""
    with memory.read() as t:
        found = t.rows(Visit, col(Visit.session) == hashed(session)) if session else []
    return found[0].why if found and found[0].ended_at else ""


def bearer(memory: Memory, id_: str) -> Guest | None:
    """Whose program this token is of, if it is good now."""
    found = find(memory, id_)
    return _guest(found, memory.clock()) if found and found.way == "token" else None


def _guest(visit: Visit, now: datetime) -> Guest | None:
    if visit.ended_at is not None:
        return None
    until = visit.until
    if visit.way == "link":
        if visit.used_at is None or visit.seen_at is None:
            return None
        until = min(visit.used_at + LONGEST, visit.seen_at + IDLE)
    return Guest(visit.id, visit.team, visit.user, until, visit.way) if until > now else None


def seen(memory: Memory, id_: str) -> None:
    """The session goes on; once a minute is exact enough."""
    now = memory.clock()
    old = or_(col(Visit.seen_at).is_(None), col(Visit.seen_at) < now - SEEN)
    with memory.read() as t:
        if not t.execute(select(col(Visit.id)).where(col(Visit.id) == id_, old)).first():
            return
    with memory.write() as t:
        t.execute(update(Visit).where(col(Visit.id) == id_, old).values(seen_at=now))


def leave(memory: Memory, id_: str, why: str) -> None:
    """The visit is over, also for whoever else holds its session."""
    with memory.write() as t:
        open_ = (col(Visit.id) == id_, col(Visit.ended_at).is_(None))
        t.execute(update(Visit).where(*open_).values(ended_at=memory.clock(), why=why))


def opened(memory: Memory, plan_id: int, revision: int, user: str) -> None:
    """Somebody has this revision before them, whole; kept once."""
    one = (col(Opened.plan_id) == plan_id, col(Opened.revision) == revision, col(Opened.user) == user)
    with memory.read() as t:
        if t.execute(select(col(Opened.user)).where(*one)).first():
            return
    row = Opened(plan_id=plan_id, revision=revision, user=user, first_at=memory.clock())
    try:
        with memory.write() as t:
            t.execute(insert(Opened).values(**row.model_dump()))
    except IntegrityError:
        return  # in another tab, a moment ago


def note_visits(memory: Memory) -> None:
    """Put on record who came in, was refused and left: the board cannot."""
    told = {"came": col(Visit.used_at).is_not(None), "left": col(Visit.ended_at).is_not(None)}
    news = [col(Visit.way) == "link", col(Visit.noted).not_like("%came%"), told["came"]]
    gone = [told["left"], col(Visit.noted).not_like("%left%")]
    turned = [col(Visit.refused) > 0, col(Visit.noted).not_like("%refused%")]
    kinds = ((news, "came", "admit"), (gone, "left", "leave"), (turned, "refused", "refuse"))
    for wheres, word, verb in kinds:
        with memory.read() as t:
            found = t.rows(Visit, *wheres, limit=100)
        for visit in found:
            _note(memory, visit, word, verb)


def _note(memory: Memory, visit: Visit, word: str, verb: str) -> None:
    data = {"way": visit.way, "visit": _short(visit.id)}
    data |= {"verb": "board", "reason": USED} if verb == "refuse" else {}
    data |= {"reason": visit.why} if verb == "leave" else {}
    with memory.write() as t:
        noted = " ".join([*visit.noted.split(), word])
        same = (col(Visit.id) == visit.id, col(Visit.noted) == visit.noted)
        if t.execute(update(Visit).where(*same).values(noted=noted)).rowcount:
            t.journal_system(verb, actor=visit.user, data=data)
    visit.noted = noted


def hashed(session: str) -> str:
    return hashlib.sha256(session.encode()).hexdigest()


def _short(id_: str) -> str:
    """As much of it as tells visits apart, and opens nothing."""
    return hashlib.sha256(id_.encode()).hexdigest()[:12]
