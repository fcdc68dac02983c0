"""What the bot may do to the rows: the verbs of intention. Workers cannot reach them, by contract."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Engine

from storage.board import stories, visits
from storage.exchange import (
    alarms,
    asks,
    capabilities,
    deliveries,
    outbox,
    pacing,
    telling,
    thoughts,
    tokens,
    workspaces,
)
from storage.exchange.deliveries import Arrivals
from storage.memory import Memory
from storage.plans import (
    answers,
    approvals,
    decisions,
    hooked,
    lifecycle,
    outdated,
    overrides,
    permits,
    planning_reads,
    postponing,
    recurrences,
    resolutions,
    runbooks,
    showing,
    takeovers,
    withdrawals,
)
from storage.reading import counts, views, words
from storage.safeguards import second_factors, spending, stops
from storage.secrets.redaction import Redactor
from storage.settling import schedule


class Intention(Memory):
    """The rows, in the hands of the bot: one verb, one transaction, one journal event."""

    def __init__(
        self, engine: Engine, clock: Callable[[], datetime], redactor: Redactor | None = None
    ) -> None:
        super().__init__(engine, clock, redactor)
        self.deliver = Arrivals(self).deliver

    attach = outbox.attach
    call = outbox.call
    choose = outbox.choose
    card_of = outbox.card_of
    lines = outbox.lines
    forget = outbox.forget
    hasten = outbox.hasten
    in_line = outbox.in_line
    still_due = outbox.still_due
    still_stale = outbox.still_stale
    paces = pacing.paces
    pauses = pacing.pauses
    note_pace = pacing.note_pace
    let_in = outbox.let_in
    note_shown = outbox.note_shown
    open_home = outbox.open_home
    put_off = outbox.put_off
    react = outbox.react
    unreact = outbox.unreact
    redraw_homes = outbox.redraw_homes
    say = outbox.say
    sending = outbox.sending
    stands = outbox.stands
    tell = outbox.tell
    told = outbox.told
    answered_alone = outbox.answered_alone
    unsent = outbox.unsent
    think_aloud = thoughts.think_aloud
    thought_of = thoughts.thought_of
    say_on_card = thoughts.say_on_card
    whisper = outbox.whisper

    handled = deliveries.handled
    leave_answer = deliveries.leave_answer
    answer_left = deliveries.answer_left
    unhandled = deliveries.unhandled
    waiting_deliveries = deliveries.waiting
    still_unhandled = deliveries.still_unhandled

    alarm_of = alarms.alarm_of
    alarm_behind = alarms.alarm_behind
    hook_called = hooked.hook_called
    how_far = telling.how_far
    untold = telling.untold
    heard = telling.heard
    unheard = telling.unheard
    tellings = telling.tellings
    calls = alarms.calls
    call_of = alarms.call_of
    replay = alarms.replay

    answer_ask = asks.answer_ask
    ask_of = asks.ask_of
    ask_behind = asks.ask_behind
    asking = asks.asking
    asked_by = asks.asked_by
    reanswer = asks.reanswer

    add_token = tokens.add_token
    list_tokens = tokens.list_tokens
    token_of = tokens.token_of
    revoke_token = tokens.revoke_token

    contracts = capabilities.contracts

    processes = capabilities.processes

    request = lifecycle.request
    request_planned = lifecycle.request_planned
    refuse = lifecycle.refuse
    stall = lifecycle.stall
    cancel = lifecycle.cancel

    propose = lifecycle.propose
    amend = lifecycle.amend

    approve = approvals.approve
    postpone = postponing.postpone

    lengthen = showing.lengthen
    file = showing.file
    unfile = showing.unfile

    plainness = workspaces.plainness
    speak_plainer = workspaces.speak_plainer
    redraw_due = outbox.redraw_due

    answer = answers.answer

    to_plan = lifecycle.to_plan
    wishes = lifecycle.wishes
    clarify = lifecycle.clarify
    inform = lifecycle.inform

    grounded = planning_reads.grounded
    inquire = planning_reads.inquire
    looked = planning_reads.looked
    looked_lately = planning_reads.looked_lately
    inquired = planning_reads.inquired
    give_up_looking = planning_reads.give_up_looking

    to_review = decisions.to_review
    guide = decisions.guide
    decide = decisions.decide
    rework = decisions.rework

    resting = outdated.resting
    outdate = outdated.outdate
    bring_up_to_date = outdated.bring_up_to_date

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
    bring_in = runbooks.bring_in

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
    uninvited = recurrences.uninvited
    invite = recurrences.invite
    run_of = recurrences.run_of
    stood_for = recurrences.stood_for
    stand_in = recurrences.stand_in
    void = recurrences.void
    timetable = schedule.scheduled

    view = views.view
    known = views.known
    tampered = words.tampered
    borne_out = words.borne_out
    as_recorded = words.as_recorded
    recent = views.recent
    open_plans = views.open_plans
    plan_at = views.plan_at
    spec_before = views.spec_before

    events = views.events
    journal = views.journal
    head = views.head
    event = views.event

    recovery = counts.recovery

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

    invite_visit = visits.invite
    find_visit = visits.find
    visit_tokens = visits.tokens
    end_visit = visits.leave
    opened = visits.opened
    note_visits = visits.note_visits
    tell_stories = stories.tell

    set_aside = spending.set_aside
    release = spending.release
    book = spending.book
    spent = spending.spent
