"""A clock to move by hand, and small builders of contracts, plans and reports."""

import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import cache
from threading import Barrier
from typing import Any

from sqlalchemy import text, update
from sqlmodel import col

from bot.demo.seed import CONFIG as DEMO
from bot.people import Home, People, Unidentified
from bot.policy.authorize import Actor
from storage.clock import wall
from storage.config import SignoffConfig
from storage.contract.capability import Contract, Entry
from storage.contract.report import AnyReport
from storage.contract.spec import PlanSpec, StepSpec, UndoSpec
from storage.database.tables import Attempt, Message, Step, Target
from storage.plans.lifecycle import Terms
from storage.plans.permits import PERMIT
from storage.steps.claims import Claim, Taker
from tests.support.store import Store
from workers.engine.attempt import Attempts, Running
from workers.engine.planning_read import look
from workers.engine.preview import make
from workers.engine.turn import Crew, take_turn
from workers.registry import load

NOW = datetime(2026, 11, 15, 23, 0, tzinfo=UTC)  # Sunday, 18:00 in New York
LEASE = timedelta(seconds=15)
TEAM = "T1"
HERE = Home(TEAM, app="A1")
# The plan document of the design.
PLAN_JSON = """
{ "goal": "Deploy authentication service update to production",
  "steps": [
    {"id": "step-1", "action": "run_tests", "worker": "test-runner", "purpose": "prove v2.1.4 on staging",
     "parameters": {"test_suite": "full", "environment": "staging"},
     "success_criteria": ["all_tests_pass"], "failure_action": "abort"},
    {"id": "step-2", "action": "backup_database", "worker": "db-backup",
     "parameters": {"database": "auth_prod", "backup_type": "full"}, "depends_on": ["step-1"]},
    {"id": "step-3", "action": "deploy_service", "worker": "k8s-deployer",
     "parameters": {"service": "auth-service", "version": "v2.1.4", "strategy": "blue_green"},
     "depends_on": ["step-2"], "schedule": {"window": "nightly"}, "failure_action": "rollback"}],
  "rollback": [{"id": "undo-3", "undoes": "step-3", "action": "rollback_service", "worker": "k8s-deployer",
                "parameters": {"service": "auth-service", "to_version": "previous"}}],
  "done_when": [], "mandate": {"reads": true, "extra": [], "max_added_steps": 5, "max_cost_usd": 1.0},
  "continues": false }
"""


class FakeClock:
    """Stands still until told otherwise."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float = 0, **parts: float) -> None:
        self.now += timedelta(seconds=seconds, **parts)


def later(**parts: float) -> datetime:
    return NOW + timedelta(**parts)


class Everybody(People):
    """Slack knows them all, as members of one workspace. `groups` are its user groups, by id."""

    def __init__(self, **groups: Sequence[str]) -> None:
        self.home = HERE
        self.groups = groups
        self.shared = False  # whether the channel is open to other organisations
        self.rooms: dict[str, Sequence[str]] = {}  # who is in which private channels
        self.silent = False  # whether Slack does not answer
        self.unknown: set[str] = set()  # of whom it says that there is no such person
        self.barred: dict[str, str] = {}
        self.persons: dict[str, str] = {}  # who is behind an account
        self.duties = {}
        self.asked: list[str] = []  # about whom

    def actor(self, user: str, *, fresh: bool = False) -> Actor:
        self.asked.append(user)
        if self.silent or user in self.unknown:
            raise Unidentified("I could not check who you are (silence), so nothing was done.")
        held = frozenset(group for group in self.groups if user in self.members(group))
        return Actor(TEAM, user, self.barred.get(user, ""), held, self.persons.get(user, ""))

    def members(self, group: str) -> frozenset[str]:
        return frozenset(self.groups[group])

    def outside(self, channel: str, *, fresh: bool = False) -> bool:
        if self.silent:
            raise Unidentified("I could not check who reads this channel (silence), so nothing was done.")
        return self.shared

    def public(self, channel: str) -> bool:
        return channel[:1] == "C"

    def called(self, user: str) -> str:
        return user.lower()

    def reads(self, user: str, channel: str) -> bool:
        return channel[:1] == "C" or channel in self.rooms.get(user, ())


class Remembering(Everybody):
    """Slack as it was when it was asked last; whoever asks afresh hears what has changed since."""

    def actor(self, user: str, *, fresh: bool = False) -> Actor:
        return super().actor(user) if fresh else Actor(TEAM, user, groups=frozenset(self.groups))

    def outside(self, channel: str, *, fresh: bool = False) -> bool:
        return fresh and super().outside(channel)


def at_home(body: dict[str, Any], here: Home = HERE) -> dict[str, Any]:
    """The payload with what Slack sends besides: whence it comes, and at which message a click was made."""
    marks: dict[str, Any] = {"api_app_id": here.app, "team_id": here.team}
    if body.get("type") == "block_actions" and "message" in body:
        where = {"channel_id": body["channel"]["id"], "message_ts": body["message"]["ts"]}
        marks["container"] = {"type": "message", "is_ephemeral": False, **where}
    return marks | body


def shown(store: Store, plan_id: int, ts: str) -> None:
    """The plan's card stands in its channel."""
    card = next(m for m in messages(store, "card") if m.plan_id == plan_id)
    store.note_shown(card, ts, next_at=store.clock())


