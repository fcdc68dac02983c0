"""Asking: `/plan …` and a mention. The first word may be one of our own; everything else is a wish."""

from collections.abc import Callable
from typing import Any

from bot.cards.blocks import escape, linked, permalink
from bot.cards.face.lines import subject, title
from bot.cards.face.running import counted, listed, stretch
from bot.cards.forms import glass_form
from bot.cards.phrases import openings, standing, timing
from bot.context import Bot
from bot.inbox.codes import demand_factor
from bot.inbox.conversation import converse, heard, plan_here
from bot.inbox.own_answers import own_answer
from bot.inbox.recurring import keep, look_after, set_up
from bot.inbox.visiting import open_board
from bot.inbox.words import plannable, words
from bot.planner import planning
from bot.planner.conversation.own_words import (
    LAST,
    LOOKS,
    NUMBERED,
    SCOPE,
    Opening,
    is_no_wish,
    label,
    opening,
    split_word,
)
from bot.planner.grounding.follow_ups import follow_up
from bot.planner.runbooks.book import Planned
from bot.planner.runbooks.questions import Missing, NoPlan
from bot.plans.clarify import by_form, in_vain
from bot.plans.hand_on import hand_on
from bot.plans.look_up import look_up
from bot.plans.override import break_glass, confirms
from bot.plans.reword import keep_for_planner
from bot.untrusted import clip
from storage.config import SignoffConfig
from storage.contract.states import PlanState
from storage.errors import SignoffError
from storage.intention import Intention
from storage.reading.plan_view import PlanView
from storage.settling.starting import EVERYTHING

LONGEST = 2000
NOT_GOT = (
    "I did not get that. Here you can say, for example, “make it 3am”, “skip step 2”, “who can approve?” or "
    "“cancel”."
)
EXAMPLES = 6  # in the help
NEWEST = 10  # plans in a list
LISTED = 22  # steps of one plan in an answer
MEANT = "Did you mean `/plan {said}`? What decides something, I do only when it is spelled out."


def on_command(bot: Bot, body: dict[str, Any]) -> str:
    """`/plan …`: one of our own words, or a wish; then the card is the answer."""
    return said_to_us(bot, opening(body["text"]), body["text"], body)


def said_to_us(bot: Bot, opened: Opening, text: str, body: dict[str, Any]) -> str:
    """An own word is done, a slip of one that decides is asked back, a question about us is answered."""
    if opened.kind == "word":
        return do(bot, opened.word, opened.rest, body)
    if opened.kind == "slip":
        return ask_back(bot, f"{opened.word} {opened.rest}", body)
    if opened.word == "help":
        return do(bot, "help", "", body)
    return own_answer(bot, opened.word, body["user"]) if opened.word else ask(bot, text, body)


def do(bot: Bot, word: str, rest: str, body: dict[str, Any]) -> str:
    """One of our own words; to look takes leave, too."""
    if word in LOOKS:
        bot.demand(body["user"], "look", None)
    return WORDS[word](bot, rest, body)


def ask_back(bot: Bot, said: str, body: dict[str, Any], text: str = MEANT) -> str:
    """What decides something is done only when it is spelled out, or by the button that says it."""
    bot.demand(body["user"], "look", None)
    thread = "" if body["channel"].startswith("D") else body.get("thread", "")
    place = {"channel": body["channel"], "user": body["user"], "thread": thread}
    key = f"slip:{body['channel']}:{body.get('ts') or body.get('trigger') or said}"
    bot.store.choose(key, text=text.format(said=said), choices=[(label(*split_word(said)), said)], **place)
    return ""


