"""What is answered: from an address and a person to bytes. Sync, and called from threads."""

import csv
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from io import StringIO
from typing import NamedTuple

from bot.board.api.documents import Documents
from bot.board.desk import Desk
from bot.board.evidence import Evidence, TooMuch, day
from bot.board.html import Safe
from bot.board.pages.figures import PERIODS, figures_page
from bot.board.pages.fleet import fleet_page, problems
from bot.board.pages.journal import Asked, journal_page
from bot.board.pages.now import now_page, sorted_out
from bot.board.pages.plan import plan_page
from bot.board.pages.plans import STATES, plans_page
from bot.board.pages.report import ReportFacts, harmless, report_csv, report_page
from bot.board.pages.tonight import tonight_page
from bot.board.parts.frame import Frame, framed
from bot.board.parts.telling import Telling
from bot.board.scope import Scope
from bot.board.shared import Shared
from bot.cards.face.lines import subject
from bot.untrusted import clip, inert
from storage.audit.export import ocsf
from storage.board.happenings import Happening
from storage.board.lines import Filter
from storage.errors import NotFound
from storage.journal.chain import event_text

Query = Mapping[str, str]
WHOLE = 5000  # plans in a report as a file
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """What goes back; `main` is the part that is fetched again, for its mark."""

    body: bytes
    kind: str = "text/html; charset=utf-8"
    name: str = ""  # of a file to be kept
    status: int = 200
    tag: str = ""


class Made(NamedTuple):
    """A page without its frame; of a plan's, also which revision of it is there to read, whole."""

    name: str
    title: str
    main: Safe
    plan: int = 0
    revision: int = 0


@dataclass(frozen=True)
class Answers:
    """Everything that can be asked for with GET."""

    desk: Desk
    evidence: Evidence
    static: Mapping[str, str]
    opened: Callable[[int, int, str], None]
    shared: Shared[Made] = field(default_factory=Shared)

    def page(self, scope: Scope, path: str, query: Query, *, part: bool, seq: int = 0) -> Answer:
        """`seq` grows with everything that moves: as long as it stands still, a page may be shared."""
        key = (path, *sorted(query.items()), seq)
        made = self.shared.get(key, scope, lambda mine: self._made(mine, path, query))
        if made.revision:
            self.opened(made.plan, made.revision, scope.actor.user)
        tag = hashlib.sha256(made.main.encode()).hexdigest()[:20]
        if part:
            return Answer(made.main.encode(), tag=tag)
        return Answer(framed(self.frame(scope), made.name, made.title, made.main), tag=tag)

    def frame(self, scope: Scope) -> Frame:
        seen, _ = self.desk.open(scope)
        asks = len(sorted_out(seen, self.desk.store.clock())["ask"])
        facts, _ = self.desk.fleet_page(scope)
        wrong = len(problems(facts, self.desk.store.clock()))
        badges = {"now": (asks, "need a person"), "fleet": (wrong, "problems")}
        return Frame(self.desk.now, self.desk.names.who(scope.actor.user), self.static, badges)

    def _made(self, scope: Scope, path: str, query: Query) -> Made:
        parts = path.strip("/").split("/")
        if len(parts) == 2 and parts[0] == "plans" and parts[1].isdecimal() and len(parts[1]) < 10:
            return self._plan(scope, int(parts[1]))
        if path.strip("/") not in PAGES:
            raise NotFound("There is no such page.")
        return PAGES[path.strip("/")](self, scope, query)

    def now(self, scope: Scope, query: Query) -> Made:
        return Made("now", "Now", now_page(*self.desk.now_page(scope)))

    def tonight(self, scope: Scope, query: Query) -> Made:
        night = number(query.get("night"), -200, 200)
        return Made("tonight", "Tonight", tonight_page(*self.desk.tonight_page(scope, night)))

    def plans(self, scope: Scope, query: Query) -> Made:
        return Made("plans", "Plans", plans_page(*self.desk.plans_page(scope, wanted(query))))

    def fleet(self, scope: Scope, query: Query) -> Made:
        return Made("fleet", "Fleet", fleet_page(*self.desk.fleet_page(scope)))

    def figures(self, scope: Scope, query: Query) -> Made:
        return Made("figures", "Figures", figures_page(*self.desk.figures_page(scope, period(query))))

    def journal(self, scope: Scope, query: Query) -> Made:
        before, verify = number(query.get("before"), 0, 2**53), bool(query.get("verify"))
        found = self.evidence.journal_page(scope, asked(query), before=before, verify=verify)
        return Made("journal", "Journal", journal_page(*found))

    def report(self, scope: Scope, query: Query) -> Made:
        before = number(query.get("before"), 0, 2**31 - 1)
        return Made("journal", "Report", report_page(*self._report(scope, query, before=before)))

    def _plan(self, scope: Scope, plan_id: int) -> Made:
        facts, tell = self.evidence.plan_page(scope, plan_id)
        title = f"#{plan_id} {clip(inert(subject(facts.view)), 80)}"
        revision = facts.view.revision if facts.view.spec else 0
        return Made("plans", title, plan_page(facts, tell), plan_id, revision)

    def _report(self, scope: Scope, query: Query, **more: int) -> tuple[ReportFacts, Telling]:
        today = self.desk.store.clock().date()
        since = day(query.get("since", "")) or today - timedelta(days=30)
        until = day(query.get("until", "")) or today
        target = clip(query.get("target", "").strip(), 100)
        return self.evidence.report_page(scope, since, until, target, **more)

    def file(self, scope: Scope, path: str, query: Query) -> Answer:
        """What is kept as a file."""
        parts = path.strip("/").split("/")
        match parts:
            case ["plans", id_, "log", key, n] if id_.isdecimal() and n.isdecimal() and len(id_ + n) < 14:
                text = self.evidence.whole_log(scope, int(id_), key, int(n))
                return Answer(text.encode(), TEXT, f"plan-{id_}-attempt-{n}.txt")
            case ["journal", "export"]:
                return self._export(scope, query)
            case ["report"]:
                facts, _ = self._report(scope, query, most=WHOLE)
                if facts.older:
                    raise TooMuch(f"There are more than {WHOLE:,} plans. Please choose a shorter time.")
                return Answer(
                    report_csv(facts).encode(),
                    "text/csv; charset=utf-8",
                    f"signoff-{facts.since}-{facts.until}.csv",
                )
        raise NotFound("There is no such file.")

    def _export(self, scope: Scope, query: Query) -> Answer:
        events = [*self.evidence.export(scope, asked(query))][::-1]
        form = query.get("form", "jsonl")
        if form == "csv":
            return Answer(table(events).encode(), "text/csv; charset=utf-8", "signoff-journal.csv")
        lines = [line(one) for one in sorted(events, key=lambda one: (one.plan, one.seq))]
        if form == "ocsf":
            return Answer(b"".join(ocsf(lines)), "application/x-ndjson", "signoff-journal-ocsf.jsonl")
        return Answer(b"".join(lines), "application/x-ndjson", "signoff-journal.jsonl")

    def api(self, scope: Scope, path: str, query: Query) -> Answer:
        document = Documents(self.desk, self.evidence).answer(scope, path, query)
        return Answer(json.dumps(document, ensure_ascii=False).encode(), "application/json")


