"""`/plan every …` and `/plan schedules`: setting up what recurs, and looking after it."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.cards.blocks import PREFIX, escape
from bot.cards.face.lines import title
from bot.cards.phrases import timing
from bot.context import Bot
from bot.plans.up_to_date import demand_up_to_date
from bot.times.recurrence import Every, next_run, read
from bot.times.zones import spoken
from bot.untrusted import clip
from storage.database.tables import Recurring, Standing
from storage.errors import Conflict, NotAllowed, NotFound, SignoffError
from storage.plans.recurrences import MISSING, Grant
from storage.reading.plan_view import PlanView

APPROVE = re.compile(r"^(?: for (?P<runs>\d{1,4}) runs?)?(?: until (?P<until>\d{4}-\d{2}-\d{2}))?$", re.I)
LONGEST = 2000
SHOWN = 10  # steps that wait for their time
USAGE = (
    "Please say `/plan schedules`, or `/plan schedules pause 3`, `resume 3`, `remove 3`, "
    "`approve 3 for 10 runs until 2027-01-31`."
)


def set_up(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    """Set up a recurring plan. Nothing is approved by that: each run asks, or a standing approval speaks."""
    now = bot.store.clock()
    if len(rest) > LONGEST:
        raise SignoffError(f"That is {len(rest)} characters long; at most {LONGEST}, please.")
    return keep(bot, read(rest, bot.config.zone, now), body)


def keep(bot: Bot, made: Every, body: dict[str, Any]) -> str:
    """Keep what shall recur, and say when it comes next."""
    now, actor = bot.store.clock(), bot.demand_asking(body["user"], body["channel"])
    run = next_run(made.cron, made.zone, now)
    number = bot.store.recur(
        made.wish, said=made.said, cron=made.cron, zone=made.zone, next_at=run.at, team=actor.team,
        user=actor.user, channel=body["channel"],
    )  # fmt: skip
    return (
        f"Recurring plan {number}: “{escape(made.wish)}”, every {escape(made.said)} in {made.zone}. "
        f"Next: {spoken(run.at, made.zone)}. Each run asks for its approval; `/plan schedules` lists them."
    )


def look_after(bot: Bot, rest: str, body: dict[str, Any]) -> str:
    if not rest:
        lines = [_line(one, bot.store.standings(one.id)) for one in _seen(bot, body["user"])]
        lines = lines or ["Nothing recurs yet. For example: `/plan every weekday at 02:00 …`."]
        return "\n".join([*lines, *_waiting(bot, body["channel"])])
    found = re.match(r"^(pause|resume|remove|approve) #?(\d{1,9})\b(.*)$", rest.strip(), re.I)
    if not found:
        raise SignoffError(USAGE)
    one = _reachable(bot, int(found[2]), body["user"])
    return ACTS[found[1].lower()](bot, one, found[3], body["user"])


def _seen(bot: Bot, user: str) -> list[Recurring]:
    """What recurs, as far as it is theirs or they could read where it was asked for."""
    return [one for one in bot.store.recurring() if one.user == user or bot.people.reads(user, one.channel)]


def _reachable(bot: Bot, number: int, user: str) -> Recurring:
    """What they see, or may tend; of the rest they do not learn that it is there."""
    one = bot.store.one_recurring(number)
    run = bot.store.latest_run(one)
    asked = bool(run) and bool(bot.visible(user, [bot.store.view(run)]))
    if not (one.user == user or asked or bot.people.reads(user, one.channel) or bot.may(user, "tend", None)):
        raise NotFound(MISSING.format(number))
    return one


def _line(one: Recurring, standings: list[Standing]) -> str:
    when = spoken(one.next_at, one.zone) if one.next_at else "paused"
    stands = "; ".join(
        f"approved by <@{s.user}> for {s.runs_left} more runs, until {s.until:%d %b %Y}" for s in standings
    )
    line = f"• {one.id}: {escape(one.text[:200])} — every {escape(one.said)} in {one.zone}; next: {when}"
    return f"{line} · {stands}" if stands else line


def _waiting(bot: Bot, channel: str) -> list[str]:
    """The steps of this channel's plans that wait for their time; other channels may be closed to them."""
    here = [one for one in bot.store.timetable() if one.channel == channel]
    lines = [
        f"• plan {one.plan_id}: {_when(bot.store.as_recorded(bot.store.view(one.plan_id)), one.key)}"
        for one in here[:SHOWN]
    ]
    return lines + (
        [f"… and {len(here) - SHOWN} more steps that wait for their time"] if here[SHOWN:] else []
    )


