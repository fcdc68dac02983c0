"""`Store`: everything that may happen to the rows. One verb, one transaction, one journal event."""

from storage.clarifying import Clarifying
from storage.counts import Counts
from storage.desk import Desk
from storage.glass import Glass
from storage.lateness import Lateness
from storage.recovery import RecoveryVerbs
from storage.recurrences import Recurrences
from storage.reviews import Reviews
from storage.saving import Saving
from storage.takeover import TakeOver
from storage.views import Views
from storage.withdrawing import Withdrawing


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
