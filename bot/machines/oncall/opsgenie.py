"""Opsgenie: who is on call in a schedule. It names people by address, and knows no levels."""

from bot.machines.oncall.shift import NoAnswer, Shift, get
from storage.contract.doors import OnCall

ADDRESS = "https://api.opsgenie.com"


def on_duty(entry: OnCall, token: str) -> list[Shift]:
    base = entry.url if entry.url != "https://" else ADDRESS
    url = f"{base.rstrip('/')}/v2/schedules/{entry.schedule}/on-calls?flat=true"
    found = get(url, {"Authorization": f"GenieKey {token}"}, "Opsgenie")
    try:
        return [Shift(user=str(name), email=str(name)) for name in found["data"]["onCallRecipients"]]
    except (KeyError, TypeError):
        raise NoAnswer("Opsgenie answered in a form that is not known") from None