def on_mention(bot: Bot, body: dict[str, Any]) -> str:
    """`@Signoff <request>`, a direct message, or "Plan this": as the command, in its thread."""
    said = words(body)
    opened = opening(said)
    # "Plan this" plans, whatever it is.
    if "ts" in body and opened.kind in {"word", "slip"} and is_no_wish(opened.word, opened.rest):
        return said_to_us(bot, opened, said, body)
    if view := plan_here(bot, body) if "ts" in body else None:
        return answer_about(bot, view, body)
    asked = opened if opened.kind == "about us" else Opening("wish")
    return said_to_us(bot, asked, said, body)


def answer_about(bot: Bot, view: PlanView, body: dict[str, Any]) -> str:
    """Said to us in the thread of a plan: about that plan, unless it is plainly a wish of its own."""
    bot.demand(body["user"], "look", view)
    act, said = heard(bot, body, view), words(body)
    leans = (found := follow_up(said)) is not None and found.kind not in {"again", "undo"}
    own = act.kind in {"talk", "hello", "unclear"} and (leans or plannable(bot, said))
    if not own and act.kind not in {"talk", "hello"}:
        return converse(bot, body | {"mentioned": True}, view, act)
    if own:
        return ask(bot, said, body)
    if view.state == PlanState.proposed and bot.revise:
        bot.demand(body["user"], "amend", view)
        keep_for_planner(bot, body, view, said)
        return ""
    return NOT_GOT


def ask(bot: Bot, text: str, body: dict[str, Any]) -> str:
    wish = " ".join(text.split())
    if not wish:
        return do(bot, "help", "", body)
    if len(wish) > LONGEST:
        raise SignoffError(f"That is {len(wish)} characters long; at most {LONGEST}, please.")
    actor = bot.demand_asking(body["user"], body["channel"])
    made = None if follow_up(wish) else made_at_once(bot, text)
    form = isinstance(made, str) and made.startswith(planning.NOTHING) and in_vain(bot, actor.user)
    if isinstance(made, str) and not form:
        return made
    if isinstance(made, Planned) and made.every:
        return keep(bot, made.every, body)
    if isinstance(made, Planned) and look_up(bot, made, wish, actor, body):
        return ""
    plan_id = bot.store.request(
        wish, team=actor.team, user=actor.user, channel=body["channel"], thread=body.get("thread", "")
    )
    if form:
        by_form(bot, plan_id)
    elif body.get("ts"):
        bot.store.react(body["channel"], body["ts"], "eyes", plan_id=plan_id)
    return ""


def made_at_once(bot: Bot, text: str) -> Planned | str | None:
    """What the runbooks make of it, or why it is refused; None where the planner has to say more."""
    contracts, now = bot.store.contracts(), bot.store.clock()
    if not contracts:
        return None  # a wish waits for the first worker
    try:
        return planning.plan(text, bot.runbooks, bot.config, contracts=contracts, now=now)
    except Missing:
        return None
    except NoPlan as error:
        return None if error.offers or bot.ask_model else str(error)
    except SignoffError:
        return None  # the planner says it better


