"""Recurring plans: what recurs, each run once per local date, and approvals that stand for several runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import delete, exists, select, update
from sqlalchemy.dialects.postgresql import insert  # SQLite knows its ON CONFLICT, too
from sqlmodel import col

from storage.contract.states import RECURRING_MOVES, PlanState
from storage.database.statements import table
from storage.database.tables import Approval, Message, Occurrence, Plan, Recurring, Standing
from storage.errors import Conflict, NotFound
from storage.memory import Memory
from storage.plans.approvals import record_approval
from storage.plans.lifecycle import add_request
from storage.transaction import Transaction

OF_RUN = col(Approval.plan_id) == col(Plan.id)

MISSING = "There is no recurring plan {}; `/plan schedules` lists them."


@dataclass(frozen=True)
class Grant:
    """What a standing approval allows: so many runs of exactly this plan, until then."""

    digest: str
    runs: int
    until: datetime


def recur(
    memory: Memory, text: str, *, said: str, cron: str, zone: str, next_at: datetime, team: str, user: str,
    channel: str,
) -> int:  # fmt: skip
    """Remember what recurs; each run is asked for when its time comes."""
    with memory.write() as t:
        row = {
            "state": "active", "text": memory.redact.text(text), "said": said, "cron": cron, "zone": zone,
            "team": team, "user": user, "channel": channel, "next_at": next_at, "made_at": memory.clock(),
        }  # fmt: skip
        made = insert(table(Recurring)).values(**row).returning(table(Recurring).c.id)
        number = int(t.execute(made).scalar_one())
        data = {"recurring": number, "text": text, "cron": cron, "zone": zone}
        t.journal_system("recur", actor=user, data=data)
        return number


def recurring(memory: Memory) -> list[Recurring]:
    """What recurs, or would if it were not paused."""
    with memory.read() as t:
        return t.rows(Recurring, col(Recurring.state) != "removed", order=col(Recurring.id))


def one_recurring(memory: Memory, number: int) -> Recurring:
    found = [one for one in recurring(memory) if one.id == number]
    if not found:
        raise NotFound(MISSING.format(number))
    return found[0]


def due_recurring(memory: Memory, ahead: timedelta) -> list[Recurring]:
    """What recurs and has a run by now, or by so long from now."""
    by = memory.clock() + ahead
    with memory.read() as t:
        return t.rows(Recurring, col(Recurring.state) == "active", col(Recurring.next_at) <= by)


def run(
    memory: Memory,
    one: Recurring,
    day: date,
    next_at: datetime,
    *,
    starts_at: datetime | None = None,
    hour: int = 0,
) -> int | None:
    """Ask for the run of that local date and hour; None when it was asked for before, by anybody.

    `starts_at`: its time, where it is asked for ahead of it. Nothing of it starts before that.
    """
    with memory.write() as t:
        if not _advance(t, one, next_at) or not _first(t, one, day, hour):
            return None
        about = {"recurring": one.id, "day": str(day)}
        plan_id = add_request(
            t, one.text, team=one.team, user=one.user, channel=one.channel, thread="", more=about,
            starts_at=starts_at, zone=one.zone,
        )  # fmt: skip
        mine = (col(Occurrence.recurring_id) == one.id, col(Occurrence.day) == day)
        this = update(Occurrence).where(*mine, col(Occurrence.hour) == hour)
        t.execute(this.values(plan_id=plan_id))
        return plan_id


def pass_by(
    memory: Memory,
    one: Recurring,
    days: Sequence[date],
    next_at: datetime,
    *,
    question: str,
    hours: Sequence[int] = (),
) -> None:
    """Runs that did not come about: never later by themselves; the channel is asked instead.

    No days: none was missed, and the next one is at another time than was thought.
    """
    with memory.write() as t:
        if _advance(t, one, next_at):
            for day, hour in zip(days, hours or [0] * len(days), strict=True):
                _first(t, one, day, hour)
            said = [str(day) for day in days]
            t.journal_system("miss", actor="clock", data={"recurring": one.id, "days": said})
            last = str(days[-1] if days else next_at.date())
            _say(
                t, one, f"missed:{one.id}:{last}" + (f":{hours[-1]}" if hours and hours[-1] else ""), question
            )


def pause(memory: Memory, one: Recurring, *, user: str) -> None:
    _turn_to(memory, one, "pause", user, next_at=None)


def unpause(memory: Memory, one: Recurring, *, user: str, next_at: datetime) -> None:
    _turn_to(memory, one, "unpause", user, next_at=next_at)


def retire(memory: Memory, one: Recurring, *, user: str) -> None:
    _turn_to(memory, one, "retire", user, next_at=None)


def latest_run(memory: Memory, one: Recurring) -> int:
    """The plan of its newest run, 0 while there is none."""
    with memory.read() as t:
        mine = col(Occurrence.recurring_id) == one.id
        found = t.rows(Occurrence, mine, order=col(Occurrence.plan_id).desc(), limit=1)
        return found[0].plan_id if found else 0


def stand(memory: Memory, one: Recurring, grant: Grant, *, team: str, user: str, policy: str) -> None:
    """One person's yes to several runs of exactly this plan, at exactly these times."""
    with memory.write() as t:
        mine = (col(Standing.recurring_id) == one.id, col(Standing.user) == user)
        t.execute(delete(Standing).where(*mine))
        row = {"cron": one.cron, "zone": one.zone, "digest": grant.digest, "runs_left": grant.runs}
        row |= {"until": grant.until, "team": team, "policy": policy, "at": memory.clock()}
        t.execute(insert(table(Standing)).values(recurring_id=one.id, user=user, **row))
        asked = (col(Message.plan_id) == one.offered, col(Message.kind) == "standing")
        t.execute(update(Message).where(*asked).values(wanted=col(Message.wanted) + 1, urgent=True))
        data = {"recurring": one.id, "digest": grant.digest, "runs": grant.runs}
        t.journal_system("stand", actor=user, data=data | {"until": grant.until.isoformat()})


