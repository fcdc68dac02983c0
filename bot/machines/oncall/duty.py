"""A schedule as a group of people here: asked when somebody decides, and remembered for seconds."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from bot.machines.oncall import opsgenie, pagerduty
from bot.machines.oncall.shift import NoAnswer, Shift
from bot.people import Unidentified
from storage.config import ON_CALL, SignoffConfig
from storage.contract.doors import OnCall
from storage.errors import BadConfig

PROVIDERS = {"pagerduty": pagerduty.on_duty, "opsgenie": opsgenie.on_duty}
REFUSED = 10.0  # seconds in which a provider that failed is not asked again
ByEmail = Callable[[str], str]  # the Slack id behind an address; "" for nobody


class Duty:
    """Who is on call by one schedule, as Slack ids; Unidentified, with the provider's name, otherwise."""

    def __init__(
        self, name: str, entry: OnCall, token: str, config: SignoffConfig, by_email: ByEmail,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._name, self._entry, self._token, self._config = name, entry, token, config
        self._by_email, self._clock = by_email, clock
        self._failed: tuple[float, str] = (-REFUSED, "")
        self.answer: dict[str, dict[str, Any]] = {}  # by Slack id: what the provider said of them

    def __call__(self) -> frozenset[str]:
        at, why = self._failed
        if self._clock() - at < REFUSED:
            raise Unidentified(why)
        try:
            people = self._asked()
        except NoAnswer as error:
            why = f"I could not learn who is on call ({self._name}, {self._entry.provider}): {error}."
            self._failed = self._clock(), why
            raise Unidentified(why) from None
        self.answer = {id_: self._told(shift) for id_, shift in people.items()}
        return frozenset(people)

    def _asked(self) -> dict[str, Shift]:
        shifts = PROVIDERS[self._entry.provider](self._entry, self._token)
        if not shifts:
            raise NoAnswer("nobody is on call")
        return {self._person(shift): shift for shift in shifts}

    def _person(self, shift: Shift) -> str:
        known = self._config.people.known(f"{self._entry.provider}:{shift.user}")
        found = known if ":" not in known else self._by_email(shift.email) if shift.email else ""
        if not found:
            raise NoAnswer(f"nobody in Slack is known for {shift.user}")
        return found

    def _told(self, shift: Shift) -> dict[str, Any]:
        entry = {"provider": self._entry.provider, "schedule": self._entry.schedule}
        return entry | {"level": shift.level, "start": shift.start, "end": shift.end}


def duties(config: SignoffConfig, environ: Mapping[str, str], by_email: ByEmail) -> dict[str, Duty]:
    """Each schedule of [oncall], by the id of its group."""
    made = {}
    for name, entry in config.oncall.items():
        token = environ.get(entry.token_env, "").strip()
        if not token:
            raise BadConfig(f"[oncall.{name}] needs {entry.token_env} in the bot's environment.")
        made[f"{ON_CALL}{name}"] = Duty(name, entry, token, config, by_email)
    return made