def say_help(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    books = bot.usable()
    examples = "".join(f"• `/plan {book.examples[0]}`\n" for book in books[:EXAMPLES])
    more = f"• … and {len(books) - EXAMPLES} more: `/plan runbooks`\n" if len(books) > EXAMPLES else ""
    such = "For example:" if books else "No workers are connected yet, so nothing can run."
    return (
        f"Say what you need; I make a plan, people approve exactly that plan, and it runs. {such}\n"
        f"{examples}{more}"
        "• `/plan list`, `/plan show 7`, `/plan cancel 7 <reason>`, `/plan runbooks`, `/plan windows`\n"
        "• `/plan board`: everything that you may see, in the browser\n"
        "• `/plan every weekday at 02:00 in New York <what>`, `/plan schedules`\n"
        "• for admins: `/plan stop [everything | plan 7 | environment production] <reason>`, `/plan resume`\n"
        "• where a rule permits it: `/plan break-glass 7 <reason>`; afterwards `/plan reviewed 7 <findings>`"
    )


def list_plans(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    now, plans = bot.store.clock(), map(bot.store.as_recorded, newest(bot, body["user"]))
    lines = [f"• {v.id}: {escape(subject(v))} — {escape(standing(v, now))}" for v in plans]
    if waiting := bot.store.unreviewed():
        numbers = ", ".join(map(str, waiting))
        lines.append(f":rotating_light: Emergency override, and nobody has reviewed it yet: {numbers}")
    return "\n".join(lines) or "There are no plans yet."


def newest(bot: Bot, user: str) -> list[PlanView]:
    """The newest plans that they see. Mostly these are the newest of all; only else many more are read."""
    found = list[PlanView]()
    for among in (NEWEST + 2, 50):
        made = [view for view in bot.store.recent(among) if view.planned]
        found = bot.visible(user, made)[:NEWEST]
        if len(found) == NEWEST:
            break
    return found


def show_plan(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    view, now = bot.demand_visible(body["user"], read_number(rest)), bot.store.clock()
    bot.demand_untouched(body["user"], "look", view)
    goal = subject(view)
    lines = [f"*{view.id}: {escape(goal)}* — {escape(standing(view, now))}"]
    shown = stretch(view.steps, LISTED)
    for n in shown:
        spec = view.steps[n].spec
        name, when = escape(clip(title(view, spec), 90)), escape(timing(spec))
        lines.append(f"{n + 1}. [{listed(view, view.steps[n])}] {name} ({when})")
    if len(shown) < len(view.steps):
        lines.append(f"… of {len(view.steps)} steps: {counted(view)}. The card's thread has all of them.")
    return "\n".join(lines)


def list_runbooks(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """What can be asked for without a model."""
    lines = [f"• *{escape(book.title)}*: `/plan {escape(str(book.examples[0]))}`" for book in bot.usable()]
    return "\n".join(lines) or "There are no runbooks."


def list_windows(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """When changes may start, and when nothing may."""
    lines = [f"• {escape(line)}" for line in openings(bot.config, bot.store.clock())]
    return "\n".join(lines) or "There are no maintenance windows and no freezes in signoff.toml."


def point_to_button(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """No words approve: the way to the button does."""
    bot.demand(body["user"], "look", None)
    view = bot.demand_visible(body["user"], read_number(split_number(rest)[0]))
    way = linked(permalink(bot.site, view.channel, view.card), f"open plan {view.id}")
    return f"Approving is a button, so that nobody does it by accident: {way}."


def cancel_plan(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    if LAST.match(rest):
        return cancel_last(bot, body)
    which, reason = split_number(rest)
    view = bot.demand_visible(body["user"], read_number(which), "cancel")
    actor = bot.demand(body["user"], "cancel", view)
    if bot.store.cancel(view.id, user=actor.user, reason=reason.strip() or "no reason given"):
        return f"Plan {view.id} is cancelled."
    return f"Plan {view.id} starts nothing more. What runs is told to stop; then the plan is cancelled."


def cancel_last(bot: Bot, body: dict[str, Any]) -> str:
    """The newest plan of theirs that is open, if they press that it is meant."""
    mine = [view for view in bot.store.open_plans(limit=100) if view.requester == body["user"]]
    if not mine:
        return "You have no open plan."
    view = max(mine, key=lambda one: one.id)
    return ask_back(bot, f"cancel {view.id}", body, f"Cancel plan {view.id}, *{escape(subject(view))}*?")


def stop_scope(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """The kill switch: admins, with a reason."""
    actor = bot.demand(body["user"], "stop", None)
    scope, reason = read_scope(rest)
    if not reason:
        raise SignoffError("Please say why: `/plan stop <reason>`. The channel and the journal keep it.")
    check_scope(bot.store, bot.config, scope)
    bot.store.stop(scope, reason=reason, user=actor.user, channel=body["channel"])
    return ""


def check_scope(store: Intention, config: SignoffConfig, scope: str) -> None:
    """A mistyped scope would stop nothing, and everybody would believe otherwise."""
    kind, _, name = scope.partition(" ")
    if kind == "plan":
        store.view(int(name))
    entries = [entry for table in config.inventory.values() for entry in table.values()]
    places = {place for e in entries for place in (e.get("environment"), *e.get("environments", ())) if place}
    if kind == "environment" and places and name not in places:
        there = ", ".join(sorted(map(str, places)))
        raise SignoffError(f"I know no environment “{name}”, so nothing was stopped. Known: {there}.")


def greet(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """A wave; to who greets for the first time, also what one can say."""
    first = not bot.store.told([f"greeted:{body['user']}"])
    if waved(bot, body) and not first:
        return ""
    help_ = say_help(bot, rest, body)
    if "ts" not in body:
        return help_
    place = {"channel": body["channel"], "user": body["user"], "thread": body.get("thread", "")}
    bot.store.whisper(f"greeted:{body['user']}", text=help_, **place)
    return ""


def say_welcome(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    return "" if waved(bot, body) else "You are welcome."


def waved(bot: Bot, body: dict[str, Any]) -> bool:
    """Whether a sign at their message is answer enough: where others read, it is."""
    if "ts" not in body or body["channel"].startswith("D"):
        return False
    bot.store.react(body["channel"], body["ts"], "wave")
    return True


def resume_scope(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    actor = bot.demand(body["user"], "resume", None)
    bot.store.resume(read_scope(rest)[0], user=actor.user, channel=body["channel"])
    return ""


def override(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """In an emergency: where a rule permits it, in two steps, and everybody hears of it."""
    which, _, reason = rest.partition(" ")
    view = bot.demand_visible(body["user"], read_number(which), "break_glass")
    said = " ".join(reason.split())
    if not (view.demands.second_factor and confirms(view, said)):
        return break_glass(bot, view, body["user"], said)
    demand_factor(bot, bot.demand(body["user"], "break_glass", view).user)
    bot.open_view(body["trigger"], glass_form(view))
    return ""


def record_findings(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """Somebody else has looked at a broken glass."""
    which, _, text = rest.partition(" ")
    view = bot.demand_visible(body["user"], read_number(which), "review")
    actor = bot.demand(body["user"], "review", view)
    if not text.strip():
        raise SignoffError(f"Please say what you found: `/plan reviewed {view.id} <words>`.")
    bot.store.reviewed(view.id, user=actor.user, text=text.strip())
    return f"Plan {view.id} is reviewed. The journal keeps what you found."


def read_scope(text: str) -> tuple[str, str]:
    """(what is meant, the rest); without a word for it, everything."""
    found = SCOPE.match(text)
    return (found[1].lower(), text[found.end() :].strip()) if found else (EVERYTHING, text.strip())


def split_number(text: str) -> tuple[str, str]:
    """The number of a plan, and what is said behind it."""
    found = NUMBERED.match(text)
    return (found["number"], text[found.end() :]) if found else (text, "")


def read_number(text: str) -> int:
    which, rest = split_number(text.strip())
    if not which.isdigit() or rest:
        raise SignoffError("Please name the plan by its number, as in `/plan show 7`; `/plan list` has them.")
    return int(which)


WORDS: dict[str, Callable[[Bot, str, dict[str, Any]], str]] = {
    "help": say_help,
    **dict.fromkeys(("hi", "hello", "hey"), greet),
    **dict.fromkeys(("thanks", "thank", "thx"), say_welcome),
    "list": list_plans,
    "show": show_plan,
    "runbooks": list_runbooks,
    "runbook": hand_on,
    "windows": list_windows,
    "cancel": cancel_plan,
    "approve": point_to_button,
    "stop": stop_scope,
    "resume": resume_scope,
    "break-glass": override,
    "reviewed": record_findings,
    "every": set_up,
    "schedules": look_after,
    "board": open_board,
}
