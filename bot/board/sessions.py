"""Who asks: a session or a token, and the person behind it as Slack knows them now."""

from dataclasses import dataclass

from bot.people import People
from bot.policy.authorize import Actor
from bot.tickets import Tickets, split_ticket
from storage.board.visits import Guest
from storage.errors import SignoffError
from storage.looking import Visits

LEFT = "left"  # by themselves
LONGEST = 200  # characters of a ticket


class Stranger(SignoffError):
    """Nobody who is let in."""


class Barred(SignoffError):
    """Somebody who may see nothing any more."""


@dataclass(frozen=True)
class Sessions:
    """Looks at what somebody brings along."""

    visits: Visits
    people: People
    tickets: Tickets

    def guest(self, session: str, bearer: str) -> Guest:
        """Whoever holds a good session, or a good token."""
        found = self._bearer(bearer) if bearer else self.visits.guest(session)
        if found is None:
            why = self.visits.why(session)
            told = f"{why} " if why != LEFT and why else ""
            raise Stranger(f"{told}Please ask for a link to the board in Slack: /plan board")
        return found

    def actor(self, guest: Guest) -> Actor:
        """The person as Slack knows them, a minute ago at most. Who is barred is out, for good."""
        actor = self.people.actor(guest.user)
        if actor.barred or actor.team != guest.team:
            self.visits.leave(guest.visit, actor.barred or "of another workspace")
            raise Barred(actor.barred or "You are not a member of this workspace.")
        self.visits.seen(guest.visit)
        return actor

    def _bearer(self, ticket: str) -> Guest | None:
        visit = self.visits.find(split_ticket(ticket)) if len(ticket) < LONGEST else None
        good = visit is not None and visit.way == "token" and self.tickets.good(ticket, visit)
        return self.visits.bearer(visit.id) if visit and good else None

    def expected(self, ticket: str) -> str:
        """Whom a link lets in, if it still does; "" for everything else."""
        visit = self.visits.find(split_ticket(ticket)) if len(ticket) < LONGEST else None
        good = visit is not None and visit.way == "link" and self.tickets.good(ticket, visit)
        now = self.visits.clock()
        usable = visit is not None and visit.used_at is None and visit.ended_at is None and visit.until > now
        return visit.user if visit and good and usable else ""

    def enter(self, ticket: str) -> tuple[str, int]:
        """Use the link: the session, and the plan that it leads to. "" when it lets nobody in any more."""
        visit = self.visits.find(split_ticket(ticket)) if len(ticket) < LONGEST else None
        if visit is None or visit.way != "link" or not self.tickets.good(ticket, visit):
            return "", 0
        if (actor := self.people.actor(visit.user)).barred:
            raise Barred(actor.barred)
        return self.visits.enter(visit.id), visit.plan_id
