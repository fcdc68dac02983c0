"""What the board may do: look at the rows, and keep who is there. Nothing here decides, plans or runs."""

from storage.board import agents as drafting
from storage.board import happenings, lines, visits
from storage.board import spans as durations
from storage.board import sums as figures
from storage.exchange import capabilities
from storage.memory import Memory
from storage.reading import counts, views, words


class Looking(Memory):
    """The rows, for somebody who only looks; its engine refuses to write."""

    view = views.view
    known = views.known
    tampered = words.tampered
    as_recorded = words.as_recorded
    open_plans = views.open_plans
    plan_events = views.events
    contracts = capabilities.contracts
    everybody = capabilities.everybody
    stops = counts.stops

    page = lines.page
    lines_of = lines.lines_of
    ended = lines.ended
    newest = lines.newest
    channels = lines.channels

    events = happenings.events
    verdict = happenings.verdict
    attempts = happenings.attempts
    revisions = happenings.revisions
    moved = happenings.moved
    last_event = happenings.last_event
    latest = happenings.latest
    approvals = happenings.approvals
    report = happenings.report
    holdings = happenings.holdings
    owners = happenings.owners
    unsent = happenings.unsent
    due = happenings.due
    cards = happenings.cards
    progress = happenings.progress

    agents = drafting.agents
    landings = drafting.landings

    spans = durations.spans
    sums = figures.sums
    elsewhere = figures.elsewhere
    spending = figures.spending
    actions = figures.actions
    journal = views.journal


class Visits(Memory):
    """Who is at the board; its engine writes nothing else."""

    find = visits.find
    enter = visits.enter
    guest = visits.guest
    why = visits.why
    bearer = visits.bearer
    seen = visits.seen
    leave = visits.leave
    opened = visits.opened
