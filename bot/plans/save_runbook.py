"""Save as runbook: a plan that went well becomes one that anybody can ask for, in the operator's folder."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from bot.context import Bot
from bot.planner import planning
from bot.planner.examples import Stage, rehearse
from bot.planner.runbooks import save as saving
from bot.planner.runbooks.asks import GAP
from bot.planner.runbooks.book import Runbook, parse
from bot.planner.runbooks.matching import NAME, masked
from storage.contract.states import PlanState
from storage.errors import InvalidPlan, SignoffError
from storage.reading.plan_view import PlanView

SHORTEST = 8  # letters of a trigger; shorter words would catch what is meant otherwise


def savable(view: PlanView) -> bool:
    return view.spec is not None and view.state == PlanState.done and view.outcome == "succeeded"


def save(bot: Bot, user: str, view: PlanView, values: dict[str, str]) -> dict[str, str]:
    """A filled form: errors at its fields, or the runbook is there."""
    actor = bot.demand(user, "save", view)
    name, words = values["name"].strip(), " ".join(values.get("trigger", "").split())
    if wrong := _mistakes(bot, name, words):
        return wrong
    try:
        text = make(bot, view, name, values["title"].strip() or name, words)
    except InvalidPlan as error:
        return {"name": f"This plan cannot become a runbook: {error.issues[0]}"}
    except SignoffError as error:
        return {"name": str(error)}
    book = parse(f"{name}.yml", text)
    if caught := disturbed(stage(bot), book):
        return {"trigger" if words else "name": f"With these words, “{caught}” would mean something else."}
    kept = write(bot.config.runbooks, f"{name}.yml", text)
    bot.store.save(view.id, name, text, user=actor.user, kept=kept)
    if kept:
        bot.runbooks.append(book)
    return {}


def make(bot: Bot, view: PlanView, name: str, title: str, words: str) -> str:
    """The runbook as YAML; what the planner found on the way is part of it, so nothing is left to find."""
    if view.spec is None or not savable(view):
        raise SignoffError("Only a plan that went well becomes a runbook.")
    spec = view.spec.model_copy(update={"continues": False})
    text = saving.runbook(spec, name=name, title=title, catalogue=bot.catalogue(), config=bot.config)
    if not words:
        return text
    found = yaml.safe_load(text)
    found["asks"]["also"].append(phrase(words, bot))
    return str(yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=110))


def stage(bot: Bot) -> Stage:
    return Stage(bot.runbooks, bot.catalogue(), bot.config, bot.store.clock())


def disturbed(here: Stage, book: Runbook) -> str:
    """The first example of a runbook that would no longer be understood as it is, or ""."""
    before = {trial.say for trial in rehearse(here) if trial.wrong}
    trials = rehearse(replace(here, books=[*here.books, book]), here.books)
    return next((trial.say for trial in trials if trial.wrong and trial.say not in before), "")


def write(folders: Sequence[Path], name: str, text: str) -> bool:
    """Put it into the first folder that takes it; what is there is never overwritten."""
    for folder in folders:
        try:
            with (folder / name).open("x", encoding="utf-8") as out:
                out.write(text)
        except FileExistsError:
            raise SignoffError(f"There is a {name} already; please take another name.") from None
        except OSError:
            continue
        return True
    return False


def _mistakes(bot: Bot, name: str, words: str) -> dict[str, str]:
    if any(book.id == name for book in bot.runbooks):
        return {"name": "There is a runbook of that name already."}
    if words and len(words) < SHORTEST:
        return {"trigger": f"At least {SHORTEST} letters, please: shorter words catch too much."}
    if words and planning.is_time(words, bot.config):
        return {"trigger": "These words hold a time, which may be said with any wish; please take others."}
    if words and planning.is_verb(phrase(words, bot), bot.runbooks, bot.config):
        return {"trigger": "These words ask for another runbook already; please take others."}
    return {}


def phrase(words: str, bot: Bot) -> str:
    """The words with a gap for each name; none at either end."""
    return re.sub(rf"\s*{NAME}\s*", f" {GAP} ", masked(words, bot.config)).strip(f" {GAP}").lower()
