"""What workers may do to the rows: the verbs of execution, and no others."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Engine

from storage.exchange import capabilities
from storage.memory import Memory
from storage.secrets.redaction import Redactor
from storage.settling import schedule
from storage.steps import lateness, planning_reads, previews, recovery, turn
from storage.steps.turn import Turns


class Execution(Memory):
    """The rows, in the hands of the workers: what runs, how it ends, what a worker can do."""

    def __init__(
        self, engine: Engine, clock: Callable[[], datetime], redactor: Redactor | None = None
    ) -> None:
        super().__init__(engine, clock, redactor)
        self.turn = Turns(self).turn

    due = turn.due
    scheduled = schedule.scheduled
    soonest = schedule.soonest
    stirred = schedule.stirred
    claim = turn.claim
    succeed = turn.succeed
    fail = turn.fail
    retry = turn.retry

    start = turn.start
    holds = turn.holds
    renew = turn.renew
    advance = turn.advance
    approvers = turn.approvers

    lapsed = recovery.lapsed
    lose = recovery.lose
    doubt = recovery.doubt
    to_look_at = recovery.to_look_at
    look = recovery.look
    cannot_tell = recovery.cannot_tell

    miss = lateness.miss
    overrun = lateness.overrun

    previews_wanted = previews.previews_wanted
    show = previews.show

    inquiries = planning_reads.inquiries
    report_back = planning_reads.report_back

    publish = capabilities.publish

    alive = capabilities.alive
