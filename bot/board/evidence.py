"""What the pages of one plan, the journal and the report need: documents, attempts, logs, verdicts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from bot.board.desk import Desk
from bot.board.pages.journal import Asked, JournalFacts
from bot.board.pages.plan import TAIL, ApprovalFacts, AttemptFacts, PlanFacts, RevisionFacts
from bot.board.pages.report import Entry, ReportFacts
from bot.board.parts.telling import Telling
from bot.board.scope import Scope
from bot.cards.face.lines import subject, title
from storage.board.happenings import PAGE, Happening, Sought
from storage.contract.spec import readable
from storage.database.tables import Attempt, Plan, Revision
from storage.errors import NotFound, SignoffError
from storage.private_files import open_plain
from storage.reading.plan_view import PlanView

LARGEST = 2_000_000  # bytes of a log
REPORT = 25  # plans on one page of a report
STRETCHES = 400  # such pages that are passed over for one
PASSED = 20  # pages of the journal without anything that they see, that are passed over for one
EXPORT = 20_000  # events in one export
VERIFY = 3000  # plans whose chains are followed at a time


class TooMuch(SignoffError):
    """More than one file shall hold: what is left out silently is no evidence."""


@dataclass(frozen=True)
class Evidence:
    """Gathers it, for one person."""

    desk: Desk

    def seen(self, scope: Scope, plan_id: int) -> PlanView:
        """The plan as it is on record, if they see it; what they may not see is not there."""
        store = self.desk.store
        if not 0 < plan_id < 2**31 or not store.known(plan_id):
            raise NotFound("There is no such plan that you may see.")
        view = store.view(plan_id)
        if not scope.sees(view):
            raise NotFound("There is no such plan that you may see.")
        return store.as_recorded(view)

    def plan_page(self, scope: Scope, plan_id: int) -> tuple[PlanFacts, Telling]:
        view, store = self.seen(scope, plan_id), self.desk.store
        count, broken = store.verdict(plan_id)
        given = [
            ApprovalFacts(
                one.user, one.at, one.factor, tuple(one.held.split()), one.shown, one.policy, one.revision
            )
            for one in store.approvals(plan_id, view.revision)
        ]
        tries = {
            key: [self._attempt(plan_id, key, one) for one in found]
            for key, found in store.attempts(plan_id).items()
            if view.spec
        }
        events = store.events(Sought(plan=plan_id), 200)
        said, kind = self.desk.anchored()
        facts = PlanFacts(
            view, self._revisions(view), given, tries, events, count, broken, said if kind == "ok" else ""
        )
        return facts, self.desk.telling([view])

    def _revisions(self, view: PlanView) -> list[RevisionFacts]:
        rows = self.desk.store.revisions(view.id) if view.spec else []
        older: list[Revision | None] = [*rows[1:], None]
        return [_revision(one, before) for one, before in zip(rows, older, strict=False)]  # there may be none

    def _attempt(self, plan_id: int, key: str, one: Attempt) -> AttemptFacts:
        report = one.report or {}
        text = self.log(one)
        tail = "\n".join(text.splitlines()[-TAIL:])
        error = (report.get("error") or {}).get("message", "")
        where = f"/plans/{plan_id}/log/{key}/{one.number}" if text else ""
        return AttemptFacts(
            one.number,
            one.owner,
            one.outcome,
            one.started_at,
            one.ended_at,
            str(report.get("summary", "")),
            str(error),
            tail,
            where,
        )

    def log(self, one: Attempt) -> str:
        """What an attempt has left as text, redacted once more; "" where it lies elsewhere."""
        paths = [
            str(path)
            for path in (one.report or {}).get("artifacts") or ()
            if str(path).endswith((".log", ".txt"))
        ]
        root = self.desk.state / "attempts"
        return next(
            (self.desk.store.redact.text(text) for path in paths if (text := read(Path(path), root))), ""
        )

    def whole_log(self, scope: Scope, plan_id: int, key: str, number: int) -> str:
        view = self.seen(scope, plan_id)
        found = self.desk.store.attempts(plan_id).get(key, []) if view.spec else []
        text = next((self.log(one) for one in found if one.number == number), "")
        if not text:
            raise NotFound("There is no such log.")
        return text

    def events(
        self, scope: Scope, asked: Asked, *, before: int = 0, most: int = PAGE
    ) -> tuple[list[Happening], int]:
        """Those that they see, and below which number there may be more."""
        found = self.desk.store.events(sought(asked, before), most + 1)
        mine = [one for one in found[:most] if one.plan or scope.all]
        picked = scope.pick([one for one in mine if one.plan], lambda one: one.plan)
        kept = {one.id for one in picked} | {one.id for one in mine if not one.plan}
        return [one for one in mine if one.id in kept], found[most - 1].id if len(found) > most else 0

    def journal_page(
        self, scope: Scope, asked: Asked, *, before: int, verify: bool
    ) -> tuple[JournalFacts, Telling]:
        events, older = self.events(scope, asked, before=before)
        for _ in range(PASSED):
            if len(events) >= PAGE or not older:
                break
            more, older = self.events(scope, asked, before=older)
            events += more
        older = events[PAGE - 1].id if len(events) > PAGE else older
        events = events[:PAGE]
        whole, verdict = self.verify(events) if verify else (True, self.standing())
        return JournalFacts(events, asked, older, whole, verdict), self.desk.telling([])

    def standing(self) -> str:
        said, kind = self.desk.anchored()
        return f"{said[:1].upper()}{said[1:]}." if kind == "ok" else ""

    def verify(self, events: Sequence[Happening]) -> tuple[bool, str]:
        """Follow the whole chain of every plan on this page of the journal."""
        plans = sorted({one.plan for one in events if one.plan})[:VERIFY]
        found = {plan: self.desk.store.verdict(plan) for plan in plans}
        broken = [f"plan {plan}: {why}" for plan, (_, why) in found.items() if why]
        count = sum(events for events, _ in found.values())
        where = f"{count} events in the chains of the {len(plans)} plans on this page"
        said = f"{where} follow from each other; {self.desk.anchored()[0]}."
        return not broken, "; ".join(broken[:5]) or said

    def export(self, scope: Scope, asked: Asked) -> Iterator[Happening]:
        before, left = 0, EXPORT
        while left > 0:
            events, before = self.events(scope, asked, before=before, most=500)
            yield from events
            left -= 500
            if not before:
                return
        raise TooMuch(f"There are more than {EXPORT:,} events. Please choose a shorter time: from, until.")

    def report_page(
        self, scope: Scope, since: date, until: date, target: str, before: int = 0, most: int = REPORT
    ) -> tuple[ReportFacts, Telling]:
        found, older = list[Entry](), before
        for _ in range(STRETCHES):
            entries, older = self._reported(scope, since, until, target, older)
            found += entries
            if len(found) >= most or not older:
                break
        older = found[most - 1].plan if len(found) > most else older
        facts = ReportFacts(found[:most], since.isoformat(), until.isoformat(), target, older, before)
        return facts, self.desk.telling([])

    def _reported(
        self, scope: Scope, since: date, until: date, target: str, before: int
    ) -> tuple[list[Entry], int]:
        """Some of them, and below which number there may be more."""
        start, end = midnight(since), midnight(until) + timedelta(days=1)
        rows = self.desk.store.report(start, end, target, before, REPORT + 1)
        picked = scope.pick(rows[:REPORT], lambda plan: plan.id)
        entries = [self._entry(plan) for plan in picked]
        named = [one for one in entries if any(target.lower() in place.lower() for place in one.targets)]
        return named if target else entries, rows[REPORT - 1].id if len(rows) > REPORT else 0

    def _entry(self, plan: Plan) -> Entry:
        view = self.desk.recorded(plan)
        given = self.desk.store.approvals(plan.id, view.revision)
        targets = {
            made.locks(step.spec.parameters) for step in view.steps if (made := view.contract(step.spec))
        }
        ran = tuple(
            f"{title(view, step.spec)}: {step.state}{f', try {step.attempt}' if step.attempt > 1 else ''}"
            for step in view.steps
            if step.attempt
        )
        ends = [step.ended_at for step in view.steps if step.ended_at]
        over = plan.state not in {"planning", "proposed", "approved", "stalled"}
        ended_at = max(ends) if ends and over else None
        return Entry(
            plan.id,
            plan.state,
            plan.outcome,
            plan.requester,
            plan.created_at,
            plan.channel,
            view.text,
            subject(view),
            tuple(sorted(filter(None, targets))),
            view.risk,
            view.revision,
            view.digest,
            tuple((one.user, one.at, one.factor, one.revision, one.digest) for one in given),
            view.policy,
            ran,
            ended_at,
            plan.head,
            plan.events,
            (ended_at - plan.created_at).total_seconds() if ended_at else 0.0,
            view.needed,
        )


def _revision(one: Revision, before: Revision | None) -> RevisionFacts:
    spec, old = readable(one.spec, ()), readable(before.spec, ()) if before else None
    said = "; ".join(one.changes) if one.changes else one.note
    return RevisionFacts(
        one.number, one.author, one.made_at, one.digest, said, spec, old, before.digest if before else ""
    )


def sought(asked: Asked, before: int) -> Sought:
    plan = (
        int(asked.plan.lstrip("#")) if asked.plan.lstrip("#").isdecimal() and len(asked.plan) < 10 else None
    )
    until = day(asked.until)
    return Sought(
        before,
        asked.verb,
        asked.who,
        plan,
        asked.words,
        _start(asked.since),
        midnight(until) + timedelta(days=1) if until else None,
    )


def _start(text: str) -> datetime | None:
    found = day(text)
    return midnight(found) if found else None


def day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def midnight(found: date) -> datetime:
    return datetime.combine(found, time(), UTC)


def read(path: Path, root: Path) -> str:
    """A plain file below the root, bounded; "" for everything else: a report must not open other files."""
    try:
        with open(open_plain(path.absolute(), root.resolve()), "rb") as file:
            return file.read(LARGEST).decode(errors="replace")
    except (OSError, ValueError):
        return ""
