"""`Store`: everything that may happen to the rows. One verb, one transaction, one journal event."""

from storage.exchange.outbox import Desk
from storage.plans.clarifications import Clarifying
from storage.plans.decisions import Reviews
from storage.plans.overrides import Glass
from storage.plans.recurrences import Recurrences
from storage.plans.runbooks import Saving
from storage.plans.takeovers import TakeOver
from storage.plans.withdrawals import Withdrawing
from storage.reading.counts import Counts
from storage.reading.views import Views
from storage.steps.lateness import Lateness
from storage.steps.recovery import RecoveryVerbs


class Store(
    RecoveryVerbs,
    Lateness,
    Recurrences,
    Clarifying,
    Reviews,
    Saving,
    TakeOver,
    Glass,
    Withdrawing,
    Views,
    Counts,
    Desk,
):
    """The table at which bot and workers sit."""
