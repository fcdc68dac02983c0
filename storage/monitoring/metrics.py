"""What a monitor asks: figures read from rows, as Prometheus reads them (text format 0.0.4)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, func, select
from sqlmodel import col

from storage.board.happenings import DUE_SINCE
from storage.contract.states import BUSY, PlanState
from storage.database.tables import Delivery, Message, Spending, Step, Stop
from storage.journal.stories import Recovery, recovery
from storage.memory import Memory
from storage.monitoring.ended import Ended
from storage.monitoring.fleet import Fleet, fleet
from storage.monitoring.histograms import rungs

OUTCOMES = ("succeed", "fail", "retry", "lost", "unknown", "cancel")


@dataclass(frozen=True)
class Figure:
    """One figure, by the value of its label; a figure without a label has the value under ""."""

    name: str
    kind: str
    meaning: str
    values: Mapping[str, float]
    label: str = ""


def figures(memory: Memory, ended: Ended | None = None) -> list[Figure]:
    """Everything that a monitor may want to know. Rows are the truth, so every process says the same.

    `ended`: who asks again and again keeps what was counted for good.
    """
    now = memory.clock()
    with memory.read() as t:
        found = [*_work(t.connection, now, ended or Ended()), *_talk(t.connection, now)]
        also = [*_fleet(fleet(t.connection)), *_board(t.connection)]
        return [*found, *_recovery(recovery(t.connection)), *also]


def told(found: Iterable[Figure]) -> str:
    return "".join(line + "\n" for figure in found for line in _lines(figure))


def _lines(figure: Figure) -> Iterable[str]:
    yield f"# HELP {figure.name} {figure.meaning}"
    yield f"# TYPE {figure.name} {figure.kind}"
    for value, number in figure.values.items():
        label = f'{{{figure.label}="{_escaped(value)}"}}' if figure.label else ""
        yield f"{figure.name}{label} {number:.10g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _work(c: Connection, now: datetime, ended: Ended) -> Iterable[Figure]:
    plans = _all_of(PlanState, ended.plans(c))
    yield Figure("signoff_plans", "gauge", "Plans by state.", plans, "state")
    steps = select(col(Step.state), func.count()).where(col(Step.state).in_(BUSY)).group_by(col(Step.state))
    yield Figure(
        "signoff_steps", "gauge", "Steps that run or are unknown.", _counted(c, steps, sorted(BUSY)), "state"
    )
    late = {"": _age(c.execute(DUE_SINCE, {"now": now}).scalar_one(), now)}
    yield Figure(
        "signoff_start_lateness_seconds", "gauge", "How long a step could have started by now.", late
    )
    tries = _all_of(OUTCOMES, ended.attempts(c))
    meaning = "Attempts by how they ended: retry will be tried again, lost was recovered from a dead process."
    yield Figure("signoff_attempts_total", "counter", meaning, tries, "outcome")
    stops = {"": c.execute(select(func.count()).select_from(Stop)).scalar_one()}
    yield Figure("signoff_stops", "gauge", "Scopes that are stopped.", stops)


def _talk(c: Connection, now: datetime) -> Iterable[Figure]:
    stale = select(func.count(), func.min(col(Message.not_before))).where(
        col(Message.wanted) > col(Message.shown)
    )
    count, oldest = c.execute(stale).one()
    yield Figure(
        "signoff_outbox_messages", "gauge", "Messages that Slack does not show as wanted.", {"": count}
    )
    lag = {"": _age(oldest, now)}
    yield Figure("signoff_outbox_lag_seconds", "gauge", "How long the oldest of them could have gone.", lag)
    waiting = select(func.count()).select_from(Delivery).where(col(Delivery.handled_at).is_(None))
    unhandled = {"": c.execute(waiting).scalar_one()}
    yield Figure(
        "signoff_deliveries_unhandled", "gauge", "What Slack delivered and nobody handled.", unhandled
    )
    spent = select(col(Spending.model), func.sum(col(Spending.usd))).group_by(col(Spending.model))
    cost = {model: float(usd) for model, usd in c.execute(spent)}
    yield Figure("signoff_model_usd_total", "counter", "What the models have cost.", cost, "model")


def _board(c: Connection) -> Iterable[Figure]:
    """What the board's figures say, too."""
    ended = "Ended plans with a failure on the way, by what ended their trouble."
    yield Figure("signoff_recoveries", "gauge", ended, rungs(c), "rung")


def _recovery(found: Recovery) -> Iterable[Figure]:
    """The same figures as `signoff stats`, from the journal."""
    tries = {"": found.failed_attempts}
    yield Figure("signoff_failed_attempts_total", "counter", "Attempts that failed or were lost.", tries)
    plans = {
        "recovered": found.recovered, "otherwise": found.ended - found.recovered,
        "open": found.troubled - found.ended,
    }  # fmt: skip
    meaning = "Plans with a failed attempt: ended well without a person, otherwise, or still open."
    yield Figure("signoff_troubled_plans", "gauge", meaning, plans, "end")


def _fleet(found: Fleet) -> Iterable[Figure]:
    """The same figures as `signoff stats fleet`."""
    yield Figure("signoff_agents_running", "gauge", "Agents at work.", {"": found.running})
    yield Figure(
        "signoff_changes_landed_total", "counter", "Drafts that were integrated.", {"": found.landed}
    )
    ends = Counter[str]()
    for kind in found.incidents.values():
        ends.update(kind)
    told = {"recovered": 0, "person": 0, "open": 0} | ends
    meaning = "Subtasks with an attempt that was not green at once: mended, a person's, or still open."
    yield Figure("signoff_incidents_total", "gauge", meaning, told, "outcome")
    cost = {"green": found.usd - found.usd_lost, "lost": found.usd_lost}
    yield Figure("signoff_agent_usd_total", "counter", "What agents have cost.", cost, "outcome")
    each = {"p50": 0.0, "p90": 0.0} | found.landed_usd
    yield Figure("signoff_landed_change_usd", "gauge", "What a change that landed has cost.", each, "rank")
    batches = {"whole": 0, "partly": 0, "nothing": 0} | found.batches
    meaning = "Merge batches that ended: all of it landed, some was left out, nothing landed."
    yield Figure("signoff_merge_batches_total", "counter", meaning, batches, "result")


def _counted(c: Connection, query: Select[Any, int], names: Iterable[str]) -> dict[str, float]:
    return _all_of(names, {str(name): count for name, count in c.execute(query)})


def _all_of(names: Iterable[str], found: Mapping[str, float]) -> dict[str, float]:
    """Every name has a value: a figure that comes and goes cannot be watched."""
    return {str(name): found.get(str(name), 0) for name in names}


def _age(moment: datetime | None, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0
