"""Whether the words of a plan are those that were put on record: wish, goal, purposes, previews, reports."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select

from storage.database.statements import Prepared, table
from storage.database.tables import Plan, Step
from storage.journal.told import Told
from storage.journal.verified import MOST, Journal, verified
from storage.journal.words import report_hash, words_hash
from storage.memory import Memory
from storage.reading.plan_view import PlanView
from storage.transaction import Transaction


def as_recorded(memory: Memory, view: PlanView) -> PlanView:
    """The plan for a list; of one whose words were changed behind our back only that they were."""
    return unless(tampered(memory, view.id), view)


def unless(why: str, view: PlanView) -> PlanView:
    """The plan; without its words where it was found why they are not to be shown."""
    return replace(view, text=f"{HIDDEN}{why}", reason="", form="", spec=None, steps=()) if why else view


HIDDEN = "not shown: "


def tampered(memory: Memory, plan_id: int) -> str:
    """What in a plan's words its journal does not bear out, or ""."""
    return borne_out(memory, plan_id)[0]


def borne_out(memory: Memory, plan_id: int) -> tuple[str, Told]:
    """The same, and what its journal tells.

    PostgreSQL reads row after row as each stands: what others put on record meanwhile is no forgery, and the
    look is repeated until nobody has moved the plan during it.
    """
    why, told = "", Told()
    for _ in range(LOOKS):
        with memory.read() as t:
            plan = t.plan(plan_id)
            why, told = _found(t, plan, memory.journals)
            after = t.plan(plan_id) if why else plan
        if not why or (plan.version, plan.head) == (after.version, after.head):
            break
    return why, told


LOOKS = 10


def _found(t: Transaction, plan: Plan, journals: dict[int, Journal]) -> tuple[str, Told]:
    journal = verified(t.connection, plan.id, journals.get(plan.id, Journal()))
    if journal is None:
        return JOURNAL, Told()
    if not journal.events and plan.state in ENDED:
        return "", Told()  # forgotten by retention, which is on record elsewhere
    if (plan.events, plan.head) != (journal.events, journal.head) or not journal.events:
        return JOURNAL, journal.told
    keep(journals, plan.id, journal)
    told = journal.told
    return _misquoted(t, plan, told) or _misreported(t, plan, told) or _mispreviewed(t, plan, told), told


ENDED = {"done", "rejected", "expired", "cancelled"}
JOURNAL = "its journal was changed behind the bot's back"


def keep(journals: dict[int, Journal], plan_id: int, journal: Journal) -> None:
    """What is looked at most lately is kept: the others are linked anew when somebody looks."""
    journals.pop(plan_id, None)
    journals[plan_id] = journal
    for old in [*journals][:-MOST]:
        journals.pop(old, None)


def _misquoted(t: Transaction, plan: Plan, told: Told) -> str:
    if told.wish != (plan.text, plan.channel):
        return "its wish or its channel was changed behind the bot's back"
    if told.words and plan.revision and words_hash(vars(t.revision(plan))) != told.words:
        return "it does not read as it was proposed: it was changed behind the bot's back"
    return ""


def _misreported(t: Transaction, plan: Plan, told: Told) -> str:
    mine = {"plan": plan.id, "revision": plan.revision}
    for key, report in REPORTS.all(t.connection, **mine):
        if report is not None and not _bears_out(told.reports, key, report):
            return "a report in it was changed behind the bot's back"
    return ""


class Reported(NamedTuple):
    """A step and its report."""

    key: str
    report: dict[str, Any] | None


S = table(Step).c
REPORTS = Prepared(
    select(S.key, S.report)
    .where(S.plan_id == bindparam("plan"), S.revision == bindparam("revision"))
    .order_by(S.position),
    Reported,
)


def _bears_out(reports: Mapping[str, str | None], key: str, report: dict[str, Any]) -> bool:
    return key in reports and reports[key] in {None, report_hash(report)}


def _mispreviewed(t: Transaction, plan: Plan, told: Told) -> str:
    shown = told.shows(plan.revision)
    for preview in t.previews(plan):
        said = told.previews.get((shown, preview.key), {})
        if preview.state != "wanted" and (
            not said or any(said[name] != getattr(preview, name) for name in said)
        ):
            return "a preview in it was changed behind the bot's back"
    return ""
