"""`signoff plan`, `plans` and `show`: each prints what it finds and returns an exit code."""

import json
from pathlib import Path

from bot.board.api.models import PlanList, brief_out, plan_out
from bot.cards.face.lines import subject, title
from bot.cards.face.running import listed
from bot.cards.phrases import lasting, standing, timing
from bot.cli.sources import ask_workers, open_to_read
from bot.config import BotSettings
from bot.planner import importing
from bot.planner.prepare import complete
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from bot.policy.authorize import terms
from storage.board.happenings import approvals
from storage.board.lines import PAGE, Filter, page
from storage.config import SignoffConfig, read_config
from storage.contract.spec import PlanSpec
from storage.errors import InvalidPlan
from storage.reading.plan_view import PlanView
from storage.reading.words import tampered


def plan(settings: BotSettings, path: Path) -> int:
    """Load a plan from JSON; print it as it would be proposed, its digest and risk, and every problem."""
    config, catalogue = read_config(settings.config), ask_workers()
    try:
        books = runbooks.read((runbooks.SHIPPED, *config.runbooks))
        draft, notes = importing.read(importing.load(path), catalogue, books, config)
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


def plans(settings: BotSettings, *, as_json: bool = False) -> int:
    """The newest plans, one line each; or as the board's API gives them."""
    store = open_to_read(settings)
    if as_json:
        found_lines = page(store, Filter())
        more = found_lines[PAGE - 1].id if len(found_lines) > PAGE else 0
        told = [brief_out(line, tampered(store, line.id)) for line in found_lines[:PAGE]]
        print(PlanList(plans=told, before=more).model_dump_json())
        return 0
    found = [view for view in store.recent(50) if view.planned][:20]
    if not found:
        print("There are no plans yet.")
    for view in map(store.as_recorded, found):
        goal = subject(view)
        print(f"{view.id:>5}  {standing(view, store.clock()):<40}  {goal}")
    return 0


def show(settings: BotSettings, plan_id: int, *, as_json: bool = False) -> int:
    """One plan, its steps and its journal; or as the board's API gives it."""
    store = open_to_read(settings)
    view = store.as_recorded(store.view(plan_id))
    if as_json:
        print(plan_out(view, approvals(store, plan_id, view.revision), store.clock()).model_dump_json())
        return 0
    print(f"Plan {view.id}: {subject(view)}")
    print(f"{standing(view, store.clock())}; {view.reason}" if view.reason else standing(view, store.clock()))
    _print_steps(view)
    for event in store.events(plan_id):
        print(
            f"  {event.at:%Y-%m-%d %H:%M:%S}Z {event.actor:<12} {event.verb:<8} {event.data.get('step', '')}"
        )
    return 0


def _print_terms(spec: PlanSpec, catalogue: Catalogue, config: SignoffConfig, settings: BotSettings) -> None:
    asked = terms(spec, catalogue, config, authors=(), now=settings.now()())
    print(f"risk: {asked.risk} ({'; '.join(asked.reasons)})")
    print(f"approvals needed: {asked.needed}")
    print(f"takes about: {lasting(asked.seconds)}")


def _print_steps(view: PlanView) -> None:
    for number, step in enumerate(view.steps, 1):
        said = f": {step.report.summary}" if step.report else ""
        print(f"  {number}. [{listed(view, step)}] {title(view, step.spec)} ({timing(step.spec)}){said}")


def _print_problems(found: list[str]) -> int:
    if not found:
        print("no problems found")
        return 0
    print(f"{len(found)} problem(s):")
    for line in found:
        print(f"  - {line}")
    return 1
