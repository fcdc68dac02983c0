"""What a door does: take an ask in, say where it stands, cancel it. HTTP and MCP are renderings of this."""

import re
from collections.abc import Mapping
from typing import Any

from bot.cards.blocks import permalink
from bot.cards.face.lines import title
from bot.cards.phrases import altered, standing
from bot.context import Bot
from bot.inbox.machines import runbook
from bot.machines.principal import Machine
from bot.machines.wire import Asked, Listed, Need, Status, StepStatus
from bot.planner import importing
from bot.planner.prepare import prepare
from bot.planner.runbooks.slots import names_of
from bot.plans import clarify
from bot.untrusted import clip, inert
from storage.config import ELSEWHERE
from storage.contract.capability import fingerprint
from storage.contract.states import PlanState
from storage.errors import Conflict, InvalidPlan, Issue, NotFound, SignoffError
from storage.reading.plan_view import PlanView

OTHER = "This key was used for something else. A key stands for one ask; please take a new one."
WORDS = 400  # of a step's own summary
PERSON = re.compile(r"[A-Z0-9]{1,40}")
HANDLE = re.compile(rf"({'|'.join(ELSEWHERE)}):[A-Za-z0-9][A-Za-z0-9._@+\[\]-]{{0,79}}")


def take_in(bot: Bot, machine: Machine, asked: Asked, key: str) -> str:
    """Commit what is asked, once per key; what it is found by. Nothing is planned here."""
    machine.demand("propose")
    body = _row(bot, machine, asked, key)
    known = bot.store.ask_of(body["key"]) or None
    if known is None and bot.store.asking(body["key"]) is None:
        _check(bot, machine, asked)
        bot.store.deliver(body["key"], "ask", body)
    _demand_same(bot, body)
    if asked.answers and known and known.plan_id:
        _answer(bot, bot.store.view(known.plan_id), body, asked.answers)
    return str(body["key"])


def _answer(bot: Bot, view: PlanView, body: dict[str, Any], answers: Mapping[str, str]) -> None:
    """Commit what was missing. What cannot be used is said at once; said twice, it is one answer."""
    form = clarify.asked(view)
    if form is None:
        return
    values = {field.name: field.value for field in form.fields} | dict(answers)
    if wrong := clarify.mistakes(bot, view, form, values):
        raise InvalidPlan([Issue("answer", f"answers.{name}", why) for name, why in wrong.items()])
    key = f"{body['key']}#{fingerprint(dict(values))[:16]}"  # a round more has other fields
    bot.store.deliver(key, "ask", body | {"answers": values})


def _row(bot: Bot, machine: Machine, asked: Asked, key: str) -> dict[str, Any]:
    behind = [author(bot, name) for name in asked.on_behalf_of]
    wish: dict[str, Any] = {
        "channel": machine.place(asked.channel), "text": " ".join(asked.text.split()),
        "runbook": asked.runbook, "slots": dict(asked.slots), "plan": asked.plan, "behind": behind,
    }  # fmt: skip
    who = {"user": machine.name, "owner": machine.owner, "team": machine.team}
    scope = {"runbooks": [*machine.runbooks], "environments": [*machine.environments]}
    return wish | who | scope | {"key": key_of(machine, key), "print": printed(wish)}


def key_of(machine: Machine, key: str) -> str:
    """By what an ask is found again. As a hash: what machines choose for it may be a secret elsewhere."""
    return f"ask:{fingerprint([machine.team, machine.name, key])[:40]}"


def printed(wish: dict[str, Any]) -> str:
    """A fingerprint of what is asked: under one key it is always the same."""
    try:
        return fingerprint(wish)
    except ValueError as error:  # NaN, infinity, a number beyond 2^53
        raise InvalidPlan([Issue("number", "plan", f"This cannot stand in a plan: {error}")]) from None


def author(bot: Bot, name: str) -> str:
    """Whom a machine names: an id of Slack, or a handle elsewhere, mapped to a person where it can be."""
    if not (HANDLE.fullmatch(name) or PERSON.fullmatch(name)):
        raise SignoffError(f"“{clip(name, 60)}” is nobody: name a Slack id, or github:LOGIN.")
    return bot.config.people.known(name)


def _check(bot: Bot, machine: Machine, asked: Asked) -> None:
    """What can be said at once is said at once; the rest when it is planned."""
    ways = [bool(asked.text.strip()), bool(asked.runbook), asked.plan is not None]
    if sum(ways) != 1:
        raise InvalidPlan([Issue("one_of", "", "Say one of text, runbook (with slots) or plan.")])
    if asked.plan is not None and bot.store.contracts():
        draft, _ = importing.read(asked.plan, bot.catalogue(), bot.runbooks, bot.config)
        prepare(draft, bot.catalogue(), bot.config, bot.store.clock())
    if asked.runbook:
        _check_slots(bot, machine, asked)


