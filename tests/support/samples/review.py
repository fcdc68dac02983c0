"""A bot with a model that always says the same, and steps for it to think about."""

from typing import Any

from bot.context import Bot
from bot.planner.decision import Decision, Progress
from bot.planner.model.usage import Usage
from storage.contract.report import AnyReport, Fault
from storage.contract.spec import StepSpec
from tests.support.fakes import Everybody, demo_config, take
from tests.support.store import Store

PEOPLE = demo_config().people.model_copy(update={"approvers": ("BOB", "CAROL")})


def bot(store: Store, advise: Any = None, **model: Any) -> Bot:
    config = demo_config()
    config = config.model_copy(update={"people": PEOPLE, "model": config.model.model_copy(update=model)})
    return Bot(store, config, Everybody(), lambda trigger, view: None, [], None, advise)


def advice(verb: Any, *steps: StepSpec, key: str = "look", drop: str = "") -> Any:
    """A model that always says this."""

    def advise(now: Progress, history: Any, rungs: Any, spend: Any) -> Decision:
        spend("claude-opus-5-5", Usage(1, 1, 0, 0, 0.01))
        kept = tuple(s for s in now.spec.steps if s.id != drop)
        spec = now.spec.model_copy(update={"steps": (*kept, *steps)}) if steps or drop else None
        return Decision(verb=verb, step=key, reason=f"{verb} it", spec=spec, source="model")

    return advise


def broke(store: Store, plan_id: int, key: str, kind: Any = "transient") -> None:
    fault = Fault(kind=kind, message="it broke")
    report = AnyReport(status="failed", summary="it broke", error=fault)
    assert store.fail(take(store, plan_id, key), report, actor="w1")
