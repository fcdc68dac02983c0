"""Asking: `/plan …` and a mention. The first word may be one of our own; everything else is a wish."""

import re
from collections.abc import Callable
from typing import Any

from bot.cards.blocks import escape
from bot.cards.forms import glass_form
from bot.cards.phrases import openings, standing, timing, title
from bot.cards.tasks import counted, stretch
from bot.context import Bot
from bot.inbox.codes import demand_factor
from bot.inbox.recurring import look_after, set_up
from bot.inbox.replies import change, on_reply, plannable, proposal_meant, words
from bot.planner.edits.grammar import NotUnderstood
from bot.plans.override import break_glass, confirms
from bot.untrusted import clip
from storage.contract.states import PlanState
from storage.errors import SignoffError
from storage.settling.starting import EVERYTHING

LONGEST = 2000
EXAMPLES = 6  # in the help
LISTED = 22  # steps of one plan in an answer
SCOPE = re.compile(r"^(everything|plan \d+|environment [\w-]+|all changes|changes in [\w-]+)\b\s*", re.I)


def on_command(bot: Bot, body: dict[str, Any]) -> str:
    """`/plan …`: one of our own words, or a wish; then the card is the answer."""
    word, rest = split_word(body["text"])
    return do(bot, word, rest, body) if is_own_word(word, rest) else ask(bot, body["text"], body)


def do(bot: Bot, word: str, rest: str, body: dict[str, Any]) -> str:
    """One of our own words; to look takes leave, too."""
    if word in LOOKS:
        bot.demand(body["user"], "look", None)
    return WORDS[word](bot, rest, body)


def split_word(text: str) -> tuple[str, str]:
    """The first word, as it is looked up, and the rest."""
    word, _, rest = text.strip().partition(" ")
    return word.lower().rstrip("!?.,:"), rest.strip()


def is_own_word(word: str, rest: str) -> bool:
    """Whether this is said to us: `list` is, "list the backups of auth_prod" is a wish."""
    bare = {*re.findall(r"\w+", rest.lower())} <= NOISE
    return word in WORDS and (word not in BARE or bare) and (word != "show" or " " not in rest)


def is_no_wish(word: str, rest: str) -> bool:
    """Whether it cannot be a wish: beside `/plan`, "cancel 7" is ours, and "stop auth-service" is not."""
    if word in {"stop", "resume"}:
        return bool(SCOPE.match(rest)) or (word == "resume" and not rest)
    return word in BARE or word in {"every", "schedules"} or bool(re.match(r"#?\d+\b", rest))


def on_mention(bot: Bot, body: dict[str, Any]) -> str:
    """`@Signoff <request>`, a direct message, or "Plan this": as the command, in its thread."""
    said = words(body)
    word, rest = split_word(said)
    # "Plan this" plans, whatever it is.
    if "ts" in body and is_own_word(word, rest) and is_no_wish(word, rest):
        return do(bot, word, rest, body)
    plan_id = proposal_meant(bot, body)
    return change_or_ask(bot, plan_id, body) if plan_id else ask(bot, said, body)


def change_or_ask(bot: Bot, plan_id: int, body: dict[str, Any]) -> str:
    """Said to us in the thread of a proposal: a change of it, or a wish of its own."""
    bot.demand(body["user"], "amend", bot.store.view(plan_id))
    try:
        return change(bot, body)
    except NotUnderstood:
        return ask(bot, words(body), body) if plannable(bot, words(body)) else on_reply(bot, body)


def ask(bot: Bot, text: str, body: dict[str, Any]) -> str:
    wish = " ".join(text.split())
    if not wish:
        return do(bot, "help", "", body)
    if len(wish) > LONGEST:
        raise SignoffError(f"That is {len(wish)} characters long; at most {LONGEST}, please.")
    actor = bot.demand(body["user"], "request", None)
    bot.store.request(
        wish, team=actor.team, user=actor.user, channel=body["channel"], thread=body.get("thread", "")
    )
    return ""


