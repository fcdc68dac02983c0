"""What each page needs, gathered from the rows for one person: everything passes their scope."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.board.names import Names
from bot.board.pages.figures import FiguresFacts
from bot.board.pages.fleet import LATELY, FleetFacts, Holding
from bot.board.pages.now import ENDED, NowFacts, Vital
from bot.board.pages.plans import PlansFacts
from bot.board.pages.tonight import Held, TonightFacts
from bot.board.parts.lanes import Scale
from bot.board.parts.telling import Telling
from bot.board.parts.times import Now, brief
from bot.board.remember import Remembered
from bot.board.scope import Scope
from bot.cards.blocks import permalink
from bot.cards.face.lines import subject
from bot.times.windows import next_opening
from storage.audit.export import last_checkpoint
from storage.board.lines import PAGE, Filter, PlanLine
from storage.board.spans import Span
from storage.board.sums import Reach, Sums
from storage.config import SignoffConfig, local
from storage.contract.capability import Contract
from storage.contract.states import BUSY, StepState
from storage.database.tables import Plan
from storage.errors import BadTime, SignoffError
from storage.looking import Looking
from storage.monitoring.fleet import Tried, counted
from storage.reading.plan_view import PlanView
from storage.reading.words import HIDDEN, unless

MORNING = 6  # o'clock, when the night is over
LINES, OPEN = 2000, 150  # open plans that are listed, and of these those that are looked at
NIGHT = (timedelta(hours=22), timedelta(hours=8))  # from when in the evening, for how long
STRETCHES = 20  # pages of other people's plans that are passed over for one page
LATE = 60.0  # seconds that a message may take to Slack


@dataclass
class Desk:
    """The rows, names and configuration, and what was found out lately."""

    store: Looking
    names: Names
    config: SignoffConfig
    state: Path
    site: str
    minute: Remembered = field(default_factory=lambda: Remembered(60.0, 4000))
    glances: Remembered = field(default_factory=lambda: Remembered(10.0, 1000))
    views: Remembered = field(default_factory=lambda: Remembered(300.0, 2000))

    @property
    def now(self) -> Now:
        return Now(self.store.clock(), self.config.zone)

    def telling(self, views: Iterable[PlanView]) -> Telling:
        found = [*views]
        actions = {(step.spec.worker, step.spec.action) for view in found for step in view.steps}
        known = {action: span for action in actions for span in self.span(action)}
        since = self.store.latest([view.id for view in found])
        contracts = {(one.worker, one.action): one for one in self.contracts}
        return Telling(self.now, self.names.who, self.names.where, self.slack, known, since, contracts)

    def span(self, action: tuple[str, str]) -> list[Span]:
        """How long it takes, once it ran often enough."""
        return [*self.minute.get(("span", action), lambda: self.store.spans([action])).values()]

    def slack(self, view: PlanView) -> str:
        return permalink(self.site, view.channel, view.card)

    def recorded(self, line: PlanLine | Plan) -> PlanView:
        """As it stands, if that is what is on record: what has not moved is read once."""
        view = self.views.get((line.id, line.version), lambda: self.store.view(line.id))
        return unless(self.tampered(line), view)

    def tampered(self, line: PlanLine | Plan) -> str:
        """Whether a list may show its words; its own page asks each time."""
        return self.minute.get(("words", line.id, line.version), lambda: self.store.tampered(line.id))

    def lines(self, found: Sequence[PlanLine]) -> list[PlanLine]:
        """For a list of wishes: of those that were changed behind our back, only that they were."""
        why = {line.id: self.tampered(line) for line in found}
        return [replace(line, text=f"{HIDDEN}{why[line.id]}") if why[line.id] else line for line in found]

    def open(self, scope: Scope) -> tuple[list[PlanView], list[PlanView]]:
        """Open plans, oldest first: those that they see, and the others."""
        lines = self.store.page(Filter(state="open"), LINES)[::-1]
        mine = {line.id for line in scope.pick(lines, lambda line: line.id)}
        seen = self.found([line for line in lines if line.id in mine][:OPEN])
        return seen, self.found([line for line in lines if line.id not in mine][:OPEN])

    def found(self, lines: Sequence[PlanLine]) -> list[PlanView]:
        """As they stand now; read again when anything moved that it tells of, and now and then."""
        stops = tuple((stop.scope, stop.since) for stop in self.store.stops())
        cards, around = self.store.cards([line.id for line in lines]), (stops, *self.store.holdings())
        steps: dict[int, list[str]] = {}
        for plan, said in self.store.progress(BUSY).values():
            steps.setdefault(plan, []).append(said)
        keys = ((line.version, cards.get(line.id), tuple(steps.get(line.id, ())), around) for line in lines)
        found = zip(lines, keys, strict=True)
        return [unless(self.tampered(line), self.glance(line.id, key)) for line, key in found]

    def glance(self, plan_id: int, key: Hashable) -> PlanView:
        return self.glances.get((plan_id, key), lambda: self.store.view(plan_id))

    def today(self) -> datetime:
        there = local(self.store.clock(), self.config.zone)
        return there.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)

    def now_page(self, scope: Scope) -> tuple[NowFacts, Telling]:
        seen, _ = self.open(scope)
        today = scope.pick(self.store.ended(self.today()), lambda line: line.id)
        ended = [(line, self.subject(line)) for line in self.lines(today[:ENDED])]
        facts = NowFacts(seen, ended, self.sums(scope, 7), self.vitals(), len(today))
        return facts, self.telling(seen)

    def subject(self, line: PlanLine) -> str:
        return subject(self.recorded(line))

    def plans_page(self, scope: Scope, wanted: Filter) -> tuple[PlansFacts, Telling]:
        lines, older = self.listed(scope, wanted)
        return PlansFacts(lines, wanted, older, {}), self.telling([])

    def listed(self, scope: Scope, wanted: Filter) -> tuple[list[PlanLine], int]:
        """A page of those that they see, past what they do not see; and below which number there are more."""
        found, before = list[PlanLine](), wanted.before
        for _ in range(STRETCHES):
            lines = self.store.page(replace(wanted, before=before))
            found += scope.pick(lines[:PAGE], lambda line: line.id)
            before = lines[PAGE - 1].id if len(lines) > PAGE else 0
            if len(found) >= PAGE or not before:
                break
        older = found[PAGE - 1].id if len(found) > PAGE else before
        return self.lines(found[:PAGE]), older

    def tonight_page(self, scope: Scope, offset: int) -> tuple[TonightFacts, Telling]:
        scale = self.night(offset)
        seen, hidden = self.open(scope)
        past = scope.pick(self.store.ended(scale.start, 200), lambda line: line.id)
        views = [*seen, *(self.recorded(line) for line in past)]
        facts = TonightFacts(scale, views, hidden, [*self.windows(scale)], [*self.freezes()], offset)
        return facts, self.telling([*views, *hidden])

    def night(self, offset: int) -> Scale:
        """Eight hours: the night that is, or the next one; and so many stretches of eight from there."""
        there = local(self.store.clock(), self.config.zone)
        midnight = there.replace(hour=0, minute=0, second=0, microsecond=0)
        begins = midnight + NIGHT[0] - (timedelta(days=1) if there.hour < MORNING else timedelta(0))
        start = begins.astimezone(UTC) + offset * NIGHT[1]
        return Scale(start, start + NIGHT[1])

    def windows(self, scale: Scale) -> Iterable[Held]:
        for name, window in self.config.windows.items():
            at = scale.start
            while at < scale.end:
                try:
                    start, end = next_opening(window, at)
                except BadTime:
                    break
                if start >= scale.end:
                    break
                yield Held(name, start, end, window.environments)
                at = end + timedelta(seconds=1)

    def freezes(self) -> Iterable[Held]:
        for name, freeze in self.config.freezes.items():
            yield Held(name, freeze.since, freeze.until, freeze.environments)

    def sums(self, scope: Scope, days: int) -> Sums:
        """Remembered for a minute: nobody counts faster than that."""
        now = self.store.clock()
        since = now - timedelta(days=days)

        def reach(one: Scope) -> Reach:
            until = now + timedelta(minutes=1)
            find = lambda: one.reach(lambda mine: self.store.elsewhere(since, until, mine))  # noqa: E731
            return self.minute.get(("reach", one.actor, days), find)

        counted = scope.note(("reach", days), reach)
        find = lambda: self.store.sums(since, now + timedelta(minutes=1), counted)  # noqa: E731
        return self.minute.get(("sums", days, counted), find)

    def figures_page(self, scope: Scope, days: int) -> tuple[FiguresFacts, Telling]:
        since = self.store.clock() - timedelta(days=days)
        spans = self.minute.get(("spans",), lambda: self.store.spans(self.store.actions()))
        calls = self.minute.get(("calls", days), lambda: self.store.spending(since)) if scope.all else []
        return FiguresFacts(self.sums(scope, days), days, since, spans, calls), self.telling([])

    def fleet_page(self, scope: Scope) -> tuple[FleetFacts, Telling]:
        held = self.store.holdings()
        mine = {*scope.plans([plan for _, plan, _, _ in held])}
        holdings = [
            Holding(
                target if plan in mine else "", plan if plan in mine else 0, since, state == StepState.unknown
            )
            for target, plan, since, state in held
        ]
        facts = FleetFacts(
            self.store.everybody(), self.store.owners(BUSY), self.store.stops(), holdings, self.vitals(),
            week=self.sums(scope, 7), **self.drafting(scope),
        )  # fmt: skip
        return facts, self.telling([])

    def drafting(self, scope: Scope) -> dict[str, Any]:
        """Agents: those of plans that they see, and how many others work."""
        now = self.store.clock()
        week = now - timedelta(days=7)
        agents = self.store.agents([(one.worker, one.action) for one in self.contracts if one.drafts], week)
        landings = self.store.landings(week)
        seen = {*scope.plans([*{*(one.plan for one in agents), *(plan for plan, _ in landings)}])}
        mine = [one for one in agents if one.plan in seen]
        tried = [Tried(one.step, one.state, one.outcome, one.data) for one in mine if one.number]
        drafted = counted(tried, sum(landed for plan, landed in landings if plan in seen))
        lately = [one for one in mine if one.ended_at is None or one.ended_at > now - LATELY]
        hidden = sum(one.works for one in agents if one.plan not in seen)
        due = self.store.due()
        late = max(0.0, (now - due).total_seconds()) if due else 0.0
        return {"agents": lately, "hidden": hidden, "drafted": drafted, "late": late}

    @property
    def contracts(self) -> list[Contract]:
        return self.minute.get(("contracts",), self.store.contracts)

    def vitals(self) -> Sequence[Vital]:
        now = self.store.clock()
        alive = [one for one in self.store.everybody() if now - one.seen_at < timedelta(seconds=30)]
        workers = sum(one.kind == "workers" for one in alive)
        running = sum(self.store.owners({StepState.running}).values())
        oldest = self.store.unsent()
        lag = max(0.0, (now - oldest).total_seconds()) if oldest else 0.0
        said, kind = self.anchored()
        return [
            Vital(
                "Workers", f"processes alive; {running} steps run", str(workers), "ok" if workers else "bad"
            ),
            Vital(
                "Slack",
                "oldest message not shown yet",
                brief(lag) if lag else "none",
                "ok" if lag < LATE else "ask",
            ),
            Vital("Journal", said, "anchored" if kind == "ok" else "not anchored", kind),
        ]

    def anchored(self) -> tuple[str, str]:
        """When the journal was last anchored outside the database, as far as this machine knows."""

        def find() -> tuple[str, str]:
            try:
                last = last_checkpoint(self.config.audit.anchor(self.state))
            except (SignoffError, OSError) as error:
                return str(error).partition("\n")[0], "ask"
            if last is None:
                return "no checkpoint lies on this machine", "ask"
            return f"anchored at {self.now.clock(datetime.fromisoformat(last.at))}", "ok"

        return self.minute.get(("anchored",), find)
