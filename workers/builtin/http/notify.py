"""Tells an endpoint that the operator named a fixed text, once."""

import time
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

from workers.base import (
    Check,
    Context,
    Named,
    Params,
    Permanent,
    Report,
    Transient,
    Unsure,
    Worker,
    action,
    check,
)
from workers.builtin.http.http_check import EndpointEntry
from workers.builtin.shared.http_origin import Answer, Origin, Unsent, read_origin
from workers.commands.output import plain

LARGEST = 64 * 1024
SHOWN = 200
ACCEPTED: dict[str, tuple[Check, ...]] = {"accepted": (check("accepted", "eq", True),)}


class NotifyParams(Params):
    endpoint: Annotated[str, Named("endpoints")]
    message: str = Field(min_length=1, max_length=3000)


class NotifyData(BaseModel):
    accepted: bool
    status: int
    seconds: float


class Notify(Worker):
    """Sends a fixed message to an endpoint that the operator named, such as a webhook."""

    name = "notify"

    @action(
        changes=True,
        timeout=330,
        typical=2,
        target="notify:{endpoint}",
        criteria=ACCEPTED,
        says="*Tell* {endpoint}[: “{message}”]",
        leaves="{endpoint} was told",
    )
    def send(self, params: NotifyParams, ctx: Context) -> Report[NotifyData]:
        """Posts a message to an endpoint; the text stands in the plan."""
        raw = self.entry("endpoints", params.endpoint)
        entry = read_origin(EndpointEntry, f"endpoints.{params.endpoint}", raw)
        if not entry.message_field:
            raise Permanent(
                f"{params.endpoint} takes no messages: [inventory.endpoints.{params.endpoint}] has no "
                "message_field. Nothing was sent."
            )
        origin, began = Origin(params.endpoint, entry, ctx.cancelled), time.monotonic()
        answer = _post(origin, entry, params, ctx)
        return judge(answer, origin, round(time.monotonic() - began, 2))


def judge(answer: Answer, origin: Origin, seconds: float) -> Report[NotifyData]:
    """Any 2xx is a yes."""
    fine = 200 <= answer.status < 300
    data = NotifyData(accepted=fine, status=answer.status, seconds=seconds)
    if fine:
        return Report.ok(f"{origin.name} took the message ({answer.status}) in {seconds:.2f} s", data)
    said = origin.hide(" ".join(plain(answer.body).split()))[:SHOWN] or "it says nothing more"
    return Report.failed(
        f"{origin.name} did not take the message: it answered {answer.status}: {said}.", data
    )


def _post(origin: Origin, entry: EndpointEntry, params: NotifyParams, ctx: Context) -> Answer:
    body: dict[str, JsonValue] = {entry.message_field: params.message}
    try:
        return origin.post(origin.url("/"), body, limit=LARGEST, **{"Idempotency-Key": ctx.key})
    except Unsent as error:
        raise Permanent(f"{str(error).rstrip('.')}. Nothing was sent.") from error
    except Transient as error:
        raise Unsure(f"{str(error).rstrip('.')}, so the message may have arrived or not.") from error
