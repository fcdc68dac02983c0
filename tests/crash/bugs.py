"""Planted bugs: what an engine gets wrong. With any of them the crash runs must fail."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from bot.context import Bot
from bot.slack.app import commit
from storage.contract.report import AnyReport, storable
from storage.steps import turn
from storage.steps.claims import Claim, Ending
from storage.transaction import Transaction
from tests.crash import stage
from tests.support.store import Store
from workers.engine.attempt import Attempts, Running
from workers.registry import Registry


def effect_before_start(registry: Registry) -> None:
    """The effect happens, and only then START is committed."""
    take, early = turn.take, dict[tuple[int, int], AnyReport]()

    def eager(*given: Any) -> list[Claim]:
        claims = take(*given)
        for claim in claims:
            worker, action, params = registry.action(claim.worker, claim.action)
            context: Any = SimpleNamespace(key=claim.token, attempt=claim.attempt, progress=lambda text: None)
            early[claim.step_id, claim.attempt] = storable(
                action.run(worker, params.model_validate(claim.parameters), context)
            )
        return claims

    def act(_: Attempts, running: Running) -> AnyReport:
        return early[running.claim.step_id, running.claim.attempt]

    turn.take = eager  # planted
    Attempts._act = act  # type: ignore[method-assign] # planted


def retry_unsafe(_: Registry) -> None:
    """An interrupted step runs again, whatever its action said about that."""
    lose = Store.lose

    def again(store: Store, step: Any, *, actor: str, probe: bool) -> None:
        safe: Any = SimpleNamespace(**step.model_dump() | {"repeat": "safe"})
        lose(store, safe, actor=actor, probe=probe)

    Store.lose = again  # type: ignore[method-assign] # planted


def no_fence(_: Registry) -> None:
    """A report counts for whichever attempt runs now, and nobody looks again before an effect."""
    finish = turn.finish

    def current(t: Transaction, endings: Sequence[Ending], *given: Any, **named: Any) -> Any:
        steps = {e.claim.step_id: t.step(e.claim.step_id).attempt for e in endings}
        now = [replace(e, claim=replace(e.claim, attempt=steps[e.claim.step_id])) for e in endings]
        return finish(t, now, *given, **named)

    turn.finish = current  # planted
    Store.holds = lambda store, claim: True  # type: ignore[method-assign] # planted


def ack_first(_: Registry) -> None:
    """A click is acked before its delivery is committed."""

    def hasty(bot: Bot, body: dict[str, Any], proceed: Callable[[], Any]) -> Any:
        proceed()
        return commit(bot, body, lambda: None)

    stage.commit = hasty


def no_recovery(_: Registry) -> None:
    """Nobody looks for steps whose process is gone."""
    Store.lapsed = lambda store, *, owner, alone: []  # type: ignore[method-assign] # planted


@dataclass(frozen=True)
class Bug:
    """How to plant it in a process, and the points at which it shows."""

    plant: Callable[[Registry], None]
    shows: str
    patience: float = 60.0  # where it shows as a plan that is stuck, that must not take for ever


BUGS: Mapping[str, Bug] = {
    "effect-before-start": Bug(effect_before_start, "before commit claim once"),
    "retry-unsafe": Bug(retry_unsafe, "after effect once"),
    "no-fence": Bug(no_fence, "after effect safe"),
    "ack-first": Bug(ack_first, "after ack"),
    "no-recovery": Bug(no_recovery, "after effect read", patience=4.0),
}
