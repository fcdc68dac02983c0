"""`signoff init`: look around, ask little, write what is missing, and say the one thing that comes next."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.cli.doctor import Finding, examine
from bot.cli.sources import look_around
from bot.config import BotSettings
from bot.setup.choices import Choices
from bot.setup.configuration import why_left
from bot.setup.files import CONFIG, drafts, write
from storage.config import ZONES
from storage.contract.survey import Survey
from storage.errors import BadConfig

PERSON = re.compile(r"[UWS][A-Z0-9]{2,}")
MOST_LEFT = 3  # that the terminal tells
SLACK = {"Slack bot token", "Slack app token", "ids"}


@dataclass(frozen=True)
class Given:
    """What was said on the command line."""

    approvers: Sequence[str] = ()
    context: str = ""
    project: Path = Path()
    dry_run: bool = False


def init(settings: BotSettings, given: Given) -> int:
    """Files for what is found here. What is there already is kept, so it may be said again and again."""
    survey = look_around(given.context, given.project)
    if given.context and given.context not in survey.contexts:
        known = ", ".join(survey.contexts) or "none"
        raise BadConfig(f"There is no context '{given.context}' in your kubeconfig. Known: {known}.")
    chosen = Choices(approvers(given.approvers), zone(), str(Path.cwd()), survey)
    print("\n".join(told(survey, chosen)))
    if given.dry_run:
        for draft in drafts(chosen):
            print(f"\n── {draft.path}: {draft.about}\n\n{draft.text.rstrip()}")
        print("\nNothing was written.")
        return 0
    print()
    for draft, new in write(Path(), drafts(chosen)):
        print(f"  {'written' if new else 'kept   '}  {draft.path:<30} {draft.about}")
    print(f"\n{next_thing(settings)}")
    return 0


def told(survey: Survey, chosen: Choices) -> list[str]:
    """What was found, a line each, with what was not."""
    cluster, tests = survey.cluster, survey.suite
    names = (
        ", ".join(f"{one.name} {one.version}" for one in chosen.services) or "nothing that can be deployed"
    )
    kept = [f"{one.name} (kept by {one.keeper})" for one in chosen.kept_elsewhere]
    lines = ["Found here:"]
    if cluster is None:
        lines.append("  cluster    none: there is no kubeconfig")
    elif cluster.trouble:
        lines.append(f"  cluster    {cluster.context}, which could not be looked at: {cluster.trouble}")
    else:
        lines.append(f"  cluster    {cluster.context}: {', '.join([names, *kept])}")
    lines += left_out(chosen)
    for namespace, rights in cluster.lacking.items() if cluster else ():
        lines.append(f"             you may not {', '.join(rights)} in {namespace}")
    databases = ", ".join(f"{one.name} (${one.variable})" for one in survey.databases)
    lines.append(f"  databases  {databases or 'none: no variable holds a postgresql:// address'}")
    lines.append(f"  tests      {' '.join(tests.command) if tests else 'none in this folder'}")
    if len(survey.contexts) > 1 and cluster:
        lines.append(f"  (of {len(survey.contexts)} contexts; --context chooses another)")
    return lines


def left_out(chosen: Choices) -> list[str]:
    """Why a deployment that somebody looks for is not there; all of them stand in the file."""
    shown, more = chosen.left[:MOST_LEFT], len(chosen.left) - MOST_LEFT
    lines = [f"             not {one.name} in {one.namespace}: {why_left(one)}" for one in shown]
    return [*lines, f"             nor {more} more: signoff.toml says why"] if more > 0 else lines


def next_thing(settings: BotSettings) -> str:
    """Doctor's verdict in a sentence: all is well, or the one thing that is missing first."""
    findings = [*examine(settings)]
    wrong = [one for one in findings if one.state in {"missing", "broken"}]
    here = [one for one in wrong if one.part not in SLACK]
    if here:
        return f"One thing first: {_told(here[0])}\nThen `signoff doctor` says what is next."
    trial = "Try it now, without Slack:  signoff up --local"
    if wrong:
        return f"{trial}\nFor your workspace, next:   {_told(wrong[0])}"
    return f"Everything is there.\n{trial}\nOr in your workspace:       signoff up"


def _told(one: Finding) -> str:
    return f"{one.part}: {one.text}" + (f" → {one.mend}" if one.mend else "")


def approvers(said: Sequence[str]) -> tuple[str, ...]:
    """Their Slack ids: as said, or as somebody at the terminal answers."""
    if not said and sys.stdin and sys.stdin.isatty() and not Path(CONFIG).exists():
        print("Who may approve? Slack ids, such as U0AB12CD34 (empty: you write them into the file later)")
        said = input("> ").replace(",", " ").split()
    if wrong := [id_ for id_ in said if not PERSON.fullmatch(id_)]:
        raise BadConfig(
            f"'{wrong[0]}' is no Slack id. In Slack: a person's profile → ⋮ → Copy member ID (U…)."
        )
    return tuple(said)


def zone() -> str:
    """The zone of this machine, by its IANA name."""
    linked = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    return next((name for name in (os.environ.get("TZ", ""), linked) if name in ZONES - {"Etc/UTC"}), "UTC")