def contract(action: str = "deploy", **facts: Any) -> Contract:
    """An action of the worker `ops` on one of two services; changing and unsafe unless told otherwise."""
    service = {"type": "string", "title": "Service"}
    given: dict[str, Any] = {
        "worker": "ops", "action": action, "summary": f"{action} a service",
        "parameters": {"type": "object", "properties": {"service": service}, "additionalProperties": False},
        "data": {"type": "object", "properties": {"version": {"type": "string"}, "failed": {}}},
        "changes": True, "repeat": "unsafe", "timeout": 600.0, "typical": 60.0,
        "target": "service:{service}" if facts.get("changes", True) else "",
        "says": f"*{'Back up' if action == 'backup' else action.capitalize()}* {{service}}",
        "names": {"service": {name: Entry(binding=f"b-{name}", environment="production") for name in "abc"}},
    }  # fmt: skip
    return Contract.model_validate(given | facts)


READ = contract("check", changes=False, repeat="safe")
BACKUP = contract("backup", repeat="safe", target="")
DEPLOY = contract("deploy", undo="restore")
RESTORE = contract("restore", repeat="safe")
CONTRACTS = {made.action: made for made in (READ, BACKUP, DEPLOY, RESTORE)}


def step(key: str, made: Contract = READ, **fields: Any) -> StepSpec:
    """A step as it stands in a proposed plan."""
    return StepSpec.model_validate(_filled(key, made, fields))


def undo(key: str, undoes: str, made: Contract = RESTORE, **fields: Any) -> UndoSpec:
    return UndoSpec.model_validate(_filled(key, made, fields) | {"undoes": undoes})


def _filled(key: str, made: Contract, fields: dict[str, Any]) -> dict[str, Any]:
    parameters = fields.pop("parameters", {"service": "a"})
    given = {"id": key, "worker": made.worker, "action": made.action, "parameters": parameters}
    return given | {"contract": made.hash(), "binding": made.binding(parameters)} | fields


def plan_spec(*steps: StepSpec, **fields: Any) -> PlanSpec:
    return PlanSpec(goal=fields.pop("goal", "Deploy a"), steps=steps or (step("s1", DEPLOY),), **fields)


def chain(*keys: str, made: Contract = READ, **fields: Any) -> tuple[StepSpec, ...]:
    """Steps of which each depends on the one before."""
    return tuple(
        step(key, made, depends_on=keys[index - 1 : index], **fields) for index, key in enumerate(keys)
    )


def terms(needed: int = 1, **fields: Any) -> Terms:
    given: dict[str, Any] = {
        "risk": "high", "reasons": ("it changes service:a in production",), "needed": needed,
        "approvers": ("BOB", "CAROL"), "authors": ("ANN",), "policy": "p1", "seconds": 60.0,
        "expires_at": NOW + timedelta(hours=24),
    }  # fmt: skip
    return Terms(**given | fields)


def lasting(needed: int = 1, **fields: Any) -> Terms:
    """The same where the real clock counts: tomorrow it expires."""
    return terms(needed, expires_at=wall() + timedelta(days=1), **fields)


def ask(store: Store, wish: str = "deploy a") -> int:
    store.publish(CONTRACTS.values())
    return store.request(wish, team=TEAM, user="ANN", channel="C1")


def propose(store: Store, spec: PlanSpec | None = None, *, needed: int = 1, **fields: Any) -> int:
    plan_id = ask(store)
    store.propose(plan_id, spec or plan_spec(), terms(needed, **fields), author="planner")
    return plan_id


def approve(store: Store, plan_id: int, user: str = "BOB") -> bool:
    """A person's yes, and a bot that has just looked at all that could come between: no bot runs here."""
    view = store.view(plan_id)
    last = store.approve(plan_id, view.revision, view.digest, team=TEAM, user=user, policy="p1")
    permitted(store, plan_id)
    return last