def _check_slots(bot: Bot, machine: Machine, asked: Asked) -> None:
    book = runbook(bot, asked.runbook)
    if machine.runbooks and book.id not in machine.runbooks:
        raise NotFound(f"This token may ask only for these runbooks: {', '.join(machine.runbooks)}.")
    known = {*book.slots, "when"}
    unknown = [
        Issue("unknown_slot", f"slots.{name}", "There is no such slot.")
        for name in asked.slots
        if name not in known
    ]
    if unknown:
        raise InvalidPlan(unknown)


def _demand_same(bot: Bot, body: dict[str, Any]) -> None:
    """Whoever says something else under a known key is told so, and not answered with the old plan."""
    waiting, known = bot.store.asking(body["key"]), bot.store.ask_of(body["key"])
    found = known.print if known else waiting["print"] if waiting else body["print"]
    if found != body["print"]:
        raise Conflict(OTHER)


def standing_of(bot: Bot, machine: Machine, key: str) -> Status | None:
    """What came of an ask; None while it waits to be handled."""
    found = bot.store.ask_of(key)
    if found is None:
        return None
    if not found.plan_id:
        return Status(state="refused", said=found.answer)
    return status(bot, machine, found.plan_id)


def own_plan(bot: Bot, machine: Machine, plan_id: int, verb: str) -> PlanView:
    """One of this machine's plans; of others' it does not even learn that they are there."""
    known = bot.store.known(plan_id) if 0 < plan_id < 2**31 else 0
    if not known or bot.store.asked_by(known) != machine.name:
        reason = f"There is no plan {plan_id} that this token asked for."
        bot.store.refuse(known, verb, user=machine.name, reason=reason)
        raise NotFound(reason)
    view = bot.store.view(known)
    bot.demand_machine(machine.name, machine.owner, verb, view)
    return view


def status(bot: Bot, machine: Machine, plan_id: int) -> Status:
    """Where one of its plans stands."""
    machine.demand("look")
    return told(bot, own_plan(bot, machine, plan_id, "look"))


def told(bot: Bot, view: PlanView) -> Status:
    """A plan as a machine reads it: nothing that its card does not say."""
    if why := bot.store.tampered(view.id):
        return Status(plan=view.id, state=view.state, said=altered(view.id, why))
    if view.state == PlanState.cancelled and not view.revision:
        return Status(plan=view.id, state="refused", said=view.reason)
    said = standing(view, bot.store.clock())
    why = view.reason or "; ".join(view.demands.denied if view.state == PlanState.proposed else ())
    steps = tuple(
        StepStatus(
            step=step.spec.id, title=title(view, step.spec), state=step.state,
            summary=clip(step.report.summary, WORDS) if step.report else "",
        )
        for step in view.steps
    )  # fmt: skip
    return Status(
        plan=view.id, state=view.state, outcome=view.outcome, steps=steps, needs=_needs(view),
        said=f"{said}: {why}" if why else said,
        url=permalink(bot.people.home.url, view.channel, view.card),
    )  # fmt: skip


def _needs(view: PlanView) -> tuple[Need, ...]:
    form = clarify.asked(view)
    return tuple(
        Need(name=field.name, question=field.label, choices=field.options)
        for field in (form.fields if form else ())
        if not field.value
    )


def cancel(bot: Bot, machine: Machine, plan_id: int, reason: str, via: str) -> Status:
    """End one of its own; what runs is told to stop, as when a person cancels."""
    machine.demand("cancel")
    view = own_plan(bot, machine, plan_id, "cancel")
    if view.state in {PlanState.cancelled, PlanState.done, PlanState.rejected, PlanState.expired}:
        return told(bot, view)
    with bot.store.coming(via):
        bot.store.cancel(view.id, user=machine.name, reason=clip(inert(reason), 500) or "no reason given")
    return told(bot, bot.store.view(view.id))


def runbooks(bot: Bot, machine: Machine) -> list[Listed]:
    """What it may ask for, with the names that each slot takes."""
    machine.demand("propose")
    books = [book for book in bot.usable() if not machine.runbooks or book.id in machine.runbooks]
    return [
        Listed(
            runbook=book.id, title=book.title, example=str(book.examples[0]),
            slots={name: tuple(names_of(slot, bot.config)) for name, slot in book.slots.items()},
        )
        for book in books
    ]  # fmt: skip