def uninvited(memory: Memory) -> list[tuple[int, int]]:
    """(plan, what recurs) of runs that people have approved, where nobody was asked yet for more than one."""
    query = select(col(Plan.id), col(Recurring.id)).join(Occurrence, col(Occurrence.plan_id) == col(Plan.id))
    query = query.join(Recurring, col(Recurring.id) == col(Occurrence.recurring_id))
    live = (col(Recurring.state) == "active", col(Recurring.offered) == 0)
    said = (col(Plan.state).in_((PlanState.approved, PlanState.done)), exists().where(OF_RUN))
    with memory.read() as t:
        return [*map(tuple, t.execute(query.where(*live, *said).order_by(col(Plan.id))))]


def invite(memory: Memory, plan_id: int, one: Recurring, *, runs: int) -> None:
    """Ask once, in the thread of a run, whether its approval shall stand for the runs to come."""
    with memory.write() as t:
        plan = t.touch(plan_id)
        mine = (col(Recurring.id) == one.id, col(Recurring.offered) == 0)
        if t.execute(update(Recurring).where(*mine).values(offered=plan_id)).rowcount:
            data = {"recurring": one.id, "said": one.said, "zone": one.zone, "runs": runs}
            t.note(plan, "invite", actor="rules", data=data)


def run_of(memory: Memory, plan_id: int) -> int:
    """What recurs, and has this plan as a run of it; 0 for none."""
    with memory.read() as t:
        found = t.rows(Occurrence, col(Occurrence.plan_id) == plan_id)
        return found[0].recurring_id if found else 0


def standings(memory: Memory, number: int) -> list[Standing]:
    with memory.read() as t:
        return t.rows(Standing, col(Standing.recurring_id) == number, order=col(Standing.at))


def stood_for(memory: Memory) -> list[tuple[int, int]]:
    """(plan, what recurs) of the proposed runs that somebody's standing approval may cover."""
    mine = col(Occurrence.recurring_id) == col(Standing.recurring_id)
    query = select(col(Plan.id), col(Occurrence.recurring_id)).distinct()
    query = query.join(Occurrence, col(Occurrence.plan_id) == col(Plan.id)).join(Standing, mine)
    with memory.read() as t:
        return [*map(tuple, t.execute(query.where(col(Plan.state) == PlanState.proposed)))]


def stand_in(memory: Memory, plan_id: int, revision: int, standing: Standing, *, policy: str,
    held: Sequence[str] = (),
) -> bool:  # fmt: skip
    """Count one run of a standing approval as its person's yes; True when it was the last one needed."""
    with memory.write() as t:
        mine = (
            col(Standing.recurring_id) == standing.recurring_id, col(Standing.user) == standing.user,
            col(Standing.digest) == standing.digest, col(Standing.runs_left) > 0,
            col(Standing.until) > memory.clock(),
        )  # fmt: skip
        less = update(Standing).where(*mine).values(runs_left=col(Standing.runs_left) - 1)
        if not t.execute(less).rowcount:
            raise Conflict("This standing approval has been used up or has ended.")
        row = {"team": standing.team, "user": standing.user, "policy": policy}
        more = {"standing": standing.recurring_id, "left": standing.runs_left - 1}
        return record_approval(t, plan_id, revision, standing.digest, row, held, more=more)


def void(memory: Memory, number: int, *, reason: str) -> None:
    """Its standing approvals no longer hold: what they were given for has changed, or policy has."""
    with memory.write() as t:
        one = t.rows(Recurring, col(Recurring.id) == number)[0]
        if t.execute(delete(Standing).where(col(Standing.recurring_id) == number)).rowcount:
            data = {"recurring": number, "reason": reason}
            t.journal_system("void", actor="rules", data=data)
            ended = f"The standing approval of recurring plan {number} has ended: {reason}."
            _say(t, one, f"void:{number}:{memory.clock().isoformat()}", ended)


def _advance(t: Transaction, one: Recurring, next_at: datetime) -> bool:
    same = (col(Recurring.id) == one.id, col(Recurring.next_at) == one.next_at)
    active = update(Recurring).where(*same, col(Recurring.state) == "active")
    return bool(t.execute(active.values(next_at=next_at)).rowcount)


def _first(t: Transaction, one: Recurring, day: date, hour: int) -> bool:
    row = {"recurring_id": one.id, "day": day, "hour": hour, "plan_id": 0}
    made = insert(table(Occurrence)).values(**row).on_conflict_do_nothing()
    return t.execute(made.returning(table(Occurrence).c.day)).first() is not None


def _turn_to(memory: Memory, one: Recurring, verb: str, user: str, *, next_at: datetime | None) -> None:
    before, after = RECURRING_MOVES[verb]
    with memory.write() as t:
        mine = (col(Recurring.id) == one.id, col(Recurring.state).in_(before))
        if not t.execute(update(Recurring).where(*mine).values(state=after, next_at=next_at)).rowcount:
            raise Conflict(f"Recurring plan {one.id} is {one.state}; {verb} is not possible.")
        t.journal_system(verb, actor=user, data={"recurring": one.id})


def _say(t: Transaction, one: Recurring, key: str, text: str) -> None:
    t.queue(Message(key=key, kind="recurring", channel=one.channel, text=text, user=str(one.id)))