def permitted(store: Store, plan_id: int) -> None:
    """A permit for every step of the plan, whenever it starts."""
    with store.write() as t:
        soon = store.clock() + PERMIT
        t.execute(update(Step).where(col(Step.plan_id) == plan_id).values(permit_until=soon))


def approved(store: Store, *steps: StepSpec, **fields: Any) -> int:
    plan_id = propose(store, plan_spec(*steps, **fields))
    approve(store, plan_id)
    return plan_id


def step_row(store: Store, plan_id: int, key: str) -> Step:
    """Of the newest revision that has it."""
    with store.read() as t:
        mine = (found for found in t.rows(Step) if (found.plan_id, found.key) == (plan_id, key))
        return max(mine, key=lambda found: found.revision)


def attempts(store: Store) -> list[Attempt]:
    with store.read() as t:
        return sorted(t.rows(Attempt), key=lambda found: (found.step_id, found.number))


def targets(store: Store) -> list[str]:
    with store.read() as t:
        return [found.name for found in t.rows(Target)]


def messages(store: Store, kind: str) -> list[Message]:
    with store.read() as t:
        return t.rows(Message, col(Message.kind) == kind, order=col(Message.id))


def verbs(store: Store, plan_id: int) -> list[str]:
    return [event.verb for event in store.events(plan_id)]


def due(store: Store, limit: int = 10) -> list[int]:
    return store.due(taker(*CONTRACTS.values()), limit)


def taker(*contracts: Contract, owner: str = "w1", lease: timedelta = LEASE) -> Taker:
    """A workers process that offers these."""
    return Taker(owner, {(made.worker, made.action): made for made in contracts}, lease)


def keeps(store: Store, claim: Claim, owner: str = "w1") -> bool:
    """Whether the owner still holds what it claimed, and goes on holding it."""
    return (claim.step_id, claim.attempt) in store.renew(owner, LEASE, [claim.step_id])


def claim(store: Store, plan_id: int, key: str, *, owner: str = "w1") -> Claim | None:
    """Try to take a step as a worker that offers what was published."""
    row = step_row(store, plan_id, key)
    return store.claim(row.id, taker(CONTRACTS[row.action], owner=owner))


def take(store: Store, plan_id: int, key: str, *, owner: str = "w1") -> Claim:
    """Take a step that must be free to take."""
    taken = claim(store, plan_id, key, owner=owner)
    assert taken is not None, f"{key} cannot be claimed"
    return taken


def succeed(store: Store, plan_id: int, key: str, **data: Any) -> None:
    assert store.succeed(take(store, plan_id, key), ok(**data), actor="w1")


def fail(store: Store, plan_id: int, key: str) -> None:
    assert store.fail(take(store, plan_id, key), bad(), actor="w1")


def ok(**data: Any) -> AnyReport:
    return AnyReport.ok("it is done", data)


def bad(summary: str = "it broke") -> AnyReport:
    return AnyReport.failed(summary)


def states(store: Store, plan_id: int) -> dict[str, str]:
    return {found.spec.id: str(found.state) for found in store.view(plan_id).steps}


def tamper(store: Store, statement: str, **values: Any) -> None:
    """What somebody with a database shell could do."""
    with store.engine.execution_options(writes=True).begin() as connection:
        connection.execute(text(statement), values)


def strangers(store: Store, count: int) -> list[Store]:
    """Stores as other processes have them: the same database, no lock in common."""
    return [store.stranger() for _ in range(count)]


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all calls at the same moment; each result, or the exception it raised."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return call()
        except Exception as error:  # noqa: BLE001 # the test judges it
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@cache
def demo_config() -> SignoffConfig:
    """The demo's configuration: one suite, one database, one service, a nightly window."""
    return SignoffConfig.model_validate(
        tomllib.loads(DEMO.format(home="/demo", practice=8701, python="python3"))
    )


@cache
def real_contracts() -> tuple[Contract, ...]:
    """What the built-in workers promise under the demo's configuration."""
    return tuple(load(demo_config()).contracts())


def work(attempts: Attempts, *, size: int = 2, alone: bool = False) -> list[Running]:
    """One turn of a workers process, with everything that it starts run to its end and put on record."""
    started = take_turn(attempts, Crew(size), alone=alone)
    endings = [ending for running in started if (ending := attempts.run(running))]
    attempts.store.turn(endings, attempts.taker, 0)
    return started


def look_around(attempts: Attempts) -> None:
    """Make what a planner asked to look at."""
    for asked in attempts.store.inquiries(attempts.registry.offers()):
        look(attempts, asked)


def show_previews(attempts: Attempts) -> None:
    """Make what people must see before they can approve."""
    for wanted in attempts.store.previews_wanted(attempts.registry.offers()):
        make(attempts, wanted)