def say_help(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    books = bot.usable()
    examples = "".join(f"• `/plan {book.examples[0]}`\n" for book in books[:EXAMPLES])
    more = f"• … and {len(books) - EXAMPLES} more: `/plan runbooks`\n" if len(books) > EXAMPLES else ""
    such = "For example:" if books else "No workers are connected yet, so nothing can run."
    return (
        f"Say what you need; I make a plan, people approve exactly that plan, and it runs. {such}\n"
        f"{examples}{more}"
        "• `/plan list`, `/plan show 7`, `/plan cancel 7 <reason>`, `/plan runbooks`, `/plan windows`\n"
        "• `/plan every weekday at 02:00 in New York <what>`, `/plan schedules`\n"
        "• for admins: `/plan stop [everything | plan 7 | environment production] <reason>`, `/plan resume`\n"
        "• where a rule permits it: `/plan break-glass 7 <reason>`; afterwards `/plan reviewed 7 <findings>`"
    )


def list_plans(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    now = bot.store.clock()
    plans = [v for v in bot.store.recent(50) if v.revision or v.state != PlanState.cancelled]
    lines = [f"• {v.id}: {escape(v.spec.goal if v.spec else v.text)} — {escape(standing(v, now))}"
             for v in plans[:10]]  # fmt: skip
    if waiting := bot.store.unreviewed():
        numbers = ", ".join(map(str, waiting))
        lines.append(f":rotating_light: The glass was broken, and nobody has reviewed it: {numbers}")
    return "\n".join(lines) or "There are no plans yet."


def show_plan(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    view, now = bot.store.view(read_number(rest)), bot.store.clock()
    goal = view.spec.goal if view.spec else view.text
    lines = [f"*{view.id}: {escape(goal)}* — {escape(standing(view, now))}"]
    shown = stretch(view.steps, LISTED)
    for n in shown:
        spec = view.steps[n].spec
        name, when = escape(clip(title(spec), 90)), escape(timing(spec))
        lines.append(f"{n + 1}. [{view.steps[n].state}] {name} ({when})")
    if len(shown) < len(view.steps):
        lines.append(
            f"… of {len(view.steps)} steps: {counted(view.steps)}. The card's thread has all of them."
        )
    return "\n".join(lines)


def list_runbooks(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """What can be asked for without a model."""
    lines = [f"• *{escape(book.title)}*: `/plan {escape(str(book.examples[0]))}`" for book in bot.usable()]
    return "\n".join(lines) or "There are no runbooks."


def list_windows(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """When changes may start, and when nothing may."""
    lines = [f"• {escape(line)}" for line in openings(bot.config, bot.store.clock())]
    return "\n".join(lines) or "There are no maintenance windows and no freezes in signoff.toml."


def cancel_plan(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    which, _, reason = rest.partition(" ")
    view = bot.store.view(read_number(which))
    actor = bot.demand(body["user"], "cancel", view)
    if bot.store.cancel(view.id, user=actor.user, reason=reason.strip() or "no reason given"):
        return f"Plan {view.id} is cancelled."
    return f"Plan {view.id} starts nothing more. What runs is told to stop; then the plan is cancelled."


def stop_scope(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """The kill switch: admins, with a reason."""
    actor = bot.demand(body["user"], "stop", None)
    scope, reason = read_scope(rest)
    if not reason:
        raise SignoffError("Please say why: `/plan stop <reason>`. The channel and the journal keep it.")
    check_scope(bot, scope)
    bot.store.stop(scope, reason=reason, user=actor.user, channel=body["channel"])
    return ""


def check_scope(bot: Bot, scope: str) -> None:
    """A mistyped scope would stop nothing, and everybody would believe otherwise."""
    kind, _, name = scope.partition(" ")
    if kind == "plan":
        bot.store.view(int(name))
    entries = [entry for table in bot.config.inventory.values() for entry in table.values()]
    places = {place for e in entries for place in (e.get("environment"), *e.get("environments", ())) if place}
    if kind == "environment" and places and name not in places:
        there = ", ".join(sorted(map(str, places)))
        raise SignoffError(f"I know no environment “{name}”, so nothing was stopped. Known: {there}.")


def say_welcome(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    return "You are welcome."


def resume_scope(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    actor = bot.demand(body["user"], "resume", None)
    bot.store.resume(read_scope(rest)[0], user=actor.user, channel=body["channel"])
    return ""


def override(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """In an emergency: where a rule permits it, in two steps, and everybody hears of it."""
    which, _, reason = rest.partition(" ")
    view, said = bot.store.view(read_number(which)), " ".join(reason.split())
    if not (view.demands.second_factor and confirms(view, said)):
        return break_glass(bot, view, body["user"], said)
    demand_factor(bot, bot.demand(body["user"], "break_glass", view).user)
    bot.open_view(body["trigger"], glass_form(view))
    return ""


def record_findings(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """Somebody else has looked at a broken glass."""
    which, _, text = rest.partition(" ")
    view = bot.store.view(read_number(which))
    actor = bot.demand(body["user"], "review", view)
    if not text.strip():
        raise SignoffError(f"Please say what you found: `/plan reviewed {view.id} <words>`.")
    bot.store.reviewed(view.id, user=actor.user, text=text.strip())
    return f"Plan {view.id} is reviewed. The journal keeps what you found."


def read_scope(text: str) -> tuple[str, str]:
    """(what is meant, the rest); without a word for it, everything."""
    found = SCOPE.match(text)
    return (found[1].lower(), text[found.end() :].strip()) if found else (EVERYTHING, text.strip())


def read_number(text: str) -> int:
    if not text.strip().lstrip("#").isdigit():
        raise SignoffError("Please name the plan by its number, as in `/plan show 7`; `/plan list` has them.")
    return int(text.strip().lstrip("#"))


WORDS: dict[str, Callable[[Bot, str, dict[str, Any]], str]] = {
    "help": say_help,
    **dict.fromkeys(("hi", "hello", "hey"), say_help),
    **dict.fromkeys(("thanks", "thank", "thx"), say_welcome),
    "list": list_plans,
    "show": show_plan,
    "runbooks": list_runbooks,
    "windows": list_windows,
    "cancel": cancel_plan,
    "stop": stop_scope,
    "resume": resume_scope,
    "break-glass": override,
    "reviewed": record_findings,
    "every": set_up,
    "schedules": look_after,
}
# With more words behind them, they begin a wish.
BARE = {"help", "list", "runbooks", "windows", "hi", "hello", "hey", "thanks", "thank", "thx"}
LOOKS = BARE | {"show", "schedules"}
NOISE = {"me", "you", "please", "there", "signoff", "all"}