def _when(view: PlanView, key: str) -> str:
    if not view.has(key):
        return escape(clip(view.text, 200))  # it was changed behind our back
    step = view.step(key)
    return f"{escape(clip(title(view, step.spec), 90))} — {escape(timing(step.spec))}"


def _demand_owner(bot: Bot, one: Recurring, user: str) -> None:
    """Whoever set it up may stop it; so may approvers and admins."""
    bot.demand(user, "request" if one.user == user else "tend", None)


def _pause(bot: Bot, one: Recurring, more: str, user: str) -> str:
    _demand_owner(bot, one, user)
    bot.store.pause(one, user=user)
    return f"Recurring plan {one.id} is paused."


def _resume(bot: Bot, one: Recurring, more: str, user: str) -> str:
    _demand_owner(bot, one, user)
    run = next_run(one.cron, one.zone, bot.store.clock())
    bot.store.unpause(one, user=user, next_at=run.at)
    return f"Recurring plan {one.id} goes on. Next: {spoken(run.at, one.zone)}."


def _remove(bot: Bot, one: Recurring, more: str, user: str) -> str:
    _demand_owner(bot, one, user)
    bot.store.retire(one, user=user)
    return f"Recurring plan {one.id} is removed. Plans that it has asked for stay as they are."


def approve_runs(bot: Bot, body: dict[str, Any], view: PlanView, value: dict[str, Any]) -> str:
    """The button below a run: this person's approval stands for the runs to come of exactly that plan."""
    bot.demand(body["user"], "look", view)
    number = bot.store.run_of(view.id)
    newest = bot.store.view(bot.store.latest_run(bot.store.one_recurring(number))) if number else view
    if not number or newest.digest != view.digest or view.digest[:PREFIX] != value["d"]:
        raise Conflict("The plan has changed since. Please look at the card of its newest run.")
    return _approve(bot, bot.store.one_recurring(number), "", body["user"])


def _approve(bot: Bot, one: Recurring, more: str, user: str) -> str:
    """A standing approval of exactly the plan of the newest run."""
    said, now = APPROVE.match(more.rstrip()), bot.store.clock()
    if not said:
        raise SignoffError(USAGE)
    plan_id = bot.store.latest_run(one)
    if not plan_id:
        raise SignoffError("It has not been planned yet. Its first run asks; then an approval can stand.")
    view, allowed = bot.store.view(plan_id), bot.config.policy.standing
    actor = bot.demand(user, "approve", view)
    bot.demand_untouched(user, "approve", view)
    demand_up_to_date(bot, view, user)
    if not view.shown:
        raise Conflict(
            "Not all of its plan is before your eyes yet. Please look at the card of its newest run."
        )
    if not allowed.runs or view.risk not in allowed.risks:
        raise NotAllowed(f"Policy allows no standing approval for {view.risk} risk; each run asks.")
    if view.demands.second_factor:
        raise NotAllowed("Each approval of this plan needs a second factor, so each run asks.")
    if view.spec is None or any(step.schedule.not_before for step in view.spec.steps):
        raise NotAllowed("Its steps have times of their own, which are others at each run; so each run asks.")
    last = now + timedelta(days=allowed.days)
    until = datetime.fromisoformat(said["until"]).replace(tzinfo=UTC) if said["until"] else last
    grant = Grant(view.digest, min(int(said["runs"] or allowed.runs), allowed.runs), min(until, last))
    if grant.runs < 1 or grant.until <= now:
        raise SignoffError("That would allow nothing. Please name at least one run, and a day to come.")
    bot.store.stand(one, grant, team=actor.team, user=actor.user, policy=bot.config.version())
    return (
        f"Recurring plan {one.id} is approved for {grant.runs} more runs, "
        f"until {grant.until:%d %b %Y}, as long as its plan stays digest `{grant.digest[:12]}`."
    )


ACTS: dict[str, Callable[[Bot, Recurring, str, str], str]] = {
    "pause": _pause,
    "resume": _resume,
    "remove": _remove,
    "approve": _approve,
}
