"""What the bot may do to the rows: the verbs of intention. Workers cannot reach them, by contract."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Engine

from storage.exchange import capabilities, deliveries, outbox
from storage.exchange.deliveries import Arrivals
from storage.memory import Memory
from storage.plans import (
    answers,
    approvals,
    decisions,
    lifecycle,
    overrides,
    permits,
    recurrences,
    resolutions,
    runbooks,
    takeovers,
    withdrawals,
)
from storage.reading import counts, views
from storage.safeguards import second_factors, spending, stops
from storage.secrets.redaction import Redactor


class Intention(Memory):
    """The rows, in the hands of the bot: one verb, one transaction, one journal event."""

    def __init__(
        self, engine: Engine, clock: Callable[[], datetime], redactor: Redactor | None = None
    ) -> None:
        super().__init__(engine, clock, redactor)
        self.deliver = Arrivals(self).deliver

    attach = outbox.attach
    card_of = outbox.card_of
    forget = outbox.forget
    note_shown = outbox.note_shown
    open_home = outbox.open_home
    put_off = outbox.put_off
    react = outbox.react
    redraw_homes = outbox.redraw_homes
    say = outbox.say
    sending = outbox.sending
    tell = outbox.tell
    told = outbox.told
    unsent = outbox.unsent
    whisper = outbox.whisper

    handled = deliveries.handled
    unhandled = deliveries.unhandled

    contracts = capabilities.contracts

    processes = capabilities.processes

    request = lifecycle.request
    refuse = lifecycle.refuse
    stall = lifecycle.stall
    cancel = lifecycle.cancel

    propose = lifecycle.propose
    amend = lifecycle.amend

    approve = approvals.approve

    answer = answers.answer

    to_plan = lifecycle.to_plan
    clarify = lifecycle.clarify
    inform = lifecycle.inform

    to_review = decisions.to_review
    guide = decisions.guide
    decide = decisions.decide
    rework = decisions.rework

    break_glass = overrides.break_glass
    confirm_glass = overrides.confirm_glass
    reviewed = overrides.reviewed
    unreviewed = overrides.unreviewed

    permit = permits.permit
    withhold = permits.withhold
    unpermitted = permits.unpermitted

    resolve = resolutions.resolve

    take_over = takeovers.take_over
    answer_to = views.answer_to

    reject = withdrawals.reject
    expire = withdrawals.expire
    waiting = withdrawals.waiting

    save = runbooks.save

    recur = recurrences.recur
    recurring = recurrences.recurring
    one_recurring = recurrences.one_recurring
    due_recurring = recurrences.due_recurring
    run = recurrences.run
    pass_by = recurrences.pass_by
    pause = recurrences.pause
    unpause = recurrences.unpause
    retire = recurrences.retire
    latest_run = recurrences.latest_run
    stand = recurrences.stand
    standings = recurrences.standings
    stood_for = recurrences.stood_for
    stand_in = recurrences.stand_in
    void = recurrences.void

    view = views.view
    in_direct_messages = views.in_direct_messages
    recent = views.recent
    open_plans = views.open_plans
    proposal_at = views.proposal_at

    events = views.events
    journal = views.journal
    head = views.head
    event = views.event

    requested = counts.requested
    holders = counts.holders
    proposals = counts.proposals
    failures = counts.failures
    resumed = counts.resumed
    waiting_channels = counts.waiting_channels

    stop = stops.stop
    resume = stops.resume
    adopt = stops.adopt
    stops = counts.stops

    factor = second_factors.factor
    factors = second_factors.factors
    enrol = second_factors.enrol
    unlock = second_factors.unlock
    remove = second_factors.remove
    mistake = second_factors.mistake

    book = spending.book
    spent = spending.spent
