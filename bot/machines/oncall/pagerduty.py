"""PagerDuty: who is on call in a schedule, by level. By plain HTTP: its SDK waits for ever on 429."""

from urllib.parse import urlencode

from bot.machines.oncall.shift import NoAnswer, Shift, get
from storage.contract.doors import OnCall

ADDRESS = "https://api.pagerduty.com"


def on_duty(entry: OnCall, token: str) -> list[Shift]:
    asked = urlencode([
        ("schedule_ids[]", entry.schedule), ("include[]", "users"), ("earliest", "true"), ("limit", "100"),
    ])  # fmt: skip
    headers = {"Authorization": f"Token token={token}", "Accept": "application/vnd.pagerduty+json;version=2"}
    base = entry.url if entry.url != "https://" else ADDRESS
    found = get(f"{base.rstrip('/')}/oncalls?{asked}", headers, "PagerDuty")
    try:
        shifts = [
            Shift(
                user=str(one["user"]["id"]), email=str(one["user"].get("email") or ""),
                level=int(one["escalation_level"]), start=str(one.get("start") or ""),
                end=str(one.get("end") or ""),
            )
            for one in found["oncalls"]
        ]  # fmt: skip
    except (KeyError, TypeError, ValueError):
        raise NoAnswer("PagerDuty answered in a form that is not known") from None
    return [shift for shift in shifts if shift.level in entry.levels]
