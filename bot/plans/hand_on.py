"""Runbooks from hand to hand: tried, handed on and brought in, at the terminal and in Slack."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from bot.cards.blocks import FENCE, LIMIT, fenced
from bot.context import Bot
from bot.planner.examples import Stage, main, rehearse
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import Runbook
from bot.planner.runbooks.save import NAME, OWN_PATTERNS
from bot.plans.save_runbook import disturbed, stage, write
from bot.untrusted import clip
from storage.errors import BadConfig, SignoffError

LARGEST = 20_000  # characters of a runbook
DEEPEST = 20  # mappings and lists within each other
FENCED = re.compile(rf"{FENCE}(?:ya?ml\s)?\n?(.*?)\n?{FENCE}", re.S)
LINK = re.compile(r"<((?:https?|mailto):[^|>]+)(?:\|[^>]*)?>")
USAGE = (
    "Please say `runbook test`, `runbook export deploy-service`, or `runbook import` with the file behind "
    "it, as a block of code."
)
NO_FOLDER = (
    "It holds here, but there is nowhere to keep it: `runbooks` in signoff.toml names no folder that I can "
    "write."
)
PATTERNED = (
    "It holds patterns of its own ({}). Those only an operator brings in: `signoff runbook import FILE`. "
    "Words (`asks`, `choices`, `kind`) need none."
)


def file_of(folders: Sequence[Path], name: str) -> str:
    """A runbook's file as it stands; the last folder that has it is the one that counts."""
    for folder in reversed((runbooks.SHIPPED, *folders)):
        for file in sorted(folder.glob("*.yml")):
            text = file.read_text(encoding="utf-8")
            if runbooks.parse(file.name, text).id == name:
                return text
    raise SignoffError(f"There is no runbook “{clip(name, 60)}”. `/plan runbooks` lists them.")


def bring_in(text: str, here: Stage, folders: Sequence[Path]) -> Runbook:
    """Keep a runbook of another installation, if it takes nobody's place and its examples hold here."""
    book = runbooks.parse("that you sent", text)
    for why in unfit(book, here):
        raise BadConfig(why)
    if not write(folders, f"{book.id}.yml", text):
        raise BadConfig(NO_FOLDER)
    return book


def unfit(book: Runbook, here: Stage) -> Iterator[str]:
    """Why it cannot be one of ours."""
    if not NAME.fullmatch(book.id):
        yield "A runbook's `id` is lower-case letters, digits and hyphens, such as deploy-auth."
    if any(one.id == book.id for one in here.books):
        yield f"There is a runbook “{book.id}” already. Please give this one another `id`."
    whole = replace(here, books=[*here.books, book])
    if wrong := [trial for trial in rehearse(whole, [book]) if trial.wrong]:
        said = [f"“{trial.say}”: {meant(here, trial.say) or trial.wrong}" for trial in wrong]
        yield "\n".join(["Its examples do not hold here.", *said])
    if caught := disturbed(here, book):
        yield f"With its words, “{caught}” would mean something else."


def meant(here: Stage, say: str) -> str:
    """What asks for another runbook already, in words; "" where it asks for none."""
    try:
        made = here.plan(say)
    except SignoffError:
        return ""
    titles = {book.id: book.title for book in here.books}
    return f"these words ask for “{titles[made.runbook]}” already" if made.runbook in titles else ""


def hand_on(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """`/plan runbook test|export|import`."""
    found = re.match(r"(test|export|import)\b\s*", rest, re.I)
    if not found:
        raise SignoffError(USAGE)
    return ACTS[found[1].lower()](bot, rest[found.end() :].strip(), body["user"])


def _test(bot: Bot, name: str, user: str) -> str:
    chosen = [book for book in bot.runbooks if book.id == name] if name else bot.usable()
    if name and not chosen:
        file_of((), name)
    return fenced(main(stage(bot), chosen)[0]) if chosen else "There are no runbooks."


def _export(bot: Bot, name: str, user: str) -> str:
    text = file_of(bot.config.runbooks, name)
    if len(text) > LIMIT - 1000:
        raise SignoffError(
            f"That file is too long for a message. At the terminal: `signoff runbook export {name}`."
        )
    return fenced(text)


def _import(bot: Bot, sent: str, user: str) -> str:
    """Approvers bring in what others can then ask for; the journal keeps who, and the text."""
    actor = bot.demand(user, "bring_in", None)
    text = _unfenced(sent)
    _demand_harmless(text)
    book = bring_in(text, stage(bot), bot.config.runbooks)
    bot.store.bring_in(book.id, text, user=actor.user)
    bot.runbooks.append(book)
    return f"“{book.title}” can be asked for: `/plan {book.examples[0]}`"


def _demand_harmless(text: str) -> None:
    """What somebody pasted may neither take all memory nor all time; a file of the operator's might."""
    if not text:
        raise SignoffError(USAGE)
    if len(text) > LARGEST:
        raise SignoffError(f"That is {len(text)} characters long; at most {LARGEST}, please.")
    try:
        _demand_plain(text)
    except yaml.YAMLError:
        return  # whoever reads it says where
    book = runbooks.parse("that you sent", text)
    own = [name for name, slot in book.slots.items() if not {slot.pattern, slot.answer} <= OWN_PATTERNS]
    if own or book.triggers:
        raise SignoffError(PATTERNED.format(", ".join(own or ["triggers"])))


def _demand_plain(text: str) -> None:
    """Neither aliases, by which a few lines become gigabytes, nor parts within parts without end."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise SignoffError("It says a part twice by an alias (`*name`). Please write it out.")
        if depth > DEEPEST:
            raise SignoffError("It is nested too deeply to be a runbook.")


def _unfenced(sent: str) -> str:
    """What stands between the marks, or all of it; a message has links and signs as Slack writes them."""
    text = LINK.sub(r"\1", "\n".join(FENCED.findall(sent)) or sent)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip("\n")


ACTS = {"test": _test, "export": _export, "import": _import}
