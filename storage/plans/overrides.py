"""Break-glass: somebody overrides a window, a freeze or the approvals. Two steps, loud, and reviewed."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection, insert, select, update
from sqlmodel import col

from storage.contract.demands import read as read_demands
from storage.contract.states import PlanState
from storage.database.tables import Message, Override, Plan
from storage.errors import Conflict, NotAllowed
from storage.plans.lifecycle import PlanVerbs
from storage.safeguards.second_factors import Proof
from storage.transaction import rows

PATIENCE = timedelta(minutes=10)  # between the two steps
BREAKABLE = frozenset({PlanState.proposed, PlanState.approved})


class Glass(PlanVerbs):
    """break_glass, confirm_glass, reviewed, unreviewed."""

    def break_glass(self, plan_id: int, digest: str, parts: Sequence[str], *, user: str, reason: str) -> None:
        """The first step: on record, and nothing is overridden yet."""
        with self._write() as c:
            plan = self._breakable(c, plan_id, digest)
            row = {"plan_id": plan_id, "revision": plan.revision, "digest": digest, "user": user}
            told = {"parts": " ".join(parts), "reason": self.redact.text(reason)}
            c.execute(insert(Override).values(**row, **told, asked_at=self.clock()))
            data = {"digest": digest, "parts": [*parts], "reason": reason}
            self._journal(c, plan, "break_glass", actor=user, data=data)

    def confirm_glass(self, plan_id: int, digest: str, *, user: str, proof: Proof | None = None) -> None:
        """The second step, by the same person, soon: it holds for this revision. The channel hears of it."""
        with self._write() as c:
            plan = self._breakable(c, plan_id, digest)
            asked = self._asked(c, plan, digest, user)
            demanded = read_demands(self._revision(c, plan).demands).second_factor
            factor = self._spend(c, user, proof, demanded=demanded)
            at = {"confirmed_at": self.clock()}
            c.execute(update(Override).where(col(Override.id) == asked.id).values(**at))
            parts = asked.parts.split()
            data: dict[str, object] = {"digest": digest, "parts": parts, "reason": asked.reason}
            data |= {"factor": factor} if factor else {}
            text = f"{plan_id}: {' and '.join(parts)}: {asked.reason}"
            said = Message(key=f"glass:{asked.id}", kind="glass", channel=plan.channel, user=user, text=text)
            said.urgent = True
            self._queue(c, said)
            self._note(c, plan, "override", actor=user, data=data)
            if plan.state == PlanState.proposed and "approvals" in parts:
                self._all_shown(c, plan)
                self._accept(c, plan, by=user, data=data, permits=False)

    def reviewed(self, plan_id: int, *, user: str, text: str) -> None:
        """Somebody else has looked at it afterwards, and says what they found."""
        with self._write() as c:
            plan = self._touch(c, plan_id)
            open_ = (col(Override.plan_id) == plan_id, *UNREVIEWED)
            values = {"reviewed_by": user, "review": self.redact.text(text)}
            if not c.execute(update(Override).where(*open_).values(**values)).rowcount:
                raise Conflict(f"Nothing about plan {plan_id} waits for a review.")
            self._note(c, plan, "reviewed", actor=user, data={"text": text})

    def unreviewed(self) -> list[int]:
        """The plans for which the glass was broken, and nobody has looked at it since."""
        with self._read() as c:
            query = select(col(Override.plan_id)).distinct().where(*UNREVIEWED)
            return sorted(c.execute(query).scalars())

    def _breakable(self, c: Connection, plan_id: int, digest: str) -> Plan:
        plan = self._touch(c, plan_id)
        current = self._revision(c, plan) if plan.revision else None
        if plan.state not in BREAKABLE or current is None:
            raise Conflict(f"Plan {plan_id} is {plan.state}; there is nothing to override.")
        if current.digest != digest:
            raise Conflict("The plan is not the one that was shown; nothing was overridden.")
        if denied := read_demands(current.demands).denied:
            raise NotAllowed(f"Policy does not allow this plan: {'; '.join(denied)}.")
        if plan.state == PlanState.proposed and current.expires_at <= self.clock():
            raise Conflict(f"Plan {plan_id} has expired. Please ask for it again.")
        return plan

    def _asked(self, c: Connection, plan: Plan, digest: str, user: str) -> Override:
        mine = (col(Override.plan_id) == plan.id, col(Override.user) == user, col(Override.digest) == digest)
        fresh = (col(Override.confirmed_at).is_(None), col(Override.asked_at) > self.clock() - PATIENCE)
        found = rows(c, Override, *mine, *fresh, order=col(Override.id).desc(), limit=1)
        if not found:
            raise Conflict(f"Please say first why: `/plan break-glass {plan.id} <reason>`.")
        return found[0]


UNREVIEWED = (col(Override.confirmed_at).is_not(None), col(Override.reviewed_by) == "")
