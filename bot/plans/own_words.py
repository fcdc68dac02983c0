"""Values in nobody's own words: what others wrote may have put them into a plan, so a person looks first."""

from collections.abc import Iterator
from dataclasses import replace

from bot.planner.validate import Catalogue
from bot.plans import clarify
from storage.contract.mandate import unsaid
from storage.contract.spec import PlanSpec
from storage.plans.lifecycle import Terms
from storage.reading.plan_view import PlanView


def not_said(catalogue: Catalogue, spec: PlanSpec, words: str) -> Iterator[str]:
    """Steps with a value that is neither a name, one of a few, nor in these words."""
    for step in spec.steps:
        contract = catalogue.find(step)
        if contract is None or (name := unsaid(step, contract, words)):
            yield f"{step.id}: {name if contract else 'its action'}"


def as_before(
    wanted: Terms, before: Terms, view: PlanView, spec: PlanSpec, catalogue: Catalogue, asked: str
) -> Terms:
    """Somebody looks still, where they were to look for such a value, or where a model drafts the change.

    `before` is what policy would ask for the plan as it was: who was asked for besides, was asked for that.
    """
    if wanted.needed or not (asked or view.needed > before.needed):
        return wanted
    words = "\n".join([clarify.words(view), asked])
    return replace(wanted, needed=1) if any(not_said(catalogue, spec, words)) else wanted