PAGES: dict[str, Callable[[Answers, Scope, Query], Made]] = {
    "": Answers.now, "tonight": Answers.tonight, "plans": Answers.plans, "fleet": Answers.fleet,
    "figures": Answers.figures, "journal": Answers.journal, "report": Answers.report,
}  # fmt: skip


def line(one: Happening) -> bytes:
    """As `signoff audit export` writes it."""
    link = {"plan": one.plan, "seq": one.seq, "at": one.at, "verb": one.verb, "actor": one.actor}
    text = event_text(prev=one.prev, data=one.data, **link)  # type: ignore[arg-type] # each by its name
    return b'{"hash":"%s","event":%s}\n' % (one.hash.encode(), text)


def table(events: list[Happening]) -> str:
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(("at (UTC)", "plan", "seq", "verb", "who", "data", "hash"))
    for one in events:
        cells = (
            one.at.isoformat(),
            str(one.plan),
            str(one.seq),
            one.verb,
            one.actor,
            json.dumps(one.data, ensure_ascii=False),
            one.hash,
        )
        writer.writerow([harmless(cell) for cell in cells])
    return out.getvalue()


def number(text: str | None, least: int, most: int) -> int:
    try:
        return min(most, max(least, int(text or 0)))
    except ValueError:
        return 0


def wanted(query: Query) -> Filter:
    state = query.get("state", "")
    return Filter(
        number(query.get("before"), 0, 2**31 - 1),
        state if state in STATES else "",
        clip(query.get("q", "").strip(), 100),
    )


def period(query: Query) -> int:
    days = number(query.get("days"), 0, 90)
    return days if days in PERIODS else 30


def asked(query: Query) -> Asked:
    names = ("q", "verb", "who", "plan", "since", "until")
    return Asked(*(clip(query.get(name, "").strip(), 100) for name in names))
