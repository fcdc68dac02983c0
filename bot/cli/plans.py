"""The commands that look, and the kill switch. Each prints sentences and returns an exit code."""

import json
import subprocess
import sys
from pathlib import Path

from bot.cards.phrases import lasting, standing, timing, title
from bot.cli import stats as figures
from bot.cli.doctor import examine
from bot.config import BotSettings
from bot.inbox.requests import read_scope
from bot.planner import importing
from bot.planner.prepare import complete
from bot.planner.validate import Catalogue
from bot.policy.authorize import terms
from storage.config import SignoffConfig, login, read_config
from storage.contract.capability import Contract
from storage.contract.spec import PlanSpec
from storage.database.engine import migrate, open_engine
from storage.errors import BadConfig, InvalidPlan, SignoffError
from storage.reading.views import PlanView
from storage.store import Store


def plan(settings: BotSettings, path: Path) -> int:
    """Load a plan from JSON; print it as it would be proposed, its digest and risk, and every problem."""
    config, catalogue = read_config(settings.config), ask_workers()
    try:
        draft, notes = importing.read(importing.load(path), catalogue)
    except InvalidPlan as error:
        return _print_problems([str(issue) for issue in error.issues])
    spec, issues = complete(draft, catalogue, config, settings.now()())
    print(json.dumps(spec.model_dump(mode="json"), indent=2, ensure_ascii=False))
    for note in notes:
        print(f"note: {note}")
    print(f"digest: {spec.digest()}")
    if not any(issue.code in {"cycle", "unknown_step", "duplicate_id"} for issue in issues):
        _print_terms(spec, catalogue, config, settings)
    return _print_problems([str(issue) for issue in issues])


def ask_workers() -> Catalogue:
    """What the configured workers can do, as they say themselves: the bot holds none of their code."""
    asked = subprocess.run(
        [sys.executable, "-m", "workers", "capabilities"], capture_output=True, text=True, check=False
    )
    if asked.returncode:
        raise BadConfig(f"The workers cannot say what they do: {asked.stderr.strip()}")
    return Catalogue([Contract.model_validate(found) for found in json.loads(asked.stdout)])


def plans(settings: BotSettings) -> int:
    """The newest plans, one line each."""
    store = open_store(settings)
    for view in store.recent():
        goal = view.spec.goal if view.spec else view.text
        print(f"{view.id:>5}  {standing(view, store.clock()):<40}  {goal}")
    return 0


def show(settings: BotSettings, plan_id: int) -> int:
    """One plan, its steps and its journal."""
    store = open_store(settings)
    view = store.view(plan_id)
    print(f"Plan {view.id}: {view.spec.goal if view.spec else view.text}")
    print(f"{standing(view, store.clock())}; {view.reason}" if view.reason else standing(view, store.clock()))
    _print_steps(view)
    for event in store.events(plan_id):
        print(
            f"  {event.at:%Y-%m-%d %H:%M:%S}Z {event.actor:<12} {event.verb:<8} {event.data.get('step', '')}"
        )
    return 0


def stop(settings: BotSettings, words: str) -> int:
    """The kill switch. Whoever reaches the database may use it; the journal keeps the login name."""
    scope, reason = read_scope(words)
    if not reason:
        raise SignoffError(
            "Please say why: signoff stop [everything | plan 7 | environment production] REASON"
        )
    store = open_store(settings)
    with store.coming("terminal"):
        store.stop(scope, reason=reason, user=login())
    print(f"Stopped: {scope}. What runs goes on to its end; nothing starts until `signoff resume {scope}`.")
    return 0


def resume(settings: BotSettings, words: str) -> int:
    """Lift a stop."""
    scope, rest = read_scope(words)
    if rest:
        raise SignoffError(
            f"“{rest}” is no scope: signoff resume [everything | plan 7 | environment production]"
        )
    store = open_store(settings)
    with store.coming("terminal"):
        store.resume(scope, user=login())
    print(f"Resumed: {scope}.")
    return 0


def doctor(settings: BotSettings) -> int:
    """Non-zero when the bot could not run."""
    findings = list(examine(settings))
    for finding in findings:
        print(finding)
    missing = [finding.part for finding in findings if finding.state == "missing"]
    print(f"\nThe bot cannot run yet: {', '.join(missing)}." if missing else "\nThe bot can run.")
    return 1 if missing else 0


def stats(settings: BotSettings, *, as_json: bool) -> int:
    """Figures from the journal."""
    found = figures.stats(open_store(settings).journal())
    print(json.dumps(found.as_json()) if as_json else figures.table(found))
    return 0


def open_store(settings: BotSettings) -> Store:
    engine = open_engine(settings.database)
    migrate(engine)
    return Store(engine, settings.now(), settings.redactor())


def _print_terms(spec: PlanSpec, catalogue: Catalogue, config: SignoffConfig, settings: BotSettings) -> None:
    asked = terms(spec, catalogue, config, authors=(), now=settings.now()())
    print(f"risk: {asked.risk} ({'; '.join(asked.reasons)})")
    print(f"approvals needed: {asked.needed}")
    print(f"takes about: {lasting(asked.seconds)}")


def _print_steps(view: PlanView) -> None:
    for number, step in enumerate(view.steps, 1):
        said = f": {step.report.summary}" if step.report else ""
        print(f"  {number}. [{step.state}] {title(step.spec)} ({timing(step.spec)}){said}")


def _print_problems(found: list[str]) -> int:
    if not found:
        print("no problems found")
        return 0
    print(f"{len(found)} problem(s):")
    for line in found:
        print(f"  - {line}")
    return 1
