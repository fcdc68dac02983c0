"""What runs beside what is measured: it waits, and costs what the engine takes to keep it running."""

import time

from pydantic import BaseModel

from storage.contract.report import Report
from workers.base import Context, Params, Worker, action


class Nothing(Params):
    """No parameters."""


class Data(BaseModel):
    """No data."""


class Beside(Worker):
    """Runs until it is killed; it has slots of its own."""

    name = "beside"

    @action(changes=False, repeat="safe", timeout=7200)
    def linger(self, params: Nothing, ctx: Context) -> Report[Data]:
        """Waits for two hours."""
        time.sleep(7200)
        return Report[Data].ok("waited", Data())


class Glance(Worker):
    """Looks, and is done."""

    name = "glance"

    @action(changes=False, repeat="safe", timeout=60, typical=1)
    def look(self, params: Nothing, ctx: Context) -> Report[Data]:
        """Looks at nothing."""
        return Report[Data].ok("looked", Data())
