"""What a model is asked for: a plan, another one, how one goes on. Its answers are drafts, never more."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from bot.planner.decision import Decision, Progress, Verb
from bot.planner.model import advice, prompt, redraft, wire
from bot.planner.model.calls import Call, Caller
from bot.planner.model.prompt import NOTHING, Ground
from bot.planner.model.quality import OneRepair
from bot.planner.model.usage import (
    ModelInvalid,
    ModelOverloaded,
    ModelRefused,
    Price,
    Usage,
)
from bot.planner.model.wire import Asked, Declined, Inquiry
from bot.planner.runbooks.book import Planned, Runbook, outlines
from bot.planner.validate import Catalogue
from storage.config import DEADLINES, ModelConfig, Purpose, SignoffConfig
from storage.contract.capability import Contract, Document
from storage.contract.spec import PlanSpec
from storage.errors import InvalidPlan, Issue

if TYPE_CHECKING:  # its import takes seconds; only those who have a key need it
    from anthropic import Anthropic

logger = logging.getLogger(__name__)

REPAIRS = 2
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Claude(Caller):
    """The planner that asks a model: for a plan, for another one, and how one goes on."""

    def plan(
        self,
        text: str,
        contracts: Sequence[Contract],
        config: SignoffConfig,
        now: datetime,
        books: Sequence[Runbook] = (),
        ground: Ground = NOTHING,
    ) -> Planned | Asked | Declined | Inquiry:
        """A plan that holds, a look, questions, or a refusal; ModelFailed says why there is none of them."""
        catalogue, user = Catalogue(contracts), prompt.request(text, config, now, ground)
        asked = self._call("prompt", contracts, config, user, wire.Draft, books)
        flags = OneRepair(catalogue)
        read = partial(wire.understood, catalogue=catalogue, config=config, now=now, judge=flags)
        answer, model = self._ask(asked, read)
        return _signed(answer, model)

    def revise(
        self,
        spec: PlanSpec,
        text: str,
        contracts: Sequence[Contract],
        config: SignoffConfig,
        now: datetime,
        books: Sequence[Runbook] = (),
        ground: Ground = NOTHING,
    ) -> Planned | Asked | Declined | Inquiry:
        """The proposal as somebody wants it changed, questions, or a refusal; ModelFailed as above."""
        catalogue, user = Catalogue(contracts), prompt.change(redraft.shown(spec), text, config, now, ground)
        asked = self._call("prompt", contracts, config, user, wire.Draft, books)
        merge = partial(redraft.merged, spec)
        return self._ask(asked, lambda said: wire.understood(said, catalogue, config, now, merge))[0]

    def advise(
        self,
        state: Progress,
        history: Sequence[Decision],
        rungs: Sequence[Verb],
        contracts: Sequence[Contract],
        config: SignoffConfig,
        now: datetime,
        books: Sequence[Runbook] = (),
    ) -> Decision:
        """How a plan that needs thought could go on; ModelFailed says why there is no advice."""
        catalogue = Catalogue(contracts)
        for detail in advice.DETAILS:  # less of it, until it fits
            told = advice.shown(state, history, rungs, detail)
            user = prompt.state(told, config, now, {"known": state.known})
            asked = self._call("review", contracts, config, user, advice.Next, books)
            if self.fits(asked):
                break
        read = partial(advice.understood, now=state, rungs=rungs, catalogue=catalogue, config=config, at=now)
        return self._ask(asked, read)[0]

    def _call(
        self,
        name: str,
        contracts: Sequence[Contract],
        config: SignoffConfig,
        user: str,
        form: type[Document],
        books: Sequence[Runbook] = (),
    ) -> Call:
        told = prompt.system(contracts, config, name, outlines(books))
        version = prompt.version(name, json.dumps(form.model_json_schema(), sort_keys=True))
        return Call(told, user, wire.schema(contracts, form), self.max_tokens, version)

    def _ask(self, asked: Call, read: Callable[[str], Answer]) -> tuple[Answer, str]:
        """An answer that can be read, and whose it is: another model is asked once for one that cannot."""
        until = self.clock() + self.deadline
        try:
            return self._asked(asked, read, until), self.model
        except (ModelOverloaded, ModelRefused):
            if self.fallback in {"", self.model}:
                raise
        logger.info("model=%s is overloaded or refuses; %s is asked", self.model, self.fallback)
        other = replace(self, model=self.fallback, fallback="")
        return other._asked(asked, read, until), other.model

    def _asked(self, asked: Call, read: Callable[[str], Answer], until: float) -> Answer:
        """An answer that can be read, after two repairs at most."""
        first, before = asked.user, None
        issues: tuple[Issue, ...] = ()
        for _ in range(1 + REPAIRS):
            said = self.answer(asked, until)
            try:
                return read(said)
            except InvalidPlan as error:
                issues = error.issues
            if said == before:
                break  # it knows no better
            before = said
            asked = replace(asked, user=prompt.repair(first, said, issues), repair=True)
        raise ModelInvalid("The model made no plan that holds. What was wrong with its last one:", issues)


def claude(
    client: "Anthropic",
    config: ModelConfig,
    purpose: Purpose,
    known: Mapping[str, Price],
    spend: Callable[[str, Usage], None],
    **more: Any,
) -> Claude:
    """The planner for one purpose, as signoff.toml wants it: its model, effort, deadline and fallback."""
    chosen = (config.reviewer if purpose == "review" else "") or config.name
    other = config.name if config.fallback == chosen else config.fallback
    effort = config.efforts.get(purpose, config.effort)
    deadline = config.deadlines.get(purpose, DEADLINES[purpose])
    more |= {"deadline": deadline, "fallback": other if config.fallback else "", "cache": config.cache}
    return Claude(client, chosen, effort, known, spend, **more)


def _signed(answer: Planned | Asked | Declined | Inquiry, model: str) -> Planned | Asked | Declined | Inquiry:
    if not isinstance(answer, Planned):
        return answer
    assuming = f"; assuming: {answer.note}" if answer.note else ""
    return Planned(answer.spec, f"planned by {model}{assuming}")
