"""Second factors: what a person can show besides their Slack account. Each is sealed; a code counts once."""

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import delete, insert, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage.database.tables import Factor
from storage.errors import Conflict
from storage.memory import Memory
from storage.transaction import Transaction

LIMIT = 5  # wrong codes in a row, and nobody's code is taken any more


@dataclass(frozen=True)
class Proof:
    """A second factor that was shown: a code, by its counter and the failures before it; or a signature."""

    kind: Literal["code", "signature"]
    counter: int = 0
    failures: int = 0


def factor(memory: Memory, user: str) -> Factor | None:
    with memory.read() as t:
        return next(iter(t.rows(Factor, col(Factor.user) == user)), None)


def factors(memory: Memory) -> list[Factor]:
    with memory.read() as t:
        return t.rows(Factor, order=col(Factor.user))


def enrol(memory: Memory, user: str, sealed: str, counter: int, *, actor: str) -> None:
    """Remember a sealed secret, once its owner has shown a code of it."""
    row = {"user": user, "sealed": sealed, "counter": counter, "failures": 0}
    try:
        with memory.write() as t:
            t.execute(insert(Factor).values(**row, enrolled_at=memory.clock()))
            t.journal_system("enrol", actor=actor, data={"user": user})
    except IntegrityError:
        raise Conflict(
            f"{user} has a second factor already. `signoff factor remove {user}` removes it; the next "
            "enrolment makes a new one."
        ) from None


def unlock(memory: Memory, user: str, *, actor: str) -> None:
    """Codes are taken again."""
    with memory.write() as t:
        _one(t, update(Factor).where(col(Factor.user) == user).values(failures=0), user)
        t.journal_system("unlock", actor=actor, data={"user": user})


def remove(memory: Memory, user: str, *, actor: str) -> None:
    with memory.write() as t:
        _one(t, delete(Factor).where(col(Factor.user) == user), user)
        t.journal_system("remove", actor=actor, data={"user": user})


def mistake(memory: Memory, plan_id: int, verb: str, *, user: str) -> int:
    """Put a wrong code on record; how many in a row it makes."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        more = update(Factor).where(col(Factor.user) == user).values(failures=col(Factor.failures) + 1)
        count = int(t.execute(more.returning(col(Factor.failures))).scalar() or 0)
        data = {"verb": verb, "reason": "the code is not right", "failures": count}
        t.journal(plan, "refuse", actor=user, data=data)
        return count


def spend(t: Transaction, user: str, proof: Proof | None, *, demanded: bool) -> str:
    """Take a code, here and for good; what was shown, in a word.

    Failures must be as they were when the code was looked at: of many guesses made at the same moment
    only the first can be the right one.
    """
    if proof is None and demanded:
        raise Conflict("This plan needs a second factor; please use its newest card or form.")
    if proof is None or proof.kind == "signature":
        return proof.kind if proof else ""
    unused = col(Factor.counter) < proof.counter
    same = col(Factor.failures) == proof.failures
    spent = update(Factor).where(col(Factor.user) == user, unused, same, col(Factor.failures) < LIMIT)
    if not t.execute(spent.values(counter=proof.counter, failures=0)).rowcount:
        raise Conflict("That code was used already. Please wait for the next one, and try again.")
    return proof.kind


def _one(t: Transaction, change: Any, user: str) -> None:
    if not t.execute(change).rowcount:
        raise Conflict(f"{user} has no second factor. `signoff factor list` says who has.")
