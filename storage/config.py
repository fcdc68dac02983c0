"""Settings from the environment, and signoff.toml. Built only in `__main__`, passed on as values."""

import json
import logging
import os
import tomllib
from datetime import UTC, date, datetime, time
from getpass import getuser
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from storage.clock import Clock, jumping, wall
from storage.contract.capability import Document, fingerprint
from storage.contract.doors import Hook, OnCall, Sink
from storage.contract.rules import DAYS, Breaker, Day, Limits, Rule
from storage.contract.spec import Mandate
from storage.contract.stand_in import alternative
from storage.errors import BadConfig
from storage.extras import missing
from storage.secrets.redaction import Quiet, Redactor, known_values, secret_in

RELEASE = version("signoff")  # pyproject.toml says which; read where it was installed


DOORS = ("SIGNOFF_HOOK_", "SIGNOFF_EVENTS_", "SIGNOFF_ONCALL_")  # variables that hold secrets of doors


class Settings(BaseSettings):
    """What both processes read from the environment."""

    model_config = SettingsConfigDict(env_prefix="SIGNOFF_", extra="ignore")

    state: Path = Path(".signoff")
    database_url: str = ""
    config: Path = Path("signoff.toml")
    clock: Path | None = None  # the demo's clock
    parent: int = 0  # the supervisor; a process without its supervisor ends
    log_level: str = "INFO"
    log_json: bool = False

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.state / 'signoff.db'}"

    def orphaned(self) -> bool:
        return bool(self.parent) and os.getppid() != self.parent

    def redactor(self) -> Redactor:
        """Knows the secrets of this process's environment."""
        named = [name for name in os.environ if name.startswith(DOORS)]
        return Redactor(known_values(os.environ, named))

    def now(self, base: Clock = wall) -> Clock:
        return jumping(self.clock, base) if self.clock else base


def login() -> str:
    """Who sits at the terminal, as an actor; in a container nobody need have a name."""
    try:
        return f"terminal:{getuser()}"
    except (KeyError, OSError):
        return f"terminal:{os.getuid()}"


def is_group(id_: str) -> bool:
    """Slack's ids say what they are: S… is a user group, U… and W… are people; a schedule is a group, too."""
    return id_.startswith(("S", ON_CALL))


ON_CALL = "oncall:"  # before the name of a schedule


ZONES = frozenset(available_timezones())  # walks a directory: once


def _zone(name: str) -> str:
    if name not in ZONES:
        lacking = missing("tzdata")
        hint = f". If that is one, this system does not know it: {lacking}" if lacking else ""
        raise ValueError(f"there is no time zone '{name}'; use an IANA name such as America/New_York{hint}")
    return name


Zone = Annotated[str, AfterValidator(_zone)]


Overrun = Literal["finish", "ask", "stop"]


class Window(Document):
    """A maintenance window: on these days, from `start`, for some hours, in one zone."""

    days: tuple[Day, ...] = DAYS
    start: time
    hours: float = Field(gt=0, le=24)
    zone: Zone
    environments: tuple[str, ...] = ()  # none named: everywhere
    overrun: Overrun = "finish"  # what becomes of a step that still runs when it closes
    closed: dict[date, str] = Field(default_factory=dict)  # days on which it does not open: [holidays]

    def serves(self, environment: str) -> bool:
        return not self.environments or environment in self.environments


class Freeze(Document):
    """A time in which nothing may change, whatever was approved: it beats every window."""

    start: datetime
    end: datetime
    zone: Zone
    environments: tuple[str, ...] = ()  # none named: everywhere
    reason: str = Field(min_length=1)

    @model_validator(mode="after")
    def _ends_later(self) -> Self:
        if self.until <= self.since:
            raise ValueError("a freeze must end after it starts")
        return self

    @property
    def since(self) -> datetime:
        return self._instant(self.start)

    @property
    def until(self) -> datetime:
        return self._instant(self.end)

    def holds(self, environment: str, now: datetime) -> bool:
        """Whether a change in this environment must wait; one that names no environment always must."""
        here = not self.environments or not environment or environment in self.environments
        return here and self.since <= now < self.until

    def _instant(self, moment: datetime) -> datetime:
        return (moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(self.zone))).astimezone(UTC)


RoleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]


