"""Runs of recurring plans: asked for when due, approved by a standing approval if nothing has changed."""

from datetime import datetime, timedelta

from bot.context import Bot
from bot.people import Unidentified
from bot.plans.permits import stricter, today
from bot.plans.up_to_date import fresh
from bot.policy.authorize import Refused, authorize
from bot.times.recurrence import Run, next_run
from bot.times.zones import spoken
from storage.database.tables import Recurring, Standing
from storage.errors import BadTime, Conflict, NotAllowed
from storage.reading.plan_view import PlanView

GRACE = timedelta(minutes=5)  # later than that, we were not there: then people are asked


def recur(bot: Bot) -> None:
    """Ask for every run whose time is near. What was missed becomes a question, never a late run."""
    early = ahead(bot)
    for one in bot.store.due_recurring(early):
        try:
            _recur(bot, one, early)
        except BadTime as error:  # what an older release took
            now = bot.store.clock()
            _stop(bot, one, Run(now, now.date()), now, str(error))


def _recur(bot: Bot, one: Recurring, early: timedelta) -> None:
    now = bot.store.clock()
    runs, following = due(one, now + early), next_run(one.cron, one.zone, now + early)
    missed = [run for run in runs if run.problem or now - run.at > GRACE]
    if missed or not runs:
        again = next((run for run in runs if run not in missed), following)
        days, hours = [run.day for run in missed], [run.hour for run in missed]
        bot.store.pass_by(one, days, again.at, question=question(one, missed), hours=hours)
    else:
        _ask(bot, one, runs[0], next_run(one.cron, one.zone, runs[0].at).at)


def ahead(bot: Bot) -> timedelta:
    """How long before its time a run is planned and shown."""
    return timedelta(hours=bot.config.policy.recurring_ahead_hours)


def due(one: Recurring, now: datetime) -> list[Run]:
    """Its runs up to this moment that nobody has asked for yet."""
    runs, after = list[Run](), (one.next_at or now) - timedelta(seconds=1)
    while (run := next_run(one.cron, one.zone, after)).at <= now:
        runs.append(run)
        after = run.at
    return runs


def question(one: Recurring, missed: list[Run]) -> str:
    """What the channel reads about runs that did not come about."""
    if not missed:
        return f"The clocks of {one.zone} were changed by law; the next run is where it belongs now."
    last = missed[-1]
    more = f" (and {len(missed) - 1} before it)" if len(missed) > 1 else ""
    why = last.problem or f"I was not running at {spoken(last.at, one.zone)}{more}"
    return f"“{one.text}” did not run: {why}. It never runs late by itself; to have it now: /plan {one.text}"


def _ask(bot: Bot, one: Recurring, run: Run, following: datetime) -> None:
    """In the name of whoever set it up, if they still may ask for anything."""
    try:
        answer = authorize(bot.people.actor(one.user), "request", None, bot.config)
    except Unidentified:
        return  # the next turn asks Slack again; after a while the run counts as missed
    if isinstance(answer, Refused):
        _stop(bot, one, run, following, answer.reason)
    else:
        starts = run.at if ahead(bot) else None
        bot.store.run(one, run.day, following, starts_at=starts, hour=run.hour)


def _stop(bot: Bot, one: Recurring, run: Run, following: datetime, reason: str) -> None:
    why = f"“{one.text}” did not run, and is paused: {reason}"
    bot.store.pass_by(one, [run.day], following, question=why, hours=[run.hour])
    bot.store.pause(bot.store.one_recurring(one.id), user="rules")


def stand_in(bot: Bot) -> None:
    """Let standing approvals speak for proposed runs; one that no longer fits is void, and says why.

    It counts for what a person could approve, and as soon as one could.
    """
    for plan_id, number in bot.store.stood_for():
        view, one = fresh(bot, bot.store.view(plan_id)), bot.store.one_recurring(number)
        given = [s for s in bot.store.standings(number) if s.user not in view.approved_by]
        if given and not view.outdated and view.shown and not bot.store.tampered(view.id):
            _speak(bot, view, one, given[0])


def invite(bot: Bot) -> None:
    """Where policy lets an approval stand for several runs, ask once whether it shall."""
    runs = bot.config.policy.standing.runs
    for plan_id, number in bot.store.uninvited() if runs else ():
        view, one = bot.store.view(plan_id), bot.store.one_recurring(number)
        timed = view.spec is None or any(step.schedule.not_before for step in view.spec.steps)
        if not timed and not _forbidden(bot, view) and not bot.store.standings(number):
            bot.store.invite(plan_id, one, runs=runs)


def _speak(bot: Bot, view: PlanView, one: Recurring, standing: Standing) -> None:
    try:
        why = changed(view, one, standing, bot.store.clock()) or _forbidden(bot, view)
        if not why:
            held = (*bot.demand(standing.user, "approve", view).groups,)
            bot.store.stand_in(view.id, view.revision, standing, policy=bot.config.version(), held=held)
    except Unidentified:
        return
    except (Conflict, NotAllowed) as error:
        why = str(error)
    if why:
        bot.store.void(one.id, reason=why)


def changed(view: PlanView, one: Recurring, standing: Standing, now: datetime) -> str:
    """Why this run is not what the standing approval was given for, or ""."""
    if view.digest != standing.digest:
        return "the plan is no longer the one that was approved"
    if (one.cron, one.zone) != (standing.cron, standing.zone):
        return "it recurs at other times now"
    if standing.runs_left < 1:
        return "all of its runs have been used"
    return "it was given until " + spoken(standing.until, one.zone) if standing.until <= now else ""


def _forbidden(bot: Bot, view: PlanView) -> str:
    allowed = bot.config.policy.standing
    if not allowed.runs or view.risk not in allowed.risks:
        return f"policy allows none for {view.risk} risk"
    if view.demands.second_factor:
        return "each approval needs a second factor"
    return stricter(today(bot, view.spec, view), view, view.needed) if view.spec else "it cannot be read"
