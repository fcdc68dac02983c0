"""Wishes that lean on what was before, planned without a model: the same, again, undo, two more."""

from dataclasses import replace

from bot.context import Bot
from bot.planner import planning
from bot.planner.edits.way_back import way_back
from bot.planner.grounding.follow_ups import FollowUp, follow_up, same_for, scaled
from bot.planner.grounding.names import environment, named
from bot.planner.runbooks.book import NoPlan, Planned
from bot.plans.once_more import said_again
from bot.plans.thought import grounding
from bot.plans.thought.looking import look
from storage.contract.capability import Contract
from storage.contract.spec import StepSpec
from storage.contract.states import PlanState, StepState
from storage.plans.planning_reads import Found
from storage.reading.plan_view import PlanView, StepView

NOTHING = (
    "I do not know what that was: there is no earlier plan here that I could go by. Please say it in full."
)


class Looking(Exception):
    """It is planned as soon as a worker has looked."""


def planned(bot: Bot, view: PlanView) -> Planned | None:
    """The plan of such a wish; None where its words stand for themselves. Looking, while a worker looks."""
    said = follow_up(view.text)
    if said is None:
        return None
    if said.kind in {"more", "fewer"}:
        return _by_number(bot, view, said)
    others = grounding.readable(bot, view)
    if said.kind == "undo":
        return _back(bot, view, said, others)
    near = [one for one in grounding.before(view, others) if one.state != PlanState.planning]
    if not near or near[0].spec is None:
        raise NoPlan(NOTHING)
    if said.kind == "again":
        return Planned(
            said_again(near[0].spec), f"as plan {near[0].id}", notes=(f"The same as plan {near[0].id}.",)
        )
    for one in near:
        if one.spec and (made := same_for(one.spec, said.rest, bot.config)):
            note = f"As plan {one.id}, for {said.rest}."
            return Planned(said_again(made), f"as plan {one.id}", notes=(note,))
    raise NoPlan(
        f"I do not see which earlier plan here could be done for “{said.rest}”. Please say it in full."
    )


def _by_number(bot: Bot, view: PlanView, said: FollowUp) -> Planned:
    """How many there are is looked at first; then it is an ordinary wish with a number."""
    things = [pair for pair in named([said.rest], bot.config) if _reader(bot, pair[1], "replicas")]
    if len(things) != 1:
        raise NoPlan("Of what? Please name the service, as in “add 2 replicas to auth-service”.")
    (thing,) = things
    found = _looked(bot, view, thing, "replicas")
    count = (found.data or {}).get("replicas")
    if found.state != "made" or not isinstance(count, int):
        raise NoPlan(
            f"I could not find out how many there are: {found.summary} Please say how many it shall be."
        )
    rest = (
        said.rest
        if environment(*thing, bot.config) in said.rest
        else f"{said.rest} in {environment(*thing, bot.config)}"
    )
    wish = scaled(replace(said, rest=rest), count)
    now, contracts = bot.store.clock(), bot.store.contracts()
    made = planning.plan(wish, bot.usable(), bot.config, contracts=contracts, now=now)
    return replace(made, notes=(*made.notes, f"{count} run now, so “{wish}”."))


def _back(bot: Bot, view: PlanView, said: FollowUp, others: list[PlanView]) -> Planned:
    """The way back of the newest plan that deployed something, if that is still what runs."""
    things = [name for _, name in named([said.rest], bot.config)]
    for one in others:
        step = _deployed(bot, one, things)
        back = way_back(one) if step and one.state == PlanState.done else None
        if step and back:
            _demand_unmoved(bot, view, one, step)
            return Planned(back, f"the way back of plan {one.id}", notes=(f"Takes back plan {one.id}.",))
    raise NoPlan("I see no deployment here that could be taken back. Please say what shall run, and where.")


def _deployed(bot: Bot, view: PlanView, things: list[str]) -> StepView | None:
    """The step of a plan that put a version somewhere, and succeeded."""
    for step in view.steps:
        values = step.spec.parameters
        done = step.state == StepState.succeeded and step.changes and not step.undo
        if done and "version" in values and (not things or any(name in values.values() for name in things)):
            return step
    return None


def _demand_unmoved(bot: Bot, view: PlanView, one: PlanView, step: StepView) -> None:
    contract = bot.catalogue().find(step.spec)
    thing = next((str(step.spec.parameters[n]) for n in (contract.names if contract else ())), "")
    table = next((t for t, entries in bot.config.inventory.items() if thing in entries), "")
    if not _reader(bot, thing, "version"):
        return
    found = _looked(bot, view, (table, thing), "version", step.spec)
    runs, put = (found.data or {}).get("version"), step.spec.parameters["version"]
    if found.state == "made" and runs != put:
        raise NoPlan(
            f"Plan {one.id} put {thing} {put} there, but {runs} runs now, so I do not take it back blindly. "
            "Please say which version shall run."
        )


def _reader(bot: Bot, name: str, field: str) -> tuple[Contract, str] | None:
    """The action that may be looked at and reports this field of that thing, and its parameter."""
    for contract in bot.catalogue().contracts():
        for parameter, entries in contract.names.items() if contract.planning else ():
            if name in entries and field in contract.data.get("properties", {}):
                return contract, parameter
    return None


def _looked(
    bot: Bot, view: PlanView, thing: tuple[str, str], field: str, like: StepSpec | None = None
) -> Found:
    """What was found; or it is asked for now, and Looking says so."""
    table, name = thing
    reader = _reader(bot, name, field)
    assert reader is not None  # noqa: S101 # whoever calls has asked
    contract, parameter = reader
    place = str(like.parameters.get("environment", "")) if like else ""
    place = place or environment(table, name, bot.config)
    given: dict[str, str] = {parameter: name}
    given |= {"environment": place} if place and "environment" in contract.parameters["properties"] else {}
    for one in bot.store.looked(view.id):
        same = all(one.parameters.get(key) == value for key, value in given.items())
        if (one.worker, one.action) == (contract.worker, contract.action) and same:
            return one
    step = StepSpec(id="look", worker=contract.worker, action=contract.action, parameters=given)
    if not look(bot, view, [step], actor="rules"):
        raise NoPlan("I may not look at that now, so please say it in full.")
    raise Looking