ELSEWHERE = ("github", "pagerduty", "opsgenie")
Accounts = Annotated[
    dict[str, Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]+$")]],
    AfterValidator(lambda given: {name.casefold(): id_ for name, id_ in given.items()}),
]


class People(Document):
    """Slack ids: of users (U…, W…), and of user groups (S…) whose members Slack is asked for."""

    approvers: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    roles: dict[RoleName, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(default_factory=dict)
    # Who sits at the server's terminal: login name → Slack user id. Left out where there is none: the
    # policy's version stays what it was.
    logins: dict[str, Annotated[str, Field(pattern=r"^[UW][A-Z0-9]+$")]] = Field(
        default_factory=dict, exclude_if=lambda given: not given
    )
    # Who somebody elsewhere is in Slack. Left out where nobody is named: the policy's version stays.
    github: Accounts = Field(default_factory=dict, exclude_if=lambda given: not given)
    pagerduty: Accounts = Field(default_factory=dict, exclude_if=lambda given: not given)
    opsgenie: Accounts = Field(default_factory=dict, exclude_if=lambda given: not given)

    def known(self, handle: str) -> str:
        """The person behind a handle such as github:octocat; the handle itself where nobody knows."""
        place, _, name = handle.partition(":")
        return getattr(self, place).get(name.casefold(), handle) if place in ELSEWHERE else handle

    def expand(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The ids behind these ids and roles, each once."""
        ids = (id_ for name in names for id_ in self.roles.get(name, (name,)))
        return (*dict.fromkeys(ids),)


class Approvals(Document):
    """How many people must approve a plan that changes something, by its risk."""

    low: int = Field(default=1, ge=1)
    medium: int = Field(default=1, ge=1)
    high: int = Field(default=1, ge=1)


class StandingPolicy(Document):
    """How far one approval may stand for later runs of a recurring plan. Without runs, each run asks."""

    runs: int = Field(default=0, ge=0, le=1000)
    days: int = Field(default=30, ge=1, le=366)
    risks: tuple[Literal["low", "medium", "high"], ...] = ("low", "medium")


def _alternative(text: str) -> str:
    alternative(text)
    return text


Alternative = Annotated[str, AfterValidator(_alternative)]


class PolicyConfig(Document):
    """How many approvals each risk needs, and how long a proposal waits."""

    approvals: Approvals = Approvals()
    expires_hours: float = Field(default=24.0, gt=0, le=720)
    # How long after its approval a plan that people move later may still run. Left out where it is the usual:
    # the policy's version stays what it was.
    longest_wait_days: float = Field(default=7.0, gt=0, le=90, exclude_if=lambda given: given == 7.0)
    production: tuple[str, ...] = ("production", "prod")
    on_call: Annotated[str, StringConstraints(pattern=r"^(S[A-Z0-9]+|oncall:[a-z0-9-]+)?$")] = ""  # a group
    rules: tuple[Rule, ...] = ()
    # What may stand in for a step that failed, besides the same action on the same things.
    alternatives: tuple[Alternative, ...] = Field(default=(), exclude_if=lambda given: not given)
    limits: Limits = Limits()
    breaker: Breaker = Breaker()
    standing: StandingPolicy = StandingPolicy()
    # How long before its time a run of a recurring plan is planned and shown; left out where it is the usual.
    recurring_ahead_hours: float = Field(default=12.0, ge=0, le=168, exclude_if=lambda given: given == 12.0)


class Audit(Document):
    """How the journal is anchored outside the database."""

    file: Path | None = None  # where checkpoints go; without it, checkpoints.jsonl beside the state
    minutes: float = Field(default=5.0, gt=0, le=1440)
    channel: str = ""  # a Slack channel that gets each checkpoint, too
    keep_days: int = Field(default=400, ge=0)  # for which rows of a plan that has ended are kept; 0: for ever

    def anchor(self, state: Path) -> Path:
        return self.file or state / "checkpoints.jsonl"


class Board(Document):
    """Who comes to the board, and by which names it is reached."""

    hosts: tuple[str, ...] = ()  # besides loopback and the name in SIGNOFF_BOARD_URL
    auditors: tuple[str, ...] = ()  # Slack ids: they see every plan, and decide nothing by that


class Signing(Document):
    """Approvals by SSH signature: which keys count, and whose they are."""

    allowed_signers: Path | None = None  # as ssh-keygen(1) reads it
    people: dict[str, str] = Field(default_factory=dict)  # principal of that file → Slack user id


class Price(Document):
    """USD per million tokens; writing and reading the cache cost a share of fresh input."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    write: float = Field(default=1.25, ge=0)
    hour: float = Field(default=2.0, ge=0)  # writing what is kept for an hour
    read: float = Field(default=0.1, ge=0)


Purpose = Literal["plan", "change", "review"]  # what a model is asked for
Effort = Literal["low", "medium", "high", "xhigh", "max"]
DEADLINES: dict[Purpose, float] = {"plan": 60.0, "change": 45.0, "review": 45.0}  # seconds, repairs included


class ModelConfig(Document):
    """Which model plans, and what it may cost. Budgets are in USD and hold for the last 24 hours."""

    name: str = "claude-opus-5-5"
    reviewer: str = "claude-sonnet-5-5"  # looks at plans that run; "" is the one that plans
    fallback: str = "claude-sonnet-5-5"  # asked once where the other is overloaded or refuses; "" is none
    effort: Effort = "medium"
    efforts: dict[Purpose, Effort] = Field(default_factory=dict)  # where it is another one
    deadlines: dict[Purpose, Annotated[float, Field(gt=0, le=600)]] = Field(default_factory=dict)
    at_once: int = Field(default=8, ge=1, le=64)  # calls of one bot
    cache: Literal["1h", "5m", "off"] = "1h"  # how long the API keeps what all calls share
    prices: dict[str, Price] = Field(default_factory=dict)  # of models that we do not know, or other ones
    review: Literal["anomalies", "always"] = "anomalies"  # when it looks at a plan that runs
    mandate: Mandate = Mandate()  # what may be added to a model's plan without asking again
    per_plan: float = Field(default=1.0, ge=0)
    per_user: float = Field(default=5.0, ge=0)
    per_day: float = Field(default=20.0, ge=0)


# What people here say besides the shipped words: [vocabulary.verbs] restart = ["give it a kick"].
Words = dict[Literal["verbs", "nouns", "environments"], dict[str, tuple[str, ...]]]


class SignoffConfig(Document):
    """signoff.toml."""

    zone: Zone = "UTC"  # how a time without a zone is read
    people: People = People()
    policy: PolicyConfig = PolicyConfig()
    windows: dict[str, Window] = Field(default_factory=dict)
    freezes: dict[str, Freeze] = Field(default_factory=dict)
    holidays: dict[str, date | tuple[date, ...]] = Field(default_factory=dict)  # no window opens then
    model: ModelConfig = ModelConfig()
    audit: Audit = Audit()
    signing: Signing = Signing()
    board: Board = Board()
    workers: tuple[str, ...] = ()
    slots: dict[str, Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=dict)  # of a worker alone
    runbooks: tuple[Path, ...] = ()
    inventory: dict[str, dict[str, dict[str, Any]]] = Field(default_factory=dict)
    vocabulary: Words = Field(default_factory=dict)
    hooks: dict[RoleName, Hook] = Field(default_factory=dict)  # who may call us: docs/machines.md
    events: dict[RoleName, Sink] = Field(default_factory=dict)  # whom we tell
    oncall: dict[RoleName, OnCall] = Field(default_factory=dict)  # schedules that are groups

    @model_validator(mode="after")
    def _names_what_there_is(self) -> Self:
        for rule in self.policy.rules:
            if (name := rule.require.window if rule.require else "") and name not in self.windows:
                raise ValueError(f"the rule '{rule.name}' names the window '{name}', which is not there")
            for name in (*rule.people(), *rule.when.requester):
                if not self.is_id(name) and name not in self.people.roles:
                    raise ValueError(
                        f"the rule '{rule.name}' names '{name}', which is neither a Slack id nor one of "
                        "[people.roles]"
                    )
        return self

    @model_validator(mode="after")
    def _calls_a_schedule_that_is_there(self) -> Self:
        if self.policy.on_call and not self.is_id(self.policy.on_call):
            raise ValueError(f"[policy] on_call names '{self.policy.on_call}', which is not in [oncall]")
        return self

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        for who, ids in (("approvers", self.people.approvers), ("admins", self.people.admins)):
            if wrong := [id_ for id_ in ids if not self.is_id(id_)]:
                raise ValueError(f"[people] {who} names '{wrong[0]}', which is no Slack id (U…, W… or S…)")
        asked = [(f"the rule '{r.name}'", r.require.approvals, self.people.expand(r.require.of))
                 for r in self.policy.rules if r.require and r.require.of]  # fmt: skip
        asked += [(f"[policy.approvals] {risk}", count, self.people.approvers)
                  for risk, count in self.policy.approvals if self.people.approvers]  # fmt: skip
        for what, count, ids in asked:
            if count > len(ids) and not any(map(is_group, ids)):
                raise ValueError(f"{what} asks for {count} approvals, and only {len(ids)} could give one")
        return self

    def is_id(self, name: str) -> bool:
        """Whether it names somebody by itself: an id of Slack, or a schedule of [oncall]."""
        return name.removeprefix(ON_CALL) in self.oncall if name.startswith(ON_CALL) else name.isupper()

    def named(self) -> set[str]:
        """Everybody whom policy lets approve anything, today: user ids and group ids."""
        rules = (rule.people() for rule in self.policy.rules)
        return {*self.people.approvers, *(id_ for people in rules for id_ in self.people.expand(people))}

    def groups(self) -> tuple[str, ...]:
        """The Slack groups that anybody's rights depend on."""
        known = {*self.named(), *self.people.admins, *self.board.auditors}
        return (*sorted(id_ for id_ in known if is_group(id_)),)

    @model_validator(mode="after")
    def _close_on_holidays(self) -> Self:
        days = {
            day: name
            for name, given in self.holidays.items()
            for day in (given if isinstance(given, tuple) else (given,))
        }
        for window in self.windows.values():
            window.closed.update(days)
        return self

    def version(self) -> str:
        """Names the policy in force."""
        return fingerprint(self.rules())[:12]

    def rules(self) -> dict[str, Any]:
        """The policy in force, as the journal keeps it."""
        return self.model_dump(
            mode="json",
            include={"people", "policy", "windows", "freezes"} | ({"oncall"} if self.oncall else set()),
        )


KIND = {  # what pydantic says in its own words
    "extra_forbidden": "There is no such setting; is it misspelt, or in the wrong table?",
    "tuple_type": "This should be a list: [ … ]",
    "dict_type": "This should be a table: { … }",
    "model_type": "This should be a table: { … }",
    "missing": "This is missing",
}


def _told(problem: Any) -> str:
    """Where it stands, and what is wrong with it, as TOML calls it."""
    said = KIND.get(problem["type"], problem["msg"].removeprefix("Value error, "))
    return ": ".join(filter(None, (".".join(map(str, problem["loc"])), said)))


def read_config(path: Path) -> SignoffConfig:
    """Read signoff.toml; every problem is named with its place."""
    if "UTC" not in ZONES:
        raise BadConfig(f"This system has no time zones. {missing('tzdata')}")
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        if found := secret_in(raw):
            raise BadConfig(
                f"{path} holds what looks like a secret at {', '.join(found)}. Put it into the environment, "
                "and name the variable here."
            )
        return SignoffConfig.model_validate(raw)
    except FileNotFoundError:
        raise BadConfig(f"There is no {path}. Copy signoff.example.toml, or set SIGNOFF_CONFIG.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadConfig(f"{path} cannot be read: {error}") from None
    except ValidationError as error:
        found = [_told(problem) for problem in error.errors(include_input=False)]
        raise BadConfig(f"{path} has problems:\n  " + "\n  ".join(found)) from None


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname, "from": record.name, "message": record.getMessage()}
        return json.dumps(
            line | ({"error": self.formatException(record.exc_info)} if record.exc_info else {})
        )


def configure_logging(settings: Settings) -> None:
    """One line per move on standard error."""
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    handler.setFormatter(Quiet(settings.redactor(), _Json() if settings.log_json else plain))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    for noisy in ("apscheduler", "alembic", "slack_bolt", "slack_sdk", "urllib3", "httpx2", "mcp"):
        logging.getLogger(noisy).setLevel(logging.ERROR)


def local(moment: datetime, zone: str) -> datetime:
    """The instant on the wall clock of a zone."""
    return moment.astimezone(ZoneInfo(zone))
